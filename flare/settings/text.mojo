"""How settings are named, and what is said of them."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.settings.fields import SettingField, Unit
from std.sys import argv


def variable_name(prefix: StringSpan, name: StringSpan) -> String:
    """`APP_` and `max_body_size` make `APP_MAX_BODY_SIZE`."""
    return Text().add(prefix).add(String(name).upper()).end()


def option_name(name: StringSpan) -> String:
    """`max_body_size` makes `--max-body-size`."""
    return Text().add("--").add(String(name).replace("_", "-")).end()


@fieldwise_init
struct _Factor(ImplicitlyCopyable):
    var suffix: StaticString
    var unit: Unit
    var factor: Int


def in_plain_units(text: String, unit: Unit) -> String:
    """Writes `64KiB` as 65536 and `30s` as 30000, if that is what a field
    counts; anything else is left as it is."""
    var octets = text.as_bytes()
    var digit_count = 0
    while (
        digit_count < len(octets)
        and octets.at(digit_count) >= 48
        and octets.at(digit_count) <= 57
    ):
        digit_count += 1
    # Nine digits and the largest factor stay within 64 bits.
    if digit_count == 0 or digit_count > 9 or digit_count == len(octets):
        return text
    var number = 0
    for octet in octets.before(digit_count):
        number = number * 10 + Int(octet) - 48
    var suffix = StringSpan(unsafe_from_utf8=octets.after(digit_count))
    comptime FACTORS: List[_Factor] = [
        _Factor("B", Unit.BYTES, 1),
        _Factor("KiB", Unit.BYTES, 1 << 10),
        _Factor("MiB", Unit.BYTES, 1 << 20),
        _Factor("GiB", Unit.BYTES, 1 << 30),
        _Factor("ms", Unit.MILLISECONDS, 1),
        _Factor("s", Unit.MILLISECONDS, 1_000),
        _Factor("min", Unit.MILLISECONDS, 60_000),
        _Factor("h", Unit.MILLISECONDS, 3_600_000),
        _Factor("s", Unit.SECONDS, 1),
        _Factor("min", Unit.SECONDS, 60),
        _Factor("h", Unit.SECONDS, 3_600),
    ]
    for factor in materialize[FACTORS]():
        if factor.unit == unit and factor.suffix == suffix:
            return String(number * factor.factor)
    return text


def allowed_of(field: SettingField) -> String:
    """Says what a field takes; nothing if its type knows that."""
    if field.unit == Unit.BYTES:
        return "a number of bytes, or as 64KiB, 10MiB"
    if field.unit == Unit.MILLISECONDS:
        return "a number of milliseconds, or as 30s, 5min"
    if field.unit == Unit.SECONDS:
        return "a number of seconds, or as 30s, 5min"
    var form = field.form
    if form == "Bool":
        return "true or false"
    if form == "Int" or form == "Optional[Int]":
        return "an integer"
    if form == "Float64" or form == "Optional[Float64]":
        return "a number"
    if form == "String" or form == "Optional[String]" or form == "Secret":
        return "a text"
    if form == "List[String]":
        return "texts with commas between"
    if form == "List[Int]":
        return "integers with commas between"
    return String()


def nearest(name: String, names: List[String]) -> String:
    """Asks whether one of some names was meant, if one is near enough."""
    var best = max(2, name.byte_length() // 4) + 1
    var found = -1
    for index in range(len(names)):
        var distance = _distance(name.as_bytes(), names.at(index).as_bytes())
        if distance < best:
            best = distance
            found = index
    if found < 0:
        return String()
    return Text().add("; did you mean ").add(names.at(found)).add("?").end()


comptime _COMPARED_LEN_MAX = 100


def _distance(left: Span[UInt8, _], right: Span[UInt8, _]) -> Int:
    """Counts the octets to be put in, left out or changed."""
    if max(len(left), len(right)) > _COMPARED_LEN_MAX:
        return _COMPARED_LEN_MAX
    var row = List[Int]()
    for index in range(len(right) + 1):
        row.append(index)
    for i in range(len(left)):
        var diagonal = row.at(0)
        row.at(0) = i + 1
        for j in range(len(right)):
            var changed = diagonal + (1 if left.at(i) != right.at(j) else 0)
            diagonal = row.at(j + 1)
            row.at(j + 1) = min(min(diagonal, row.at(j)) + 1, changed)
    return row.at(len(right))


def table_row(
    name: String, name_len: Int, value: String, value_len: Int, origin: String
) -> String:
    return (
        Text()
        .add(_padded(name, name_len))
        .add("  ")
        .add(_padded(value, value_len))
        .add("  ")
        .add(origin)
        .end()
    )


def _padded(text: String, length: Int) -> String:
    var padded = text
    while padded.byte_length() < length:
        padded += " "
    return padded^


def program_name() -> String:
    """The name of the program's file."""
    if len(argv()) == 0:
        return String("program")
    var path = String(argv().at(0))
    return String(path[byte = path.rfind("/") + 1 :])


def help_text(fields: List[SettingField], prefix: Optional[String]) -> String:
    """Lists the options: name, form, meaning, default and variable."""
    var text = Text().add("Usage: ").add(program_name()).add(" [options]\n")
    if prefix:
        text = text^.add("\nEach option may also be a variable of the")
        text = text^.add(" environment; the option wins.\n")
    for ref field in fields:
        text = text^.add("\n  ").add(option_name(field.name))
        if not field.is_flag:
            text = text^.add("=").add(placeholder(field))
        if field.about.byte_length() > 0:
            text = text^.add("\n      ").add(field.about)
        text = text^.add("\n      ")
        if field.is_owned:
            text = text^.add(
                "May be left out." if field.may_be_absent else "Required."
            )
        elif field.default.byte_length() > 0:
            text = text^.add("Default ").add(field.default).add(".")
        else:
            text = text^.add("Default none.")
        if prefix:
            text = text^.add(" Variable ")
            text = text^.add(variable_name(prefix.held(), field.name))
            text = text^.add(".")
        text = text^.add("\n")
    return text^.end()


def placeholder(field: SettingField) -> StaticString:
    if field.unit == Unit.BYTES:
        return "BYTES"
    if field.unit == Unit.MILLISECONDS:
        return "MILLISECONDS"
    if field.unit == Unit.SECONDS:
        return "SECONDS"
    if field.is_list:
        return "A,B"
    if "Int" in field.form or "Float" in field.form:
        return "NUMBER"
    return "VALUE"
