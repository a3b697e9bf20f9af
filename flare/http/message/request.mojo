"""A request as its handler sees it, with what the router and the server know of it."""

from flare.bytes.checked import *
from flare.bytes.buffer import unsafe_lend_text
from flare.bytes.erased import Erased, ErasedBox
from flare.bytes.padding import Padding
from flare.http.message.body import SpareContent
from flare.http.message.body_reader import BodyReader, LentFeed
from flare.http.message.cookie import (
    Cookie,
    find_cookie_value,
    parse_cookie_header,
)
from flare.http.message.early_hints import EarlyHints
from flare.http.message.extensions import Extensions
from flare.http.message.fields import Fields
from flare.http.message.form import FormData, find_query_value
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.json.value import JsonValue, parse
from flare.net.socket_addr import SocketAddr
from std.atomic import Atomic, Ordering
from std.memory import ArcPointer, OwnedPointer
from std.reflection import reflect


@fieldwise_init
struct RequestLine[o: ImmOrigin](Copyable, Movable):
    """The parts of a request line (RFC 9112 section 3), as `Request` has them.

    Parameters:
        o: Where the octets live.
    """

    var method: Method
    var method_name: StringSpan[Self.o]
    var url: StringSpan[Self.o]
    var path: StringSpan[Self.o]
    var query: StringSpan[Self.o]
    var authority: StringSpan[Self.o]
    """Empty for origin-form and asterisk-form."""
    var version: Version


