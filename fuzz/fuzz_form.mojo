"""Fuzzes forms: what is read is written so that it reads the same."""

from flare.http.message.form import FormData, find_query_value
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct FormTarget(Target):
    """Round trip, and agreement of the two ways to find a value."""

    def seeds(self) -> List[String]:
        """Lists forms."""
        return ["a=1&b=2+3&a=%C3%A4", "=&&x&y=%zz", "q=a%26b%3Dc"]

    def tokens(self) -> List[String]:
        """Lists what forms are made of."""
        return ["&", "=", "%", "+", "%00", "%ff", "a="]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input, writes it and reads that."""
        var form: FormData
        try:
            form = FormData.parse(input)
        except:
            return
        if FormData.parse(String(form)) != form:
            raise Error("changed by a round trip: ", form)
        var text = String(form)
        for ref pair in form.pairs:
            if find_query_value(text.as_bytes(), pair.name) != form.get(
                pair.name
            ):
                raise Error("a value is found one way only: ", pair.name)


def main() raises:
    """Runs the target."""
    fuzz_main("form", FormTarget())
