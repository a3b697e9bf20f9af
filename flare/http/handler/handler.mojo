"""What answers requests: the trait, plain functions, and what a handler asks of the server."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import Surroundings
from std.reflection import reflect

comptime HandlerFunction = def[o: ImmOrigin](Request[o]) raises thin -> Response
"""A plain function as a handler: `def f(req: Request) raises -> Response`.

A function that does not raise fits too.
"""

comptime QuietHandlerFunction = def[o: ImmOrigin](Request[o]) thin -> Response
"""A plain function as a handler that never raises."""

comptime DEFAULT_BODY_LIMIT = -1
"""Stands for `ServerConfig.max_body_size`."""

comptime DEFAULT_TIMEOUT_MS = -1
"""Stands for `ServerConfig.handler_timeout_ms`."""

comptime TIMEOUT_MS_MAX = 86_400_000
"""The longest time of a handler, in milliseconds: a day. What waits longer is
stuck."""


struct RequestPolicy(TrivialRegisterPassable):
    """What a handler needs for a request, as far as its head tells; what becomes of
    it is the server's decision.

    ```mojo
    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(max_body_size=1 << 30, timeout_ms=300_000)
    ```
    """

    var max_body_size: Int
    """Most content in bytes. Default `DEFAULT_BODY_LIMIT`: the server's limit.
    """
    var timeout_ms: Int
    """How long the handler may take on a handler thread, or the answer that it
    `defers`, 1 to `TIMEOUT_MS_MAX` ms; see `Timeout`. One that reads content
    while it arrives has it for each of its turns. Default `DEFAULT_TIMEOUT_MS`:
    the server's time."""
    var streams: Bool
    """True if the handler reads content while it arrives, with
    `Request.body_reader`; it then runs on a handler thread, or, if it `defers`,
    has the content of its `DeferredCall`. See `Streamed`, and
    `HandlerClaims`. Default False."""
    var blocks: Bool
    """False if the handler never takes long: it is then called on the worker's
    own thread, which costs less and waits for no other handler. True says what
    it may do, and not where it is called: that is the server's to decide, by
    `ServerConfig.handler_threads`. Without meaning if it `defers`. Default True.
    """
    var defers: Bool
    """Whether the handler is called on the worker's own thread, and may answer
    with `later`: with `streams` as soon as the head is there, else when all
    content is. See `Deferred`, and `HandlerClaims`. Default False."""
    var needs_content: Bool
    """False if the answer does not depend on the content, and takes no time:
    there is no such route, or somebody may not enter. A request whose content
    has not arrived is then answered by its head alone, without a wait, on the
    worker's own thread; see `is_head_only`. Default True."""

    def __init__(
        out self,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        timeout_ms: Int = DEFAULT_TIMEOUT_MS,
        streams: Bool = False,
        blocks: Bool = True,
        needs_content: Bool = True,
        defers: Bool = False,
    ):
        """Makes a policy; what is not named has its default."""
        self.max_body_size = max_body_size
        self.timeout_ms = timeout_ms
        self.streams = streams
        self.blocks = blocks
        self.needs_content = needs_content
        self.defers = defers

    @staticmethod
    def by_head() -> Self:
        """Gives the policy of what is answered by the head alone, at once: it
        neither needs content nor blocks."""
        return Self(blocks=False, needs_content=False)


struct HeadOnly(TrivialRegisterPassable):
    """Lent as a note to handlers of a request whose content is not taken."""

    def __init__(out self):
        """Makes the note, which says all by being there."""
        return


struct ContentToCome(TrivialRegisterPassable):
    """Lent as a note while a handler is asked about a GET or HEAD whose content
    has not come: nobody expects some there, and HTTP/2 announces it by no field.
    """

    def __init__(out self):
        """Makes the note, which says all by being there."""
        return