struct Request[o: ImmOrigin](Movable):
    """One request, lent to a handler for the length of its call.

    Nothing in it is owned: all text lies in the connection's input buffer. The
    compiler refuses to let a piece of it outlive the call; `String(req.path)`
    or `to_owned` make copies that may. Write handlers as
    `def handle(req: Request) raises -> Response`.

    Parameters:
        o: Where the octets live.
    """

    var method: Method
    """The method; `Method.OTHER` if it is not registered."""
    var method_name: StringSpan[Self.o]
    """The method as sent."""
    var version: Version
    """The protocol version of the request."""
    var url: StringSpan[Self.o]
    """The request target as sent, visible ASCII."""
    var path: StringSpan[Self.o]
    """The target's path, still percent-encoded; empty for CONNECT."""
    var query: StringSpan[Self.o]
    """The target's query without its `?`, still percent-encoded."""
    var headers: Fields[Self.o]
    """The header fields."""
    var body: Span[UInt8, Self.o]
    """The content, without its framing; empty while it is a stream, see
    `body_reader`."""
    var trailers: Fields[Self.o]
    """The trailer fields of a chunked body, kept apart from the headers."""
    var peer: SocketAddr
    """The address that the request came from; an IPv4 client's is IPv4 on a
    listener of both versions, too. 0.0.0.0:0 over a Unix socket."""

    var _authority: StringSpan[Self.o]
    var _padding: Padding[16]
    # SAFETY: the worker that lends the request owns the storage, for longer
    # than the handler's call.
    var _params: Pointer[PathParams, MutUntrackedOrigin]
    # SAFETY: as for `_params`; nothing for handlers on the worker's own thread.
    var _cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin]
    # SAFETY: as for `_params`; nothing if the connection does not speak TLS.
    var _tls: OptionalPointer[TlsPeer, ImmUntrackedOrigin]

    @always_inline
    def __init__(
        out self,
        line: RequestLine[Self.o],
        headers: Fields[Self.o],
        body: Span[UInt8, Self.o],
        trailers: Fields[Self.o],
        *,
        peer: SocketAddr,
        params: Pointer[PathParams, MutUntrackedOrigin],
        cancel: OptionalPointer[CancelFlag, ImmUntrackedOrigin] = None,
        tls: OptionalPointer[TlsPeer, ImmUntrackedOrigin] = None,
    ):
        """Makes a request from its parts.

        Args:
            line: The request line.
            params: Storage for path parameters that outlives the request.
            cancel: A flag that outlives the request, if there is one.
            tls: What TLS tells about the client; outlives the request.
        """
        self._padding = {}
        # SAFETY: the caller promises that `params`, `cancel` and `tls` outlive
        # the request.
        self.method = line.method
        self.method_name = line.method_name
        self.version = line.version
        self.url = line.url
        self.path = line.path
        self.query = line.query
        self.headers = headers.copy()
        self.body = body
        self.trailers = trailers.copy()
        self.peer = peer
        self._authority = line.authority
        self._params = params
        self._cancel = cancel
        self._tls = tls

    def host(self) -> StringSpan[Self.o]:
        """Lends the authority that the request is for: host and optional port;
        empty for HTTP/1.0 requests without Host.

        Source: RFC 9112 section 3.2.2: an absolute target outranks Host.
        """
        if self._authority.byte_length() > 0:
            return self._authority
        var value = self.headers.get("host")
        return value.held() if value else self._authority

    def text(self) raises -> String:
        """Copies the content as text.

        Raises:
            Error: If it is not UTF-8; see `json`.
        """
        try:
            return String(from_utf8=self.body)
        except:
            raise self._bad_input("body", "the content is not UTF-8")

    def json(self) raises -> JsonValue:
        """Reads the content as JSON (RFC 8259), as in
        `req.json()["name"].string_value()`.

        Raises:
            Error: If the content is not JSON; it says where and why. It is
                the client's fault: where no handler catches the error, the
                answer is not 500 but 400 with a problem (RFC 9457).
        """
        try:
            return parse(self.body)
        except error:
            raise self._bad_input("body", String(error))

    def form(self) raises -> FormData:
        """Reads the content as an urlencoded form; the fields are decoded.

        Raises:
            Error: If there are too many of them; see `json`.
        """
        try:
            return FormData.parse(self.body)
        except error:
            raise self._bad_input("body", String(error))

    @no_inline
    def _bad_input(self, place: StaticString, var detail: String) -> Error:
        """Makes the error for the handler, and remembers whose fault it is."""
        var error = Error(detail)
        self._params[].note_bad_input(BadInput(400, place, detail^))
        return error^

    def body_reader(self) -> BodyReader[Self.o]:
        """Gives the content, from its start, as a stream.

        With a handler that is `Streamed` this is the way to the content, which
        may still be arriving; call it once then. With others it reads `body`.
        """
        return BodyReader(self.body, self.trailers, self.extension[LentFeed]())

    def send_early_hints(self, *links: String) raises HeaderError:
        """Tells the client what the response will need, before there is one
        (103, RFC 8297), so that it can fetch that meanwhile.

            req.send_early_hints("</style.css>; rel=preload; as=style")

        A handler on a handler thread is ahead of its response by the time that
        it takes; on a worker's own thread both leave together. The response names the links again. A client of HTTP/1.0 is
        told nothing, nor is one that is far behind in what it was sent.

        Args:
            links: The value of a Link field each (RFC 8288 section 3).

        Raises:
            HeaderError: If one of them is no field value.
        """
        if self.version < Version.HTTP_1_1:
            return
        # SAFETY: the storage outlives the request.
        ref params = self._params[]
        var values = List[String](capacity=len(links))
        for link in links:
            values.append(String(link))
        params.add_early_hints(values)

    def cancelled(self) -> Bool:
        """Tells whether the response is wanted no more: the client has closed
        its side of the connection, the handler's time is over, or the server
        ends. A client that only finished sending can still read a response.

        A handler that takes long on a handler thread asks now and then. On a
        worker's own thread the answer is always False.
        """
        # SAFETY: the flag outlives the request.
        return Bool(self._cancel) and self._cancel.held()[].is_set()

    def is_cancellable(self) -> Bool:
        """Tells whether `cancelled` can ever be True: on a handler thread, and
        for handlers that answer later."""
        return Bool(self._cancel)

    def watch_cancelled[W: CancelWatcher](self, watcher: W) -> W:
        """Has somebody told when `cancelled` becomes True, and gives who is
        told: this watcher, or an earlier one of its type. One a request: who
        came first stays.

        Parameters:
            W: The watcher's type.

        Args:
            watcher: Who is told; nobody is where `is_cancellable` is False.
        """
        if not self._cancel:
            return watcher
        # SAFETY: the flag outlives the request, and is shared with the worker's
        # thread by atomic words alone.
        ref flag = self._cancel.held().unsafe_mut_cast[True]()[]
        if flag.watch(watcher):
            return watcher
        return flag.watcher[W]().or_else(watcher)

    def is_tls(self) -> Bool:
        """Tells whether the request came over TLS, as far as this server sees;
        behind a proxy that ends TLS it is False."""
        return Bool(self._tls)

    def scheme(self) -> StaticString:
        """Names the scheme that the request came by, "https" or "http", as
        `is_tls` tells."""
        return "https" if self._tls else "http"

    def peer_certificate(self) -> Optional[StringSpan[Self.o]]:
        """Reads whose certificate the client has shown: the subject in the form
        of RFC 2253, such as "CN=a,O=b"; nothing if it has shown none. The
        server has verified it: see `TlsServerConfig.client_verification`."""
        # SAFETY: the facts outlive the request.
        if not self._tls:
            return None
        ref subject = self._tls.held()[].certificate_subject
        if subject.byte_length() == 0:
            return None
        return unsafe_lend_text[Self.o](
            subject.unsafe_ptr(), subject.byte_length()
        )

    def tls_peer(self) -> OptionalPointer[TlsPeer, Self.o]:
        """Lends what TLS tells about the client; nothing without TLS."""
        # SAFETY: the facts live as long as the octets, see the initializer.
        if not self._tls:
            return None
        return self._tls.held().unsafe_origin_cast[Self.o]()

    def query_param(self, name: StringSpan) -> String:
        """Reads a parameter of the query: the first value of the name, decoded;
        empty if there is none, see `opt_query_param`.

        Args:
            name: Its name, decoded.
        """
        return self.query_param_or(name, "")

    def query_param_or(self, name: StringSpan, default: StringSpan) -> String:
        """Reads a parameter of the query that may be missing: the first value
        of the name, decoded, or else the default. `?name` and `?name=` have it,
        and it is empty.

        Args:
            default: What is taken if it is missing.
        """
        var value = self.opt_query_param(name)
        return value.take() if value else String(default)

    def opt_query_param(self, name: StringSpan) -> Optional[String]:
        """Reads a parameter of the query as `query_param` does, but gives
        nothing if there is none."""
        return find_query_value(self.query.as_bytes(), name)

    def query_params(self) raises -> FormData:
        """Reads all parameters of the query, decoded.

        Raises:
            Error: If there are too many of them; see `json`.
        """
        try:
            return FormData.parse(self.query)
        except error:
            raise self._bad_input("query", String(error))

    def cookies(self) -> List[Cookie]:
        """Reads the cookies of all Cookie fields (RFC 6265 section 5.4), in
        order; without those that are not UTF-8."""
        var cookies = List[Cookie]()
        var index = self.headers.find("cookie")
        while index >= 0:
            cookies.extend(parse_cookie_header(self.headers.value_bytes(index)))
            index = self.headers.find("cookie", index + 1)
        return cookies^

    def cookie(self, name: StringSpan) -> StringSpan[Self.o]:
        """Lends the value of the first cookie of a name; empty if there is
        none, see `opt_cookie`.

        Args:
            name: Its name, in the case that it was set with.
        """
        var value = self.opt_cookie(name)
        return value.held() if value else self._empty()

    def opt_cookie(self, name: StringSpan) -> Optional[StringSpan[Self.o]]:
        """Lends the value of the first cookie of a name; nothing if there is
        none, or none that is UTF-8. The rest is as for `cookie`."""
        var index = self.headers.find("cookie")
        while index >= 0:
            var value = find_cookie_value(self.headers.value_bytes(index), name)
            if value:
                return value
            index = self.headers.find("cookie", index + 1)
        return None

    def header(self, name: StringSpan) -> StringSpan[Self.o]:
        """Lends the first value of a header field; empty if there is none, see
        `opt_header`.

        Args:
            name: The field's name, in any case.
        """
        var value = self.headers.get(name)
        return value.held() if value else self._empty()

    def opt_header(self, name: StringSpan) -> Optional[StringSpan[Self.o]]:
        """Lends the first value of a header field, as `headers.get` does;
        nothing if there is none. The rest is as for `header`."""
        return self.headers.get(name)

    @always_inline
    def param(self, name: StringSpan) -> StringSpan[Self.o]:
        """Lends the value of a path parameter that the router captured,
        percent-decoded; empty if the route has no such name, see `opt_param`.

        Args:
            name: The name in the route's pattern, without `:` or `*`.
        """
        var index = self._params[].find(name)
        return self._empty() if index < 0 else self._param_at(index)

    def opt_param(self, name: StringSpan) -> Optional[StringSpan[Self.o]]:
        """Lends a path parameter as `param` does, but nothing if the route has
        no such name: what `*rest` matches may be empty. The rest is as for
        `param`."""
        var index = self._params[].find(name)
        if index < 0:
            return None
        return self._param_at(index)

    @always_inline
    def _param_at(self, index: Int) -> StringSpan[Self.o]:
        # SAFETY: a parameter's value lies in the input buffer, whose origin is
        # `o`, or in the worker's storage, which lives at least as long.
        var value = self._params[].at(index).value
        return unsafe_lend_text[Self.o](value.unsafe_ptr(), value.byte_length())

    @always_inline
    def _empty(self) -> StringSpan[Self.o]:
        return StringSpan(unsafe_from_utf8=self.body.before(0))

    def route(self) -> StringSpan[Self.o]:
        """Lends the pattern of the route that answers, for logs and figures,
        such as `/users/:id`, with the prefix that it is mounted below; empty if
        no router has found one."""
        # SAFETY: the router that lends the pattern outlives all requests.
        var pattern = self._params[].record.route
        return unsafe_lend_text[Self.o](
            pattern.unsafe_ptr(), pattern.byte_length()
        )

    def with_peer(self, peer: SocketAddr) -> Self:
        """Lends the same request, a view of the same octets, with another peer,
        for middleware.

        Args:
            peer: Where the request is said to come from.
        """
        return self._with(self.headers, peer.without_mapping())

    def unsafe_with_headers(self, headers: Fields) -> Self:
        """Lends the same request, a view of the same octets, with other header
        fields, for middleware. The caller keeps the fields for longer than the
        request that is lent.

        Args:
            headers: The fields.
        """
        return self._with(headers.unsafe_outliving[Self.o](), self.peer)

    def _with(self, headers: Fields[Self.o], peer: SocketAddr) -> Self:
        var line = RequestLine[Self.o](
            method=self.method,
            method_name=self.method_name,
            url=self.url,
            path=self.path,
            query=self.query,
            authority=self._authority,
            version=self.version,
        )
        return Self(
            line,
            headers,
            self.body,
            self.trailers,
            peer=peer,
            params=self._params,
            cancel=self._cancel,
            tls=self._tls,
        )

    def extension[T: AnyType](self) -> OptionalPointer[T, Self.o]:
        """Finds what middleware around the handler has lent to it last, for the
        length of the handler's call; nothing if there is none. See
        `ExtensionScope`.

            var user = req.extension[User]()
            if user:
                return ok("hi " + user.value()[].name)

        Parameters:
            T: The value's type.
        """
        return self.extensions()[].find[T]()

    @always_inline
    def extensions(self) -> Pointer[Extensions, Self.o]:
        """Lends what outer handlers lend to inner ones, for middleware;
        `ExtensionScope` adds to it."""
        # SAFETY: the storage lives as long as the octets, see the initializer.
        return (
            Pointer(to=self._params[].extensions)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[Self.o]()
        )

    def route_params(self) -> Pointer[PathParams, MutUntrackedOrigin]:
        """Gives the storage for path parameters, for routers alone; it lives at
        least as long as this request."""
        # SAFETY: handed on with the promise made to the initializer.
        return self._params


