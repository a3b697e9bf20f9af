"""Fuzzes media types: what is accepted is written and read back the same."""

from flare.http.message.media_type import MediaType
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct MediaTypeTarget(Target):
    """Round trip of what is accepted, offset of what is not."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return ["text/html; charset=utf-8", 'a/b;c="d\\"e;";f=g;']

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ["/", ";", "=", '"', "\\", "\t", "boundary="]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads, writes, and reads again."""
        var media_type: MediaType
        try:
            media_type = MediaType.parse(StringSpan(unsafe_from_utf8=input))
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error)
            return
        if MediaType.parse(String(media_type)) != media_type:
            raise Error("changed by a round trip: ", media_type)


def main() raises:
    """Runs the target."""
    fuzz_main("media_type", MediaTypeTarget())
