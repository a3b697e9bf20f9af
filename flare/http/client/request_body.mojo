"""The content of a request, with its media type."""

from flare.http.client.multipart_form import MultipartForm
from flare.http.message.body import Body
from flare.http.message.form import FormData
from flare.http.message.response import APPLICATION_JSON, OCTET_STREAM
from flare.json.error import JsonError
from flare.json.value import JsonValue
from flare.json.writer import dumps

comptime FORM_URLENCODED = StaticString("application/x-www-form-urlencoded")
"""Media type of a form without files (URL Standard section 5)."""


struct RequestBody(Copyable, Defaultable, Movable):
    """Content, and what it is: text is JSON, octets are just octets.

    For other kinds set Content-Type among the request's headers, which wins.
    """

    var content: Body
    """The octets."""
    var content_type: String
    """The media type; empty without content."""
    var is_given: Bool
    """False if the request was made without a body."""

    def __init__(out self):
        """Makes no content."""
        self.content = Body()
        self.content_type = String()
        self.is_given = False

    def __init__(out self, var content: Body, var content_type: String):
        """Takes content of any kind.

        Args:
            content: The octets.
            content_type: The media type.
        """
        self.content = content^
        self.content_type = content_type^
        self.is_given = True

    @implicit
    def __init__(out self, var text: String):
        """Takes JSON text; it is not checked.

        Args:
            text: The text.
        """
        self = Self(Body(text^), String(APPLICATION_JSON))

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes literal JSON text; it is not checked.

        Args:
            text: The text.
        """
        self = Self(Body(text), String(APPLICATION_JSON))

    @implicit
    def __init__(out self, text: StringSpan):
        """Copies JSON text; it is not checked.

        Args:
            text: The text.
        """
        self = Self(Body(String(text)), String(APPLICATION_JSON))

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets.

        Args:
            octets: The octets.
        """
        self = Self(Body(octets^), String(OCTET_STREAM))

    @implicit
    def __init__(out self, form: FormData):
        """Takes a form, to be sent as a browser does.

        Args:
            form: The fields.
        """
        self = Self(Body(String(form)), String(FORM_URLENCODED))

    @implicit
    def __init__(out self, var form: MultipartForm):
        """Takes a form with files.

        Args:
            form: The form.
        """
        var content_type = form.content_type()
        self = Self(form^.finish(), content_type^)

    @staticmethod
    def json(value: JsonValue) raises JsonError -> Self:
        """Writes a JSON value.

        Args:
            value: The value.

        Returns:
            The content.

        Raises:
            JsonError: If the value cannot be written.
        """
        return Self(Body(dumps(value)), String(APPLICATION_JSON))
