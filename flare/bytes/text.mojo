"""Texts put together from parts.

`String(a, b, c)` of the standard library is generated for each list of types,
300 lines of IR and more. These methods are generated once for all.
"""

from flare.bytes.ascii import write_escaped


struct Text(Movable):
    """A text that grows at its end: `Text().add("at byte ").add(3).end()`."""

    var _text: String

    @no_inline
    def __init__(out self):
        self._text = String()

    @always_inline
    def add(var self, part: StringLiteral) -> Self:
        return self^._add_static(part)

    @no_inline
    def _add_static(var self, part: StaticString) -> Self:
        self._text += part
        return self^

    @no_inline
    def add(var self, part: StringSpan) -> Self:
        self._text += part
        return self^

    @no_inline
    def add(var self, part: String) -> Self:
        self._text += part
        return self^

    @no_inline
    def add(var self, number: Int) -> Self:
        number.write_to(self._text)
        return self^

    @no_inline
    def add[T: Writable](var self, value: T) -> Self:
        value.write_to(self._text)
        return self^

    @no_inline
    def add_escaped(var self, octets: Span[UInt8, _]) -> Self:
        write_escaped(octets, self._text)
        return self^

    @no_inline
    def end(deinit self) -> String:
        return self._text^
