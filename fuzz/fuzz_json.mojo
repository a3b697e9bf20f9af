"""Fuzzes JSON: the round trip of what is accepted, the offset of what is not."""

from flare.json.value import JsonValue, parse
from flare.json.writer import dumps
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct JsonTarget(Target):
    """Round trip of every text that is accepted."""

    def seeds(self) -> List[String]:
        """Lists texts."""
        return [
            '{"a": [1, -2.5e3, true, null], "b": {"c": "x\\n\\u00e9"}}',
            '["\\ud83d\\ude00", 9223372036854775807, 1e-7, [], {}]',
        ]

    def tokens(self) -> List[String]:
        """Lists what texts are made of."""
        return ['"', "\\u", "\\ud800", "[", "{", "]", "}", ":", "null", "1e308"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Parses the input and compares the round trip."""
        var value: JsonValue
        try:
            value = parse(input)
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error)
            return
        var text = dumps(value)
        if dumps(parse(text)) != text:
            raise Error("changed by a round trip: ", text)


def main() raises:
    """Runs the target."""
    fuzz_main("json", JsonTarget())