comptime PATH_PARAM_COUNT_MAX = 32
"""Most parameters that one request can carry.

Storage for them is made once and never moves, so that values may be lent.
"""


@fieldwise_init
struct BadInput(Copyable, Movable):
    """Input of a client that a request could not read for its handler."""

    var status: Int
    """What is answered, if no handler catches the error."""
    var place: StaticString
    """`body` or `query`."""
    var detail: String
    """What is wrong: the text of the error that the handler got."""


@fieldwise_init
struct PathParam(TrivialRegisterPassable):
    """One captured parameter.

    Name and value are lent by the pattern and by the request (or by `PathParams`
    for a decoded value), which all outlive the handler's call.
    """

    var name: StringSpan[ImmUntrackedOrigin]
    """The name in the pattern."""
    var value: StringSpan[ImmUntrackedOrigin]
    """The value, percent-decoded."""


struct PathParams(Movable, Sized):
    """Storage for the parameters of one request at a time.

    A worker owns one; the router writes into it while a request is handled.
    Nothing is allocated for a value without percent-encoding.
    """

    var extensions: Extensions
    """What outer handlers lend to inner ones; they drop it themselves."""
    var bad_input: Optional[BadInput]
    """What the request has refused to its handler last, if it has."""
    var record: RequestRecord
    """Route and id, for logs and figures."""
    var early_hints: EarlyHints
    """What goes to the client before the response."""
    var failure_fields: Optional[OwnedPointer[HeaderMap]]
    """What middleware adds to the answer if the handler raises."""
    # SAFETY: the server sets it for the length of a handler's call, to a value
    # of the type that routers know.
    var route_memo: OptionalPointer[NoneType, MutUntrackedOrigin]
    """Where a router keeps the route it found when it was asked about the
    request; nothing if nobody asked."""
    var spare: SpareContent
    """Memory for the content of the response, from request to request."""
    var spare_octets: List[UInt8]
    """Memory for octets that a handler reads from content, likewise."""
    var _params: List[PathParam]
    var _decoded: List[String]
    # Whether there is anything to forget.
    var _is_used: Bool

    def __init__(out self):
        """Makes empty storage; it grows with the first requests that need it."""
        self.extensions = Extensions()
        self.bad_input = None
        self.record = RequestRecord()
        self.early_hints = EarlyHints()
        self.failure_fields = None
        self.route_memo = None
        self.spare = SpareContent()
        self.spare_octets = []
        self._params = []
        self._decoded = []
        self._is_used = False

    @no_inline
    def __deinit__(deinit self):
        return

    def __len__(self) -> Int:
        return len(self._params)

    @always_inline
    def clear(mut self):
        """Forgets what the last request has left, and keeps the storage."""
        self.record.clear()
        self.route_memo = None
        if self._is_used:
            self._forget()

    @no_inline
    def _forget(mut self):
        self._is_used = False
        self._params.clear()
        self._decoded.clear()
        self.bad_input = None
        self.early_hints.fields = None
        self.failure_fields = None

    def note_failure_fields(mut self, var fields: HeaderMap):
        """Remembers fields for the answer to a handler that raises, until
        `clear`, in place of those noted before."""
        self._is_used = True
        self.failure_fields = OwnedPointer(fields^)

    def add_early_hints(mut self, links: Span[String, _]) raises HeaderError:
        """Sends links before the response; see `Request.send_early_hints`."""
        self._is_used = True
        self.early_hints.add(links)

    def note_bad_input(mut self, var bad_input: BadInput):
        """Remembers what could not be read for the handler, until `clear`."""
        self._is_used = True
        self.bad_input = bad_input^

    def truncate(mut self, count: Int):
        """Forgets the parameters captured last."""
        self._params.shrink(min(count, len(self._params)))

    @always_inline
    def add(
        mut self,
        name: StringSpan[ImmUntrackedOrigin],
        value: StringSpan[ImmUntrackedOrigin],
    ) -> Bool:
        """Captures a value as it stands in the request; False if
        `PATH_PARAM_COUNT_MAX` is reached. Both texts must outlive the handler's
        call."""
        if len(self._params) >= PATH_PARAM_COUNT_MAX:
            return False
        self._is_used = True
        self._params.append(PathParam(name, value))
        return True

    def add_decoded(
        mut self, name: StringSpan[ImmUntrackedOrigin], var value: String
    ) -> Bool:
        """Captures a value that had to be decoded; False if
        `PATH_PARAM_COUNT_MAX` is reached. The name must outlive the handler's
        call."""
        if len(self._decoded) >= PATH_PARAM_COUNT_MAX:
            return False
        if len(self._decoded) == 0:
            self._decoded.reserve(PATH_PARAM_COUNT_MAX)
        self._decoded.append(value^)
        # SAFETY: the list has its full capacity from its first string on, so
        # that each stays where it is until `clear`.
        ref kept = self._decoded.at(len(self._decoded) - 1)
        return self.add(
            name,
            unsafe_lend_text[ImmUntrackedOrigin](
                kept.unsafe_ptr(), kept.byte_length()
            ),
        )

    @always_inline
    def at(self, index: Int) -> PathParam:
        """Gives one parameter, in the order of the path."""
        return self._params.at(index)

    @always_inline
    def find(self, name: StringSpan) -> Int:
        """Finds the index of the last parameter with a name of a pattern, or
        -1: in nested routers the inner one wins."""
        for back in range(1, len(self._params) + 1):
            var index = len(self._params) - back
            if self._params.at(index).name == name:
                return index
        return -1


