"""The elements of a field value that is a list."""

from flare.bytes.ascii import trim_whitespace

comptime _COMMA: UInt8 = 44


struct ListElements[o: ImmOrigin](Copyable, Iterator, Movable):
    """Goes through the parts between commas, without whitespace around them.

    Source: RFC 9110 section 5.6.1. Empty elements are given too; an empty value
    is one empty element. Commas in quoted strings part elements as well, so
    this is for lists of tokens.

    Parameters:
        o: Where the octets live.
    """

    comptime Element = Span[UInt8, Self.o]
    """One element."""

    var _octets: Span[UInt8, Self.o]
    var _start: Int

    def __init__(out self, octets: Span[UInt8, Self.o]):
        """Starts at the first element.

        Args:
            octets: The field's value.
        """
        self._octets = octets
        self._start = 0

    def __iter__(self) -> Self:
        """Gives the iterator itself.

        Returns:
            A copy.
        """
        return self.copy()

    def __next__(mut self) raises StopIteration -> Self.Element:
        """Takes the next element.

        Returns:
            The element.

        Raises:
            StopIteration: Behind the last one.
        """
        if self._start > len(self._octets):
            raise StopIteration()
        var start = self._start
        var end = start
        while end < len(self._octets) and self._octets[end] != _COMMA:
            end += 1
        self._start = end + 1
        return trim_whitespace(self._octets[start:end])
