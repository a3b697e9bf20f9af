"""What an API's description says of an operation and of its inputs."""

from flare.bytes.ascii import write_escaped
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.json.error import JsonError
from flare.json.schema import write_schema
from flare.json.writer import JsonWriter


@fieldwise_init
struct ParameterDescription(Copyable, Movable):
    """A parameter of a route."""

    var place: StaticString
    """`path`, `query`, `header` or `cookie`."""
    var name: String
    """Its name."""
    var is_required: Bool
    """False if it may be left out."""
    var schema: String
    """Its JSON Schema, as text."""


@fieldwise_init
struct ContentDescription(Copyable, Movable):
    """Content that a route takes or gives."""

    var status: Int
    """Of which response it is the content; 0 for that of the request."""
    var media_type: String
    """Its media type; empty if there is none to speak of."""
    var schema: String
    """Its JSON Schema, as text."""


struct Operation(Copyable, Movable):
    """A method and a pattern, with what its handler says of itself."""

    var method: String
    """The method's name; `*` for all."""
    var pattern: String
    """The route's pattern."""
    var id: String
    """A name for the operation; empty if the handler has none."""
    var summary: String
    """What it does, in a few words; may be empty."""
    var parameters: List[ParameterDescription]
    """What it takes beside content."""
    var contents: List[ContentDescription]
    """What it takes and gives as content."""
    var guards: List[StaticString]
    """The schemes of the guards around it: `basic` and `bearer`."""

    def __init__(out self, var method: String, var pattern: String):
        """Makes an operation of which nothing more is known.

        Args:
            method: The method's name.
            pattern: The route's pattern.
        """
        self.method = method^
        self.pattern = pattern^
        self.id = String()
        self.summary = String()
        self.parameters = []
        self.contents = []
        self.guards = []

    def takes[T: AnyType](mut self, var media_type: String):
        """Says what content the operation takes.

        Parameters:
            T: What the content is read into.

        Args:
            media_type: The content's media type.
        """
        self.contents.append(
            ContentDescription(0, media_type^, schema_text[T]())
        )

    def gives[T: AnyType](mut self, status: Int = 200):
        """Says what content a response has, as JSON.

        Parameters:
            T: What the content is written from.

        Args:
            status: The response's status.
        """
        self.contents.append(
            ContentDescription(status, "application/json", schema_text[T]())
        )

    def answers(mut self, status: Int):
        """Says that there is a response without content to speak of, such as
        204 or 404.

        Args:
            status: The response's status.
        """
        self.contents.append(ContentDescription(status, "", ""))


def schema_text[T: AnyType]() -> String:
    """Writes the schema of a type.

    Parameters:
        T: The type.

    Returns:
        JSON text.
    """
    try:
        var writer = JsonWriter()
        write_schema[T](writer)
        return writer^.finish()
    except:
        return "{}"


struct InputError(Copyable, Movable, Writable):
    """A request lacks an input, or has a bad one."""

    var status: Int
    """The status to answer with."""
    var place: StaticString
    """`path`, `query`, `header`, `cookie` or `body`."""
    var name: String
    """The input's name; empty for content as a whole."""
    var reason: String
    """What is wrong, and what is allowed."""

    def __init__(
        out self,
        status: Int,
        place: StaticString,
        var name: String,
        var reason: String,
    ):
        """Describes an input.

        Args:
            status: The status to answer with.
            place: Where it stands.
            name: Its name.
            reason: What is wrong, fit for strangers.
        """
        self.status = status
        self.place = place
        self.name = name^
        self.reason = reason^

    @staticmethod
    def of_content(var name: String, var reason: String) -> Self:
        """Describes a part of the content that can be read, but is not good.

        Args:
            name: The part's name, such as that of a field.
            reason: What is wrong, fit for strangers.

        Returns:
            An error to be answered with 422.
        """
        return Self(422, "body", name^, reason^)

    def write_to(self, mut writer: Some[Writer]):
        """Writes place, name and reason, escaped.

        Args:
            writer: Where to.
        """
        writer.write(self.place)
        if self.name.byte_length() > 0:
            writer.write(" '")
            write_escaped(self.name.as_bytes(), writer)
            writer.write("'")
        writer.write(": ")
        write_escaped(self.reason.as_bytes(), writer)

    def response(self) -> Response:
        """Makes the response.

        Returns:
            The status, with a problem (RFC 9457) whose `in`, `name` and
            `detail` tell the rest. An error of ours (500) tells nothing.
        """
        if self.status >= 500:
            return Response(self.status)
        try:
            return Response(
                self.status,
                self._problem(),
                content_type="application/problem+json",
            )
        except:
            return Response(self.status)

    def _problem(self) raises JsonError -> String:
        var writer = JsonWriter()
        writer.begin_object()
        writer.key("title")
        writer.value(Response(self.status).reason())
        writer.key("status")
        writer.value(self.status)
        writer.key("in")
        writer.value(self.place)
        writer.key("name")
        writer.value(self.name)
        writer.key("detail")
        writer.value(self.reason)
        writer.end_object()
        return writer^.finish()


trait Input(Deinitable, Movable):
    """A field of an endpoint, filled from the request before it answers."""

    comptime STREAMS_BODY: Bool = False
    """True if the input reads content while it arrives; one of an endpoint may.
    """

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Takes the input from a request.

        Args:
            req: The request, with path parameters.

        Returns:
            The input.

        Raises:
            InputError: If it is missing or bad.
        """
        ...

    @staticmethod
    def describe(mut operation: Operation):
        """Says what is taken.

        Args:
            operation: What is known of the route.
        """
        ...
