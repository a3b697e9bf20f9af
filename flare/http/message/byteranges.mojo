"""Several ranges in one response: multipart/byteranges."""

from flare.bytes.ascii import write_hex_octet
from flare.http.message.range import ByteRange, content_range


struct ByterangesLayout(Copyable, Movable):
    """Where the lines and the ranges of a multipart/byteranges body stand.

    Source: RFC 9110 section 14.6. The ranges themselves are not touched: send
    `head(0)`, the octets of `part_range(0)`, `head(1)`, and so on, and `tail()`.
    """

    var _ranges: List[ByteRange]
    var _size: Int
    var _media_type: String
    var _boundary: String

    def __init__(
        out self,
        var ranges: List[ByteRange],
        size: Int,
        var media_type: String,
        random: Array[UInt8, 16],
    ):
        """Lays out a body.

        Args:
            ranges: What is sent, at least one range.
            size: Length of the whole representation in bytes.
            media_type: That of the representation; empty if it is unknown.
            random: Makes the boundary, which must not stand in the content;
                128 bits do not by chance.
        """
        self._ranges = ranges^
        self._size = size
        self._media_type = media_type^
        self._boundary = String()
        for octet in random:
            write_hex_octet(octet, self._boundary)

    def content_type(self) -> String:
        """Writes the value of the Content-Type field.

        Returns:
            The media type with the boundary.
        """
        return String("multipart/byteranges; boundary=", self._boundary)

    def content_length(self) -> Int:
        """Adds up the whole body.

        Returns:
            Bytes.
        """
        var length = self.tail().byte_length()
        for index in range(len(self._ranges)):
            length += self.head(index).byte_length()
            length += self._ranges[index].length
        return length

    def part_count(self) -> Int:
        """Counts the ranges.

        Returns:
            Parts.
        """
        return len(self._ranges)

    def head(self, index: Int) -> String:
        """Writes what stands before a range.

        Args:
            index: At least 0 and less than `part_count()`.

        Returns:
            The delimiter and the part's fields.
        """
        var text = String("" if index == 0 else "\r\n", "--", self._boundary)
        if self._media_type.byte_length() > 0:
            text.write("\r\nContent-Type: ", self._media_type)
        text.write("\r\nContent-Range: ")
        text.write(content_range(self._ranges[index], self._size), "\r\n\r\n")
        return text^

    def part_range(self, index: Int) -> ByteRange:
        """Gives a range.

        Args:
            index: At least 0 and less than `part_count()`.

        Returns:
            What stands behind `head(index)`.
        """
        return self._ranges[index]

    def tail(self) -> String:
        """Writes what stands behind the last range.

        Returns:
            The last delimiter.
        """
        return String("\r\n--", self._boundary, "--\r\n")
