"""Forms with files, as the content of a request."""

from flare.bytes.buffer import Buffer
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.message.body import Body
from flare.http.multipart.writer import (
    BOUNDARY_RANDOM_LEN,
    FilePart,
    MultipartWriter,
)
from flare.sys.random import fill_random


struct MultipartForm(Movable):
    """A multipart/form-data body in memory (RFC 7578).

        var form = MultipartForm()
        form.add("title", "holiday")
        form.add_file("photo", "beach.jpg", octets, "image/jpeg")
        var response = client.post("/photos", form^)

    For files that do not fit into memory there is `MultipartWriter` of
    `flare.http.message`, and `HttpClient.upload`.
    """

    var _writer: MultipartWriter
    var _content: Buffer

    def __init__(out self) raises ClientError:
        """Makes a form without parts.

        Raises:
            ClientError: If the system has no source of random octets.
        """
        var random = Array[UInt8, BOUNDARY_RANDOM_LEN](fill=0)
        try:
            fill_random(Span(random))
        except error:
            raise _refused(String(error))
        self._writer = MultipartWriter(random)
        self._content = Buffer()

    def add(mut self, name: StringSpan, value: StringSpan) raises ClientError:
        """Appends a field.

        Args:
            name: Its name.
            value: Its value.

        Raises:
            ClientError: If the name holds a control octet.
        """
        try:
            self._writer.add_field(self._content, name, value)
        except error:
            raise _refused(String(error))

    def add_file(
        mut self,
        var name: String,
        var filename: String,
        content: Span[UInt8, _],
        var content_type: String = "application/octet-stream",
    ) raises ClientError:
        """Appends a file.

        Args:
            name: The name of the form's field.
            filename: The file's name, without its folders.
            content: Its content.
            content_type: The media type of its content.

        Raises:
            ClientError: If a name or the media type holds a control octet.
        """
        var part = FilePart(name^, filename^, content_type^)
        try:
            self._writer.add_file(self._content, part, content)
        except error:
            raise _refused(String(error))

    def content_type(self) -> String:
        """Writes the value of the Content-Type field.

        Returns:
            The media type with the boundary.
        """
        return self._writer.content_type()

    def finish(deinit self) -> Body:
        """Gives the content.

        Returns:
            The octets.
        """
        self._writer.finish(self._content)
        return Body(List[UInt8](self._content.span()))


def _refused(var reason: String) -> ClientError:
    return ClientError(
        materialize[Phase.REQUEST](), materialize[BadRequest](), reason^
    )