def is_head_only(req: Request) -> Bool:
    """Tells whether a request is answered without its content, since a policy
    said that it is not needed.

    What decides by something that changes, such as a clock, may come to another
    result now than when the policy was asked. It must then refuse the request
    all the same, and not call a handler that needs the content:

        def serve(self, req: Request) raises -> Response:
            if not is_allowed(req) or refuses_by_head(req, self.handler):
                return forbidden()
            return self.handler.serve(req)

    Args:
        req: The request.
    """
    return req.extension[HeadOnly]().__bool__()


def refuses_by_head[H: Handler](req: Request, handler: H) -> Bool:
    """Tells whether a guard must refuse a request that it would let pass now,
    since its content, which the handler needs, was left out when the guard, or
    one within, refused it.

    Parameters:
        H: The inner handler's type.

    Args:
        req: The request.
        handler: What the guard would call.
    """
    return is_head_only(req) and handler.policy_for(req).needs_content


struct HandlerClaims(TrivialRegisterPassable):
    """What some requests of a handler may need, which a server has to know before
    they come."""

    var streams: Bool
    """Whether some policy says that it `streams`. With `handler_threads=0` a
    server refuses such a handler, unless it defers."""
    var defers: Bool
    """Whether some answer may come `later`."""
    var upgrades: Bool
    """Whether some answer is a conversation, such as WebSocket: over HTTP/2 a
    server offers that (RFC 8441) only then."""

    def __init__(
        out self,
        *,
        streams: Bool = False,
        defers: Bool = False,
        upgrades: Bool = False,
    ):
        """Says what is needed; nothing by default.

        Args:
            streams: Whether some policy says that it `streams`.
            defers: Whether some answer may come `later`.
            upgrades: Whether some answer is a conversation.
        """
        self.streams = streams
        self.defers = defers
        self.upgrades = upgrades

    def __or__(self, other: Self) -> Self:
        """Gives what some of two handlers may need.

        Args:
            other: The claims of the other one.

        Returns:
            What either of both claims.
        """
        return Self(
            streams=self.streams or other.streams,
            defers=self.defers or other.defers,
            upgrades=self.upgrades or other.upgrades,
        )


