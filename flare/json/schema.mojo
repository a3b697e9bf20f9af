"""The JSON Schema of a type."""

from flare.json.error import JsonError
from flare.json.writer import JsonWriter
from std.reflection import reflect

comptime _DEPTH_MAX = 8
# A struct may hold a list of its own kind; its schema would have no end.


trait JsonDescribed:
    """Knows the schema of its values; `List`, `Dict` and `Optional` do."""

    @staticmethod
    def write_schema_of(mut writer: JsonWriter, depth: Int) raises JsonError:
        """Writes the schema.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        ...


trait JsonOptional:
    """May be absent."""

    @staticmethod
    def write_schema_of_value(
        mut writer: JsonWriter, depth: Int
    ) raises JsonError:
        """Writes the schema of what may be absent.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        ...


def write_schema[
    T: AnyType
](mut writer: JsonWriter, depth: Int = 0) raises JsonError:
    """Writes the schema of what `read_json` reads and `write_json` writes.

    Source: JSON Schema 2020-12, which OpenAPI 3.1 uses.

    Parameters:
        T: The type.

    Args:
        writer: Where to.
        depth: How many types this one stands in.

    Raises:
        JsonError: Never.
    """
    comptime if conforms_to(T, JsonDescribed):
        T.write_schema_of(writer, depth)
    elif T == Bool:
        _plain(writer, "boolean", "")
    elif T == Int or T == Int64:
        _plain(writer, "integer", "int64")
    elif T == Int32:
        _plain(writer, "integer", "int32")
    elif T == Int16 or T == Int8 or T == UInt64 or T == UInt32:
        _plain(writer, "integer", "")
    elif T == UInt16 or T == UInt8:
        _plain(writer, "integer", "")
    elif T == Float64:
        _plain(writer, "number", "double")
    elif T == Float32:
        _plain(writer, "number", "float")
    elif T == String or T == StaticString:
        _plain(writer, "string", "")
    elif reflect[T].is_struct():
        _object[T](writer, depth)
    else:
        comptime assert False, "JSON has no form for a field of this type"


def write_parameter_schema[T: AnyType](mut writer: JsonWriter) raises JsonError:
    """Writes the schema of a parameter, which is left out rather than null.

    Parameters:
        T: The parameter's type.

    Args:
        writer: Where to.

    Raises:
        JsonError: Never.
    """
    comptime if conforms_to(T, JsonOptional):
        T.write_schema_of_value(writer, 0)
    else:
        write_schema[T](writer)


def is_optional[T: AnyType]() -> Bool:
    """Tells whether values of a type may be absent.

    Parameters:
        T: The type.

    Returns:
        True for an `Optional`.
    """
    return conforms_to(T, JsonOptional)


def _plain(
    mut writer: JsonWriter, name: StaticString, format: StaticString
) raises JsonError:
    writer.begin_object()
    writer.key("type")
    writer.value(name)
    if format.byte_length() > 0:
        writer.key("format")
        writer.value(format)
    writer.end_object()


def _object[T: AnyType](mut writer: JsonWriter, depth: Int) raises JsonError:
    writer.begin_object()
    writer.key("type")
    writer.value("object")
    if depth < _DEPTH_MAX:
        writer.key("properties")
        writer.begin_object()
        comptime for index in range(reflect[T].field_count()):
            comptime NAME = reflect[T].field_names()[index]
            writer.key(materialize[NAME]())
            write_schema[reflect[T].field_types()[index]](writer, depth + 1)
        writer.end_object()
        writer.key("required")
        writer.begin_array()
        comptime for index in range(reflect[T].field_count()):
            comptime NAME = reflect[T].field_names()[index]
            if not is_optional[reflect[T].field_types()[index]]():
                writer.value(materialize[NAME]())
        writer.end_array()
    writer.end_object()


__extension Optional(JsonDescribed, JsonOptional):
    @staticmethod
    def write_schema_of(mut writer: JsonWriter, depth: Int) raises JsonError:
        """Writes the schema of a value or `null`.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        writer.begin_object()
        writer.key("anyOf")
        writer.begin_array()
        write_schema[Self.T](writer, depth + 1)
        _plain(writer, "null", "")
        writer.end_array()
        writer.end_object()

    @staticmethod
    def write_schema_of_value(
        mut writer: JsonWriter, depth: Int
    ) raises JsonError:
        """Writes the schema of a value.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        write_schema[Self.T](writer, depth)


__extension List(JsonDescribed):
    @staticmethod
    def write_schema_of(mut writer: JsonWriter, depth: Int) raises JsonError:
        """Writes the schema of an array.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        writer.begin_object()
        writer.key("type")
        writer.value("array")
        if depth < _DEPTH_MAX:
            writer.key("items")
            write_schema[Self.T](writer, depth + 1)
        writer.end_object()


__extension Dict(JsonDescribed):
    @staticmethod
    def write_schema_of(mut writer: JsonWriter, depth: Int) raises JsonError:
        """Writes the schema of an object with names of any kind.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        writer.begin_object()
        writer.key("type")
        writer.value("object")
        if depth < _DEPTH_MAX:
            writer.key("additionalProperties")
            write_schema[Self.V](writer, depth + 1)
        writer.end_object()
