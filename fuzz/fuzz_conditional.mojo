"""Fuzzes entity tags, their lists and dates: what is read is written the same."""

from flare.bytes.buffer import Buffer
from flare.http.conditional.conditional import (
    EntityTag,
    TagListMatch,
    match_tag_list,
)
from flare.http.message.date import append_imf_fixdate, parse_http_date
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct ConditionalTarget(Target):
    """Round trips, and agreement of tags and lists."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return [
            '"a", W/"b"',
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ['"', "W/", ",", "*", " GMT", "Feb", "29", "Mon, "]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as each of them."""
        var found = parse_http_date(input, 1_800_000_000)
        if found and found.value() >= 0:
            var written = Buffer()
            append_imf_fixdate(written, found.value())
            if parse_http_date(written.span(), 0) != found:
                raise Error("another date: ", found.value())
        var tag: EntityTag
        try:
            tag = EntityTag.parse(input)
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error.offset)
            _ = match_tag_list(input, EntityTag("a"), is_strong=False)
            return
        if String(tag).as_bytes() != input:
            raise Error("changed by a round trip: ", tag)
        var weakly = match_tag_list(input, tag.copy(), is_strong=False)
        var strongly = match_tag_list(input, tag.copy(), is_strong=True)
        if weakly != TagListMatch.SOME:
            raise Error("a tag is not in its own list")
        if (strongly == TagListMatch.SOME) == tag.is_weak:
            raise Error("weak tags match strongly")


def main() raises:
    """Runs the target."""
    fuzz_main("conditional", ConditionalTarget())