trait Handler(Deinitable, Movable):
    """Answers requests.

    It is called from several threads at once, also by a server with one worker,
    which moves routes that hold its loop to handler threads: what it changes
    must be atomic or locked. One worker with `ServerConfig(handler_threads=0)`
    alone calls it for one request at a time. Middleware is a handler that holds
    another, and asks that what it has no answer of its own to.
    """

    def serve(self, req: Request) raises -> Response:
        """Answers one request.

        Args:
            req: The request, lent for the length of the call.

        Returns:
            The response.

        Raises:
            Error: The server logs it and answers 500, saying nothing of it.
        """
        ...

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives how a request is to be treated before it is served: the
        defaults, unless the handler knows better.

        Asked once a request, when its head is there, if it has content, or if
        any handler may run on a handler thread, reads content while it arrives
        or answers later. It must be quick and must not block: it runs on the
        worker's own thread.

        Args:
            req: The request, still without content and path parameters.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().policy_for(req)
        else:
            return RequestPolicy()

    def claims(self) -> HandlerClaims:
        """Tells what some of its requests may need: nothing, unless the handler
        knows better. Asked once, when a server starts."""
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().claims()
        else:
            return HandlerClaims()

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Finishes an answer that the server makes in place of the handler.

        That is: to a request that breaks a rule, goes beyond a limit, comes too
        slowly, or comes when there is no room (400, 408, 413, 414, 417, 431,
        501, 503, 505). Of the request only what was read is there: method, target
        and fields may be empty. Framing and the end of the connection stay as
        they are.

        Args:
            req: What is known of the request.
            response: The answer, plain text.

        Returns:
            The answer, perhaps with fields or other content; its status is 400
            to 599. A `Middleware` asks its inner handler, and may add to it.

        Raises:
            Error: The server logs it, and sends the plain answer.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().refuse(req, response^)
        else:
            return response^

    def drained(self):
        """Finishes what goes beyond single requests, such as an export.

        A server calls it once in each process, at its end: when the last
        request was answered, or the time for that is over. It may wait a
        little, but every wait needs a deadline: somebody waits for the process
        to end. A `Middleware` calls its inner handler.
        """
        comptime if conforms_to(Self, HoldsHandler):
            self.inner().drained()

    def problem(self, around: Surroundings) -> String:
        """Tells why some request can never be answered as the handler is put
        together, such as an endpoint that takes a path parameter which its
        route's pattern does not have; empty if all is well.

        Asked once, before a server starts, which refuses to serve then; a
        `TestClient` does, too. What holds others asks them. What lends a `State`
        itself, in place of an `App`, asks them with `around.with_state`.

        Args:
            around: What the handlers around this one give it.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().problem(around)
        else:
            return String()

    def describe(self, mut operation: Operation):
        """Says what the handler takes and gives, for documents.

        Args:
            operation: What is known of the route. A `Middleware` lets its
                inner handler speak; others leave it as it is.
        """
        comptime if conforms_to(Self, HoldsHandler):
            self.inner().describe(operation)


trait HoldsHandler:
    """Has a field `handler`, which is another handler."""

    comptime Inner: Handler
    """The inner handler's type."""

    def inner(ref self) -> ref[self] Self.Inner:
        """Lends the inner handler, the field `handler`."""
        comptime INDEX = index_of_handler[Self]()
        comptime assert (
            INDEX >= 0
        ), "a Middleware keeps the inner handler in a field named 'handler'"
        # SAFETY: the field is part of `self`, and is of the type that `Inner`
        # says.
        ref field = reflect[Self].field_ref[INDEX](self)
        return (
            Pointer(to=field)
            .unsafe_bitcast[Self.Inner]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )


def index_of_handler[T: AnyType]() -> Int:
    """Finds the index of the field `handler`, which holds the inner handler; -1
    if there is none."""
    comptime for index in range(reflect[T].field_count()):
        comptime if reflect[T].field_names()[index] == "handler":
            return index
    return -1


comptime Middleware = Handler & HoldsHandler
"""A handler around another one, which does something before or after it.

A stack of them is a nested struct, `AccessLog(Cors(router^))`, known as a whole
to the compiler: no call goes through a pointer. A middleware keeps the inner
handler in a field `handler`, says `comptime Inner = Self.H`, and writes
`serve`; what else a server asks a handler goes through to the inner one.
"""


@fieldwise_init
struct FnHandler(Handler, TrivialRegisterPassable):
    """A plain function as a handler."""

    var function: HandlerFunction
    """What is called."""

    @always_inline
    def serve(self, req: Request) raises -> Response:
        return self.function(req)


struct FixedHandler[H: Handler, //, HANDLER: H](Handler, HoldsHandler):
    """Stands for a handler whose value is part of the program.

    The compiler sees which function is called, where a handler in memory would
    be asked for its address.

    Parameters:
        H: The handler's type. It is made anew for each call, so it should be
            of fixed values alone (`TrivialRegisterPassable`).
    """

    comptime Inner = Self.H
    var handler: Self.H
    """The handler, to be asked what it says of itself."""

    def __init__(out self):
        self.handler = materialize[Self.HANDLER]()

    @always_inline
    def serve(self, req: Request) raises -> Response:
        return materialize[Self.HANDLER]().serve(req)


def can_be_fixed[H: AnyType]() -> Bool:
    """Tells whether a handler made by the compiler works in the program: it is
    `Copyable`, or a `Middleware` around what is.

    One that keeps others behind pointers of its own does not: such memory comes
    over from the compiler without the functions that it points to.
    """
    comptime if conforms_to(H, Copyable):
        return True
    elif conforms_to(H, HoldsHandler):
        return can_be_fixed[H.Inner]()
    else:
        return False
