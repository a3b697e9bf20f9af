"""The JSON Schema of a type."""

from flare.bytes.checked import *
from flare.bytes.utf8 import lossy_text
from flare.json.field_types import (
    is_json_scalar,
    is_plain_struct,
    json_field_problem,
)
from flare.json.rules import FieldRules, Ruled, ruled_schema, rules_problem
from flare.json.struct_reader import JsonMaybe, JsonReadable
from flare.json.struct_writer import JsonWritable
from std.reflection import reflect

comptime SCHEMA_PLACE = StaticString("#/components/schemas/")
"""Where documents keep the schemas of structs (OpenAPI 3.1, Components)."""


@fieldwise_init
struct NamedSchema(Copyable, Movable):

    var id: String
    """The struct with its module; what `$ref`s name."""
    var name: String
    var schema: String
    """Its JSON Schema, as text."""


struct SchemaBook(Copyable, Movable):
    """Schemas of structs, each once; it ends also for structs that hold lists
    of their own kind."""

    var schemas: List[NamedSchema]
    """The schemas, in the order in which the structs were met."""

    def __init__(out self):
        """Starts empty."""
        self.schemas = []

    def begin(mut self, id: String, name: String) -> Bool:
        """Makes room for a struct's schema, and gives False if it is there
        already.

        Args:
            id: The struct with its module.
            name: The struct alone.
        """
        for ref schema in self.schemas:
            if schema.id == id:
                return False
        self.schemas.append(NamedSchema(id, name, "{}"))
        return True

    def finish(mut self, id: String, var schema: String):
        """Keeps a struct's schema.

        Args:
            id: What `begin` was told.
            schema: JSON text.
        """
        for ref known in self.schemas:
            if known.id == id:
                known.schema = schema^
                return


trait JsonDescribed:
    """Knows the schema of its values; `List`, `Dict` and `Optional` do."""

    @staticmethod
    def schema(mut book: SchemaBook) -> String:
        """Gives the schema, as JSON text.

        Args:
            book: Gets the schemas of structs within.
        """
        ...


def schema_of[T: AnyType](mut book: SchemaBook) -> String:
    """Writes the schema of what `read_json` reads and `write_json` writes; the
    book gets those of structs, which are named by `$ref`.

    Source: JSON Schema 2020-12, which OpenAPI 3.1 uses. Of a type that reads or
    writes itself, and is not `JsonDescribed`, nothing is known: `{}`.
    """
    comptime if conforms_to(T, JsonDescribed):
        return T.schema(book)
    elif is_json_scalar[T]() or T == StaticString:
        return String(scalar_schema[T]())
    elif conforms_to(T, JsonReadable) or conforms_to(T, JsonWritable):
        return "{}"
    else:
        return _struct_schema[T](book)


def scalar_schema[T: AnyType]() -> StaticString:
    """Writes the schema of a boolean, a number or a text; that of a text for
    other types."""
    comptime if T == Bool:
        return '{"type":"boolean"}'
    elif T == Int or T == Int64:
        return '{"type":"integer","format":"int64"}'
    elif T == Int32:
        return '{"type":"integer","format":"int32"}'
    elif T == Int16:
        return '{"type":"integer","minimum":-32768,"maximum":32767}'
    elif T == Int8:
        return '{"type":"integer","minimum":-128,"maximum":127}'
    elif T == UInt64:
        return '{"type":"integer","minimum":0}'
    elif T == UInt32:
        return '{"type":"integer","minimum":0,"maximum":4294967295}'
    elif T == UInt16:
        return '{"type":"integer","minimum":0,"maximum":65535}'
    elif T == UInt8:
        return '{"type":"integer","minimum":0,"maximum":255}'
    elif T == Float64:
        return '{"type":"number","format":"double"}'
    elif T == Float32:
        return '{"type":"number","format":"float"}'
    else:
        return '{"type":"string"}'


def _struct_schema[T: AnyType](mut book: SchemaBook) -> String:
    comptime assert is_plain_struct[T](), "JSON has no form for this type"
    var id = schema_id(materialize[reflect[T].name()]())
    if book.begin(id, String(materialize[reflect[T].base_name()]())):
        var fields = _Fields()
        var rules = FieldRules()
        comptime if conforms_to(T, Ruled):
            comptime PROBLEM = rules_problem[T]()
            comptime assert PROBLEM.byte_length() == 0, PROBLEM
            T.rules(rules)
        comptime for index in range(reflect[T].field_count()):
            comptime F = reflect[T].field_types()[index]
            comptime PROBLEM = json_field_problem[
                T, index, _knows_form[F](), "JsonReadable"
            ]()
            comptime assert PROBLEM.byte_length() == 0, PROBLEM
            comptime NAME = reflect[T].field_names()[index]
            fields.add(
                materialize[NAME](),
                ruled_schema(rules, materialize[NAME](), schema_of[F](book)),
                conforms_to(F, JsonMaybe),
            )
        book.finish(id, fields.schema())
    return String('{"$ref":"', SCHEMA_PLACE, id, '"}')


def _knows_form[F: AnyType]() -> Bool:
    return (
        conforms_to(F, JsonDescribed)
        or conforms_to(F, JsonReadable)
        or conforms_to(F, JsonWritable)
        or F == StaticString
    )


def schema_id(name: StringSpan) -> String:
    """Makes a name of what may stand in the name of a component, with `_` for
    all else, not at the end.

    Source: OpenAPI 3.1, Components Object: `^[a-zA-Z0-9._-]+$`.
    """
    var octets = List[UInt8](capacity=name.byte_length())
    for octet in name.as_bytes():
        var is_letter = (octet | 32) >= 97 and (octet | 32) <= 122
        var is_digit = octet >= 48 and octet <= 57
        if is_letter or is_digit or octet == 45 or octet == 46 or octet == 95:
            octets.append(octet)
        elif len(octets) > 0 and octets.at(len(octets) - 1) != 95:
            octets.append(95)
    while len(octets) > 0 and octets.at(len(octets) - 1) == 95:
        _ = octets.pop()
    return lossy_text(octets)


struct _Fields(Defaultable):
    """The schema of an object, as it grows."""

    var properties: String
    var required: String

    @no_inline
    def add(mut self, name: StaticString, schema: String, is_optional: Bool):
        if self.properties.byte_length() > 0:
            self.properties.write(",")
        self.properties.write('"', name, '":', schema)
        if not is_optional:
            if self.required.byte_length() > 0:
                self.required.write(",")
            self.required.write('"', name, '"')

    @no_inline
    def schema(self) -> String:
        return String(
            '{"type":"object","properties":{',
            self.properties,
            '},"required":[',
            self.required,
            "]}",
        )


__extension Optional(JsonDescribed):
    @staticmethod
    def schema(mut book: SchemaBook) -> String:
        """Writes the schema of a value or `null`."""
        return String(
            '{"anyOf":[', schema_of[Self.T](book), ',{"type":"null"}]}'
        )


__extension List(JsonDescribed):
    @staticmethod
    def schema(mut book: SchemaBook) -> String:
        """Writes the schema of an array."""
        return String('{"type":"array","items":', schema_of[Self.T](book), "}")


__extension Dict(JsonDescribed):
    @staticmethod
    def schema(mut book: SchemaBook) -> String:
        """Writes the schema of an object with names of any kind."""
        return String(
            '{"type":"object","additionalProperties":',
            schema_of[Self.V](book),
            "}",
        )