comptime REQUEST_ID_LEN_MAX = 128
"""Longest id of a request, in bytes.

Ids stand in every line of a log; those in use have 16 to 55 bytes.
"""


struct RequestRecord(Movable):
    """Route and id of one request at a time; the storage is used again."""

    var route: StringSpan[ImmUntrackedOrigin]
    """The pattern of the route that answers; empty if there is none. It is
    lent by the router, which outlives all requests."""
    var logs_errors: Bool
    """False if nothing is to be logged of requests that fail."""
    # SAFETY: who calls a handler sets it before and takes it back after.
    var request: OptionalPointer[NoneType, MutUntrackedOrigin]
    """Where the request lies whose handler is being called, for a report of
    its crash; nothing between the calls."""
    var _id: Array[UInt8, REQUEST_ID_LEN_MAX]
    var _id_len: Int

    def __init__(out self):
        self.route = no_route()
        self.logs_errors = True
        self.request = None
        self._id = Array[UInt8, REQUEST_ID_LEN_MAX](uninitialized=True)
        self._id_len = 0

    @always_inline
    def clear(mut self):
        self.route = no_route()
        self._id_len = 0

    @always_inline
    def has_id(self) -> Bool:
        """Tells whether the request has an id: False until somebody asks for
        it."""
        return self._id_len > 0

    def id(self) -> StringSpan[origin_of(self._id)]:
        """Lends the id, visible ASCII; empty if there is none."""
        return StringSpan(unsafe_from_utf8=Span(self._id).before(self._id_len))

    def set_id(mut self, id: Span[UInt8, _]):
        """Gives the request an id of visible ASCII; what is beyond
        `REQUEST_ID_LEN_MAX` is left out."""
        self._id_len = min(len(id), REQUEST_ID_LEN_MAX)
        for index in range(self._id_len):
            self._id.at(index) = id.at(index)

    # As an argument the id would go by the stack, octet by octet.
    @always_inline
    def copy_from(mut self, other: Self):
        """Takes over what is known of a request; where its route lives must
        outlive this one."""
        self.route = other.route
        self._id_len = 0
        if other._id_len > 0:
            self.set_id(other.id().as_bytes())


