"""Values of any type as JSON."""

from flare.bytes.checked import *
from flare.json.error import JsonError
from flare.json.field_types import json_field_problem
from flare.json.writer import JsonWriter
from std.reflection import reflect


trait JsonWritable:
    """Knows how it is written as JSON; `List`, `Dict` and `Optional` do.

    A plain struct needs no such thing: its fields are written with their names.
    """

    def to_json(self, mut writer: JsonWriter) raises JsonError:
        """Writes one JSON value.

        Args:
            writer: Where to.

        Raises:
            JsonError: If the value has no text in JSON.
        """
        ...


def write_json[T: AnyType](value: T, mut writer: JsonWriter) raises JsonError:
    """Writes a value as JSON; the counterpart of `read_json`.

    A struct becomes an object with its fields in their order, and nothing in an
    `Optional` becomes `null`.

    Parameters:
        T: The value's type; one with fields that JSON has no form for does not
            compile.

    Args:
        value: The value.
        writer: Where to.

    Raises:
        JsonError: If a number is infinite or none, or a text is not UTF-8.
    """
    comptime if conforms_to(T, JsonWritable):
        value.to_json(writer)
    elif T == Bool:
        writer.value(rebind[Bool](value))
    elif T == Int:
        writer.value(rebind[Int](value))
    elif T == String:
        writer.value(rebind[String](value))
    elif T == StaticString:
        writer.value(rebind[StaticString](value))
    elif T == Float64:
        writer.value(rebind[Float64](value))
    elif T == Float32:
        writer.value(Float64(rebind[Float32](value)))
    elif T == Int64:
        writer.value(Int(rebind[Int64](value)))
    elif T == Int32:
        writer.value(Int(rebind[Int32](value)))
    elif T == Int16:
        writer.value(Int(rebind[Int16](value)))
    elif T == Int8:
        writer.value(Int(rebind[Int8](value)))
    elif T == UInt64:
        writer.value(rebind[UInt64](value))
    elif T == UInt32:
        writer.value(Int(rebind[UInt32](value)))
    elif T == UInt16:
        writer.value(Int(rebind[UInt16](value)))
    elif T == UInt8:
        writer.value(Int(rebind[UInt8](value)))
    else:
        comptime assert reflect[
            T
        ].is_struct(), "JSON has no form for a field of this type"
        writer.begin_object()
        comptime for index in range(reflect[T].field_count()):
            comptime F = reflect[T].field_types()[index]
            comptime PROBLEM = json_field_problem[
                T,
                index,
                conforms_to(F, JsonWritable) or F == StaticString,
                "JsonWritable",
            ]()
            comptime assert PROBLEM.byte_length() == 0, PROBLEM
            comptime NAME = reflect[T].field_names()[index]
            writer.key(materialize[NAME]())
            write_json(reflect[T].field_ref[index](value), writer)
        writer.end_object()


def json_text[T: AnyType](value: T) raises JsonError -> String:
    """Writes a value as compact JSON text.

    Parameters:
        T: The value's type, as for `write_json`.

    Args:
        value: The value.

    Returns:
        The text.

    Raises:
        JsonError: As `write_json` does.
    """
    var writer = JsonWriter()
    write_json(value, writer)
    return writer^.finish()


__extension Optional(JsonWritable):
    def to_json(self, mut writer: JsonWriter) raises JsonError:
        """Writes the value, or `null`. Raises if the value has no text in JSON."""
        if self:
            write_json(self.value(), writer)
        else:
            writer.null()


__extension List(JsonWritable):
    def to_json(self, mut writer: JsonWriter) raises JsonError:
        """Writes an array. Raises if an element has no text in JSON."""
        writer.begin_array()
        for index in range(len(self)):
            write_json(self.at(index), writer)
        writer.end_array()


__extension Dict(JsonWritable):
    def to_json(self, mut writer: JsonWriter) raises JsonError:
        """Writes an object, in the order in which names were added. Raises if a
        value has no text in JSON."""
        comptime assert Self.K == String, "names in JSON are text"
        writer.begin_object()
        for ref item in self.items():
            writer.key(rebind[String](item.key))
            write_json(item.value, writer)
        writer.end_object()


__extension Array(JsonWritable):
    def to_json(self, mut writer: JsonWriter) raises JsonError:
        """Writes an array. Raises if an element has no text in JSON."""
        writer.begin_array()
        for index in range(Self.length):
            write_json(self.at(index), writer)
        writer.end_array()
