"""What an API's description says of an operation and of its inputs."""

from flare.bytes.ascii import write_escaped
from flare.bytes.buffer import Buffer
from flare.bytes.copy import text_of
from flare.bytes.utf8 import is_valid_utf8
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.json.writer import append_json_string
from flare.json.schema import SchemaBook, schema_id, schema_of
from flare.url.percent import EncodeSet, percent_encode


@fieldwise_init
struct ParameterDescription(Copyable, Movable):

    var place: StaticString
    """`path`, `query`, `header` or `cookie`."""
    var name: String
    var is_required: Bool
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
    """Its JSON Schema, as text. Structs are named there by `$ref`, and stand in
    `Operation.book`."""


@fieldwise_init
struct SecurityScheme(Copyable, Movable):
    """What a guard wants to be shown (OpenAPI 3.1, Security Scheme Object)."""

    var id: String
    """Its name in a document, the same for the same credentials."""
    var kind: StaticString
    """`http` for what goes into Authorization, else `apiKey`."""
    var place: StaticString
    """Of `http` the scheme, such as `bearer`; of `apiKey` where it stands:
    `header`, `query` or `cookie`."""
    var name: String
    """Of `apiKey` the name of the field, parameter or cookie; else empty."""
    var about: String
    """How one comes by it, in a few words; may be empty."""

    @staticmethod
    def basic() -> Self:
        """Gives the scheme `basic`: a name and a password (RFC 7617)."""
        return Self(String("basic"), "http", "basic", String(), String())

    @staticmethod
    def bearer(var about: String = String()) -> Self:
        """Gives the scheme `bearer`: a token in Authorization (RFC 6750).

        Args:
            about: How one comes by it.
        """
        return Self(String("bearer"), "http", "bearer", String(), about^)

    @staticmethod
    def header(var name: String, var about: String = String()) -> Self:
        """Gives the scheme of a token in a header field of its own.

        Args:
            name: The field's name, such as `X-Api-Key`.
        """
        return Self(schema_id(name), "apiKey", "header", name^, about^)

    @staticmethod
    def query(var name: String, var about: String = String()) -> Self:
        """Gives the scheme of a token in a parameter of the query.

        Args:
            name: The parameter's name.
        """
        return Self(schema_id(name), "apiKey", "query", name^, about^)

    @staticmethod
    def cookie(var name: String, var about: String = String()) -> Self:
        """Gives the scheme of a token in a cookie, such as that of a session.

        Args:
            name: The cookie's name.
        """
        return Self(schema_id(name), "apiKey", "cookie", name^, about^)


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
    var guards: List[SecurityScheme]
    """What the guards around it want to be shown, all of it."""
    var book: SchemaBook
    """The schemas of the structs that contents name."""
    var states: List[String]
    """The types of the states that it takes and no `App` within has lent, as
    `state_type` names them."""

    def __init__(out self, var method: String, var pattern: String):
        """Makes an operation of which nothing more is known."""
        self.method = method^
        self.pattern = pattern^
        self.id = String()
        self.summary = String()
        self.parameters = []
        self.contents = []
        self.guards = []
        self.book = SchemaBook()
        self.states = []

    @no_inline
    def __deinit__(deinit self):
        return

    def takes[T: AnyType](mut self, var media_type: String):
        """Says what content the operation takes.

        Parameters:
            T: What the content is read into.

        Args:
            media_type: The content's media type.
        """
        self._add(0, media_type^, schema_of[T](self.book))

    def gives[T: AnyType](mut self, status: Int = 200):
        """Says what content a response has, as JSON.

        Parameters:
            T: What the content is written from.

        Args:
            status: The response's status.
        """
        self._add(status, "application/json", schema_of[T](self.book))

    @no_inline
    def wants(mut self, var scheme: SecurityScheme):
        """Says that a guard wants credentials; it answers 401 without them.

            def describe(mut operation: Operation):
                operation.wants(SecurityScheme.header("X-Api-Key"))

        Args:
            scheme: What it wants to be shown; one that is there by its id is
                left out.
        """
        for ref known in self.guards:
            if known.id == scheme.id:
                return
        self.guards.append(scheme^)

    def answers(mut self, status: Int):
        """Says that there is a response without content to speak of, such as
        204 or 404."""
        self._add(status, "", "")

    @no_inline
    def _add(mut self, status: Int, var media_type: String, var schema: String):
        self.contents.append(ContentDescription(status, media_type^, schema^))


comptime INPUT_ERROR_COUNT_MAX = 32


@fieldwise_init
struct InputFault(Copyable, Movable, Writable):
    """One input that a request lacks, or that is bad."""

    var place: StaticString
    """`path`, `query`, `header`, `cookie` or `body`."""
    var name: String
    """The input's name; empty for content as a whole."""
    var reason: String
    """What is wrong, and what is allowed."""
    var pointer: String
    """Where it stands in JSON content, such as `/items/2/price` (RFC 6901);
    empty elsewhere."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes place, name and reason, escaped."""
        writer.write(self.place)
        if self.name.byte_length() > 0:
            writer.write(" '")
            write_escaped(self.name.as_bytes(), writer)
            writer.write("'")
        writer.write(": ")
        write_escaped(self.reason.as_bytes(), writer)


