"""What a route takes and gives, for documents such as OpenAPI."""

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
