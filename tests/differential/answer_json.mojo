"""JSON texts, as the parser reads them."""

from flare.json.error import JsonError, JsonKind
from flare.json.value import JsonView, parse
from std.memory import bitcast
from tests.differential.quoted import quoted


def answer_json(input: Span[UInt8, _]) -> String:
    """Parses a text.

    Args:
        input: Its octets.

    Returns:
        `M` and the value: `n`, `t`, `f`, `i` and an integer of 64 bits, `d` and
        the bits of a float, strings quoted, members in their order; or `E
        refuse:` and the number of the error.
    """
    try:
        var value = parse(input)
        var answer = String("M ")
        _write(value.view(), answer)
        answer.write(" E end")
        return answer^
    except error:
        return String("E refuse:", error.kind.code)


def _write(view: JsonView, mut answer: String) raises JsonError:
    var kind = view.kind()
    if kind == JsonKind.NULL:
        answer.write("n")
    elif kind == JsonKind.BOOL:
        answer.write("t" if view.bool_value() else "f")
    elif kind == JsonKind.INT:
        answer.write("i", view.int_value())
    elif kind == JsonKind.FLOAT:
        answer.write("d", bitcast[DType.uint64](view.float_value()))
    elif kind == JsonKind.STRING:
        answer.write('"', quoted(view.string_span().as_bytes()), '"')
    elif kind == JsonKind.ARRAY:
        answer.write("[")
        for element in view.elements():
            _write(element, answer)
            answer.write(",")
        answer.write("]")
    else:
        answer.write("{")
        for member in view.members():
            answer.write('"', quoted(member.name.as_bytes()), '":')
            _write(member.value, answer)
            answer.write(",")
        answer.write("}")