struct InputError(Copyable, Movable, Writable):
    """A request lacks inputs, or has bad ones."""

    var status: Int
    """The status to answer with."""
    var place: StaticString
    """Of the first one: `path`, `query`, `header`, `cookie` or `body`."""
    var name: String
    """The first one's name; empty for content as a whole."""
    var reason: String
    """What is wrong with the first one, and what is allowed."""
    var pointer: String
    """Where the first one stands in JSON content, such as `/items/2/price`
    (RFC 6901); empty elsewhere."""
    var others: List[InputFault]
    """What else is bad."""

    def __init__(
        out self,
        status: Int,
        place: StaticString,
        var name: String,
        var reason: String,
    ):
        """Describes an input."""
        self.status = status
        self.place = place
        self.name = name^
        self.reason = reason^
        self.pointer = String()
        self.others = []

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def of_content(var name: String, var reason: String) -> Self:
        """Gives the error, to be answered with 422, of a part of the content
        that can be read, but is not good.

        Args:
            name: The part's name, such as that of a field.
            reason: What is wrong, fit for strangers.
        """
        return Self(422, "body", name^, reason^)

    @no_inline
    def add(mut self, var other: InputError):
        """Tells of another bad input in the same answer.

        The answer has the status of the first one. An answer tells of 32 at
        most.

            def check(self) raises InputError:
                var error = InputError.of_content("least", "is below 0")
                error.add(InputError.of_content("most", "is below 0"))
                raise error^

        Args:
            other: What else is bad.
        """
        self._add(
            InputFault(
                other.place,
                other.name.copy(),
                other.reason.copy(),
                other.pointer.copy(),
            )
        )
        for ref fault in other.others:
            self._add(fault.copy())

    def _add(mut self, var fault: InputFault):
        if len(self.others) + 1 < INPUT_ERROR_COUNT_MAX:
            self.others.append(fault^)

    def faults(self) -> List[InputFault]:
        """Gives all bad inputs, the first one and the others."""
        var faults = List[InputFault](capacity=len(self.others) + 1)
        faults.append(
            InputFault(self.place, self.name, self.reason, self.pointer)
        )
        for ref fault in self.others:
            faults.append(fault.copy())
        return faults^

    def write_to(self, mut writer: Some[Writer]):
        """Writes place, name and reason of each, escaped."""
        writer.write(_text(self))

    @no_inline
    def response(self) -> Response:
        """Gives the response: the status, with a problem (RFC 9457). Its `in`,
        `name` and `detail` tell of the first bad input, its `errors` of all. An
        error of ours (500) tells nothing."""
        if self.status >= 500:
            return Response(self.status)
        var problem = self._problem()
        if not is_valid_utf8(problem.span()):
            return Response(self.status)
        return Response(
            self.status,
            String(StringSpan(unsafe_from_utf8=problem.span())),
            content_type="application/problem+json",
        )

    def _problem(self) -> Buffer:
        # Written without a writer that checks what it is asked for: each
        # program with a handler has this in it.
        var out = Buffer(256)
        _append_member(out, '{"title":', Response(self.status).reason())
        out.append(',"status":'.as_bytes())
        out.append_decimal(self.status)
        _append_member(out, ',"in":', self.place)
        _append_member(out, ',"name":', self.name)
        _append_member(out, ',"detail":', self.reason)
        var before = StaticString(',"errors":[{"in":')
        for ref fault in self.faults():
            _append_member(out, before, fault.place)
            before = ',{"in":'
            _append_member(out, ',"name":', fault.name)
            if fault.pointer.byte_length() > 0:
                _append_member(out, ',"pointer":', _fragment(fault.pointer))
            _append_member(out, ',"detail":', fault.reason)
            out.append_octet(125)
        out.append("]}".as_bytes())
        return out^


@no_inline
def _fragment(pointer: String) -> String:
    """Writes a pointer as a fragment (RFC 6901 section 6): names in it are the
    client's, and may have what no fragment has (RFC 3986 section 3.5)."""
    comptime SET = EncodeSet(' "#%<>[\\]^`{|}')
    var octets: List[UInt8] = [35]
    percent_encode[SET](pointer.as_bytes(), octets)
    return text_of(octets)


@no_inline
def _append_member(mut out: Buffer, before: StaticString, value: StringSpan):
    out.append(before.as_bytes())
    append_json_string(out, value)


@no_inline
def _text(error: InputError) -> String:
    var text = String()
    for ref fault in error.faults():
        if text.byte_length() > 0:
            text += "; "
        fault.write_to(text)
    return text^


trait Input(Deinitable, Movable):
    """A field of an endpoint, filled from the request before it answers."""

    comptime STREAMS_BODY: Bool = False
    """True if the input reads content while it arrives; one of an endpoint may.
    """

    comptime TAKES_CONTENT: Bool = False
    """True if the input is made of all of the content; one of an endpoint may.
    """

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Takes the input from a request.

        Args:
            req: The request, with path parameters.

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

    @staticmethod
    def problem() -> String:
        """Tells why the input cannot be what its parameters say; empty if all
        is well. The compiler asks, and refuses a program with such a field."""
        return String()
