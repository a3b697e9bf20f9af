"""Values read from text: parameters, fields of forms, settings."""

from flare.bytes.checked import *
from flare.bytes.from_text import FromText, TextError
from flare.json.field_types import type_name
from flare.json.schema import scalar_schema
from flare.json.value import parse
from std.reflection import reflect


comptime _ALLOWED = StaticString(
    "make it an Int, Float64, Bool, String, an Optional or List of one, or let"
    " its type conform to FromText"
)
comptime _MISSING = StaticString("is required")


trait FromTexts(Deinitable, Movable):
    """Is read from all texts of one name; `Optional` and `List` are."""

    @staticmethod
    def from_texts(texts: List[String]) raises TextError -> Self:
        """Reads texts.

        Args:
            texts: The texts of one name; there may be none.

        Raises:
            TextError: If they are not what they should be.
        """
        ...

    @staticmethod
    def texts_schema() -> String:
        """Gives the JSON Schema of such a parameter, as JSON text, for
        documents; that of a text by default."""
        return '{"type":"string"}'


def read_texts[
    T: Movable & Deinitable
](texts: List[String]) raises TextError -> T:
    """Reads the value of a parameter of all texts of its name: `Optional` for
    one that may be left out, `List` for one that may be repeated, or as for
    `read_text`, the first one's. Raises if there is none, or it is bad."""
    comptime if conforms_to(T, FromTexts):
        return T.from_texts(texts)
    else:
        if len(texts) == 0:
            raise TextError(_MISSING)
        return read_text[T](texts.at(0))


def texts_schema[T: AnyType]() -> String:
    """Writes the JSON Schema of a parameter, for documents. A value that may be
    left out has the schema of a value."""
    comptime if conforms_to(T, FromTexts):
        return T.texts_schema()
    else:
        return String(scalar_schema[T]())


def may_be_absent[T: AnyType]() -> Bool:
    """Tells whether a parameter may be left out: an `Optional` and a `List`."""
    return conforms_to(T, FromTexts)


def read_text[T: Movable & Deinitable](text: StringSpan) raises TextError -> T:
    """Reads an `Int`, `Float64`, `Bool`, `String`, or what is `FromText`."""
    comptime if conforms_to(T, FromText):
        return T.from_text(text)
    elif T == String:
        return rebind_var[T](String(text))
    elif T == Int:
        return rebind_var[T](parse_int(text))
    elif T == Float64:
        return rebind_var[T](_parse_float(text))
    elif T == Bool:
        return rebind_var[T](_parse_bool(text))
    else:
        comptime PROBLEM = String(
            "a parameter or a field of a form cannot be of type ",
            type_name[T](),
            "; ",
            _ALLOWED,
        )
        comptime assert False, PROBLEM


def is_text_scalar[T: AnyType]() -> Bool:
    """Tells whether `read_text` knows a type: `Int`, `Float64`, `Bool`,
    `String`, and what is `FromText`."""
    comptime IS_SCALAR = T == Int or T == Float64 or T == Bool or T == String
    return IS_SCALAR or conforms_to(T, FromText)


def form_problem[T: AnyType]() -> String:
    """Says that a field of a struct cannot be read from a form, run by the
    compiler; empty if all can."""
    comptime for index in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[index]
        comptime if not is_text_scalar[F]() and not conforms_to(F, FromTexts):
            return String(
                "struct ",
                type_name[T](),
                ": field '",
                materialize[reflect[T].field_names()[index]](),
                "' is of type ",
                type_name[F](),
                ", which cannot be read from a form; ",
                _ALLOWED,
            )
    return String()


def parse_int(text: StringSpan) raises TextError -> Int:
    """Reads an integer of 64 bits: digits, with a sign before negative ones."""
    comptime RULE = StaticString("is no integer of 64 bits; write it as -12")
    var octets = text.as_bytes()
    var start = 1 if len(octets) > 0 and octets.at(0) == 45 else 0
    # Nineteen digits may overflow, and always do so below zero: the sum is kept
    # negative, where there is room for one more.
    if len(octets) == start or len(octets) - start > 19:
        raise TextError(RULE)
    var number = 0
    for octet in octets.after(start):
        if octet < 48 or octet > 57:
            raise TextError(RULE)
        var digit = Int(octet) - 48
        if number < (Int.MIN + digit) // 10 + (
            1 if (Int.MIN + digit) % 10 != 0 else 0
        ):
            raise TextError(RULE)
        number = number * 10 - digit
    if start == 1:
        return number
    if number == Int.MIN:
        raise TextError(RULE)
    return -number


def _parse_float(text: StringSpan) raises TextError -> Float64:
    """Reads a number as JSON writes it."""
    try:
        return parse(text).float_value()
    except:
        raise TextError("is no number; write it as -1.5e3")


def _parse_bool(text: StringSpan) raises TextError -> Bool:
    if text == "true" or text == "1":
        return True
    if text == "false" or text == "0":
        return False
    raise TextError(
        "is neither true nor false; write it as true, false, 1 or 0"
    )


__extension Optional(FromTexts):
    @staticmethod
    def from_texts(texts: List[String]) raises TextError -> Self:
        """Reads the first text, if there is one."""
        comptime assert conforms_to(Self.T, Movable & Deinitable)
        if len(texts) == 0:
            return Self(None)
        return Self(read_text[Self.T](texts.at(0)))

    @staticmethod
    def texts_schema() -> String:
        """Writes the JSON Schema of a value."""
        return String(scalar_schema[Self.T]())


__extension List(FromTexts):
    @staticmethod
    def from_texts(texts: List[String]) raises TextError -> Self:
        """Reads all texts."""
        comptime assert conforms_to(Self.T, Movable & Deinitable)
        return rebind_var[Self](_read_list[Self.T](texts))

    @staticmethod
    def texts_schema() -> String:
        """Writes the JSON Schema of the values."""
        return String('{"type":"array","items":', scalar_schema[Self.T](), "}")


def _read_list[
    T: Movable & Deinitable
](texts: List[String]) raises TextError -> List[T]:
    var values = List[T](capacity=len(texts))
    for ref text in texts:
        values.append(read_text[T](text))
    return values^