@always_inline
def no_route() -> StringSpan[ImmUntrackedOrigin]:
    """Gives the route of what no route answers."""
    # SAFETY: of a part of the program, nothing is read.
    comptime NOTHING = StaticString("")
    return unsafe_lend_text[ImmUntrackedOrigin](NOTHING.unsafe_ptr(), 0)


trait CancelWatcher(Deinitable, ImplicitlyCopyable, Movable):
    """Is told when a response is not wanted any more; copies mean the same."""

    def on_cancelled(self):
        """Is called on any thread, perhaps twice, and must not wait."""
        ...


def _tell[W: CancelWatcher](watcher: Erased):
    # SAFETY: `_ErasedWatcher` made the pointer from a W of its own.
    watcher.unsafe_bitcast[W]()[].on_cancelled()


struct _ErasedWatcher(Movable):
    # SAFETY: the function was made for the type that `type_name` names.
    var type_name: StaticString
    var watcher: ErasedBox
    var tell: def(Erased) thin -> None

    def __init__[W: CancelWatcher](out self, watcher: W):
        comptime NAME = reflect[W].name()
        self.type_name = materialize[NAME]()
        self.watcher = ErasedBox(watcher)
        self.tell = _tell[W]


struct CancelFlag(Movable):
    """Set once by the thread that owns a connection, read by a handler's."""

    var _value: Atomic[Int64]
    # 1 once there is a watcher, which stays until the flag ends.
    var _is_watched: Atomic[Int64]
    var _watcher: Optional[_ErasedWatcher]
    # Where the number of an errand is noted when the flag is set; of the same
    # thread.
    var _gone: Optional[ArcPointer[List[UInt64]]]
    var _number: UInt64

    def __init__(out self):
        self._value = Atomic[Int64](0)
        self._is_watched = Atomic[Int64](0)
        self._watcher = None
        self._gone = None
        self._number = 0

    @no_inline
    def __deinit__(deinit self):
        """Ends the watcher, too."""
        return

    @no_inline
    def set(mut self):
        """Sets the flag, and tells who watches it."""
        if self._gone and not self.is_set():
            self._gone.held()[].append(self._number)
        # In one order with what `watch` does: one of both sees the other.
        self._value.store(1)
        if self._is_watched.load() != 0:
            ref watcher = self._watcher.held()
            watcher.tell(watcher.watcher.at)

    def note_in(mut self, gone: ArcPointer[List[UInt64]], number: UInt64):
        """Has a number noted when the flag is set, now if it is, in a list of
        the thread that sets the flag."""
        self._gone = gone
        self._number = number
        if self.is_set():
            gone[].append(number)

    def is_watched(self) -> Bool:
        """Tells whether there is a watcher, which stays until the flag ends."""
        return self._is_watched.load() != 0

    def is_set(self) -> Bool:
        return self._value.load[ordering=Ordering.ACQUIRE]() != 0

    def watch[W: CancelWatcher](mut self, watcher: W) -> Bool:
        """Has somebody told when the flag is set, or at once if it is; False if
        there is a watcher already. Only the handler's thread calls it."""
        if self._is_watched.load() != 0:
            return False
        self._watcher = _ErasedWatcher(watcher)
        self._is_watched.store(1)
        if self._value.load() != 0:
            watcher.on_cancelled()
        return True

    def watcher[W: CancelWatcher](self) -> Optional[W]:
        """Copies who watches the flag; nothing if there is none of this type.
        Only the handler's thread calls it."""
        comptime NAME = reflect[W].name()
        if self._is_watched.load() == 0:
            return None
        ref found = self._watcher.held()
        if found.type_name != materialize[NAME]():
            return None
        # SAFETY: it was made from a W, see `_ErasedWatcher`.
        return found.watcher.at.unsafe_bitcast[W]()[]


