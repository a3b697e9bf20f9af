"""Forms with files, as clients upload them."""

from flare.bytes.ascii import write_hex_octet
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.header_map import HeaderError, check_field

comptime BOUNDARY_RANDOM_LEN = 16
"""Random octets of a boundary.

With 128 bits nobody guesses it, so no content can hold it by design, and none
will by chance.
"""


struct MultipartWriter(Movable):
    """A multipart/form-data body (RFC 7578).

    Writes into a buffer, part by part: take out what is there at any time, send
    it, and clear the buffer. Content that does not fit into memory goes between
    `begin_file` and the next call.
    """

    var boundary: String
    """What stands between the parts."""
    var _is_first: Bool

    def __init__(out self, random: Array[UInt8, BOUNDARY_RANDOM_LEN]):
        """Starts a body.

        Args:
            random: Octets from a cryptographic random source: whoever knows the
                boundary can write content that looks like more parts.
        """
        self.boundary = "flare-"
        for octet in random:
            write_hex_octet(octet, self.boundary)
        self._is_first = True

    def content_type(self) -> String:
        """Gives the value of the Content-Type field: the media type with the
        boundary."""
        return String("multipart/form-data; boundary=", self.boundary)

    def add_field(
        mut self, mut output: Buffer, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Writes a field.

        Args:
            output: Where to.
            name: The field's name.
            value: Its value.

        Raises:
            HeaderError: If the name holds a control octet other than CR and LF.
        """
        var disposition = _disposition(name)
        check_field("Content-Disposition", disposition)
        self._begin(output, disposition)
        output.append("\r\n".as_bytes())
        output.append(value.as_bytes())

    def add_file(
        mut self,
        mut output: Buffer,
        file: FilePart,
        content: Span[UInt8, _],
    ) raises HeaderError:
        """Writes a file.

        Args:
            file: Its names and media type.
            content: Its content.

        Raises:
            HeaderError: As `begin_file`.
        """
        self.begin_file(output, file)
        output.append(content)

    def begin_file(
        mut self, mut output: Buffer, file: FilePart
    ) raises HeaderError:
        """Writes what stands before a file's content.

        Args:
            output: Where to; append the content after it, in pieces of any length.

        Raises:
            HeaderError: If a name or the media type holds a control octet
                (CR and LF in names are encoded).
        """
        var disposition = _disposition(file.name)
        disposition.write('; filename="')
        _write_quoted(file.filename, disposition)
        disposition.write('"')
        check_field("Content-Disposition", disposition)
        check_field("Content-Type", file.content_type)
        self._begin(output, disposition)
        output.write("Content-Type: ", file.content_type, "\r\n\r\n")

    def finish(mut self, mut output: Buffer):
        """Writes the end of the body."""
        if not self._is_first:
            output.append("\r\n".as_bytes())
        output.write("--", self.boundary, "--\r\n")

    def _begin(mut self, mut output: Buffer, disposition: String):
        # The CRLF before a boundary belongs to it (RFC 2046 section 5.1.1).
        if not self._is_first:
            output.append("\r\n".as_bytes())
        self._is_first = False
        output.write("--", self.boundary, "\r\n")
        output.write("Content-Disposition: ", disposition, "\r\n")


@fieldwise_init
struct FilePart(Copyable, Movable):
    """What a part says about a file."""

    var name: String
    """The name of the form's field."""
    var filename: String
    """The file's name, without its folders."""
    var content_type: String
    """The media type of its content."""


def _disposition(name: StringSpan) -> String:
    var text = String('form-data; name="')
    _write_quoted(name, text)
    text.write('"')
    return text^


# HTML, "multipart/form-data encoding algorithm": these three
# are encoded and nothing else, not even the percent sign.
def _write_quoted(text: StringSpan, mut quoted: String):
    var octets = text.as_bytes()
    for index in range(len(octets)):
        var octet = octets.at(index)
        if octet == 34:
            quoted.write("%22")
        elif octet == 13:
            quoted.write("%0D")
        elif octet == 10:
            quoted.write("%0A")
        else:
            quoted.write(
                StringSpan(unsafe_from_utf8=octets.between(index, index + 1))
            )
