"""Fuzzes JSON read into a struct: what is read is written and read the same."""

from flare.json.struct_reader import read_json
from flare.json.struct_writer import json_text
from flare.json.value import JsonValue, parse
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct Part(Copyable, Movable):
    """A struct within the struct."""

    var name: String
    var sizes: List[Float64]


@fieldwise_init
struct Whole(Copyable, Movable):
    """Fields of all kinds."""

    var id: Int
    var small: UInt8
    var flag: Optional[Bool]
    var parts: List[Part]
    var counts: Dict[String, Int32]


@fieldwise_init
struct StructTarget(Target):
    """Round trip; a text that does not fit leaks nothing and names its place."""

    def seeds(self) -> List[String]:
        """Lists texts that fit."""
        return [
            '{"id":-7,"small":255,"parts":[{"name":"a longer name, on the heap",'
            '"sizes":[1.5]}],"counts":{"a":1},"flag":null}'
        ]

    def tokens(self) -> List[String]:
        """Lists names and values."""
        return ['"id":', '"flag":', "null", "256", "[]", "{}", '"name"', "1e9"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input."""
        var value: JsonValue
        try:
            value = parse(input)
        except:
            return
        var text: String
        try:
            text = json_text(read_json[Whole](value.view()))
        except error:
            if error.path.byte_length() == 0:
                raise Error("an error without a place: ", error)
            return
        var again = parse(text)
        if json_text(read_json[Whole](again.view())) != text:
            raise Error("not read back: ", text)


def main() raises:
    """Runs the target."""
    fuzz_main("struct_json", StructTarget())