struct TlsPeer(Copyable, Movable):
    """A client beyond its address, once its handshake is complete."""

    var certificate_subject: String
    """Whose certificate the client has shown and the server has verified, in
    the form of RFC 2253 ("CN=a,O=b"); empty if it has shown none."""

    def __init__(out self, var certificate_subject: String = ""):
        """Makes a client's facts: whose certificate it has shown, if any."""
        self.certificate_subject = certificate_subject^


struct Version(Comparable, ImplicitlyCopyable, Writable):
    """A version of HTTP (RFC 9110 section 2.5)."""

    var major: UInt8
    """The number before the dot: the message syntax."""
    var minor: UInt8
    """The number after the dot: the features of the sender."""

    comptime HTTP_1_0 = Version(1, 0)
    """HTTP/1.0 (RFC 1945)."""
    comptime HTTP_1_1 = Version(1, 1)
    """HTTP/1.1 (RFC 9112)."""

    @always_inline
    def __init__(out self, major: UInt8, minor: UInt8):
        """Makes a version from its numbers."""
        self.major = major
        self.minor = minor

    def __lt__(self, other: Self) -> Bool:
        """Tells whether this version is older than another.

        Args:
            other: A version.
        """
        return self.major < other.major or (
            self.major == other.major and self.minor < other.minor
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the version as it stands on the wire."""
        writer.write_string("HTTP/")
        self.major.write_to(writer)
        writer.write_string(".")
        self.minor.write_to(writer)
