"""Services of gRPC, gRPC-Web and Connect as a handler of the ordinary server."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.compare import same_words
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.grpc.core.codec import MessageCodec
from flare.grpc.core.coding import (
    ACCEPTED_CODINGS,
    MessageCoding,
    accepts_gzip,
    parse_coding,
)
from flare.grpc.core.connect import VERSION, VERSION_FIELD
from flare.grpc.core.connect_query import ConnectQuery
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.message_reader import (
    MessageReader,
    PREFIX_LEN,
    cut_off,
    inflate_message,
    is_one_plain,
    read_prefix,
    too_long,
)
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.method_path import name_offset
from flare.grpc.core.protocol import (
    CallProtocol,
    accepted_types,
)
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.core.web import TextDecoder
from flare.grpc.server.call import GrpcCall, failure_of, late
from flare.grpc.server.call_threads import CallThreads
from flare.grpc.server.config import GrpcConfig
from flare.grpc.server.described import Described
from flare.grpc.server.interceptor import GrpcInterceptor, Interceptors
from flare.grpc.server.methods import (
    Method,
    MethodTable,
    NoService,
    StreamFunction,
    StreamMethod,
    UnaryFunction,
    UnaryMethod,
    begin_method,
    call_method,
    stream_without_service,
    without_service,
)
from flare.grpc.server.open_call import (
    OpenCall,
    OpenTask,
    head_too_long,
    no_base64,
    too_few,
    too_many,
)
from flare.grpc.server.reply import (
    log_status,
    ok_alone,
    refused_by_server,
    says_ok_alone,
    status_alone,
    trailers_of,
    unary_response,
)
from flare.grpc.server.stream import GrpcStream
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.handler import (
    Handler,
    HandlerClaims,
    HoldsHandler,
    RequestPolicy,
)
from flare.http.handler.later import (
    DeferredCall,
    RequestContent,
    deferred_call,
    later,
)
from flare.http.message.body import SpareContent
from flare.http.message.method import Method as HttpMethod
from flare.http.message.request import Request
from flare.http.message.response import Response, not_found
from flare.http.message.trailers import Trailers
from flare.protobuf.json_settings import ProtobufJson
from flare.protobuf.message import Message
from flare.sys.clock import monotonic_ns
from std.memory import ArcPointer, OwnedPointer
from std.sys.intrinsics import unlikely

comptime _SPARE_LEN = 64 * 1024
# Content that is longer than a message may be, by less than this, is read all the
# same, and refused with 200 and a status, which more clients understand than 413.

comptime _KEPT_LEN_MAX = 4_096
# Of longer octets of a request no memory is kept.

comptime _Query = Optional[OwnedPointer[ConnectQuery]]
# Few calls have one, and all are asked for it.

comptime _HEAD_TIME_MS = 60_000
# What the server gives a call with a stream for its head, which comes far earlier.


struct GrpcServices(Handler, HoldsHandler):
    """Answers calls of gRPC, gRPC-Web and Connect, and gives other requests to
    another handler.

        var services = GrpcServices()
        HttpServer.bind(SocketAddr.localhost(50051)).serve(services^)

    `unary` and `stream` add methods, before it serves. What `flare proto` makes
    of a service has a function that adds all of its methods. Calls of gRPC come over HTTP/2 alone: over TLS, or as the client
    begins; those of gRPC-Web and Connect over HTTP/1.1, too.
    """

    comptime Inner = AnyHandler
    """The inner handler's type."""
    # Passed by its address, not by its fields.
    var _padding: Padding[128]
    var handler: AnyHandler
    """What answers requests that are not gRPC."""
    var config: GrpcConfig
    """Bounds of messages, and how replies are written."""
    var _methods: OwnedPointer[MethodTable]
    var _interceptors: Interceptors
    var _threads: Optional[CallThreads]
    var _described: ArcPointer[Described]
    var _json: ArcPointer[ProtobufJson]
    # What ends most calls.
    var _ok: Trailers

    def __init__(out self, config: GrpcConfig = GrpcConfig()):
        """Makes a handler without methods; what is not gRPC is answered with
        404."""
        self = Self(beside=_nothing_else, config=config)

    def __init__(
        out self,
        *,
        var beside: AnyHandler,
        config: GrpcConfig = GrpcConfig(),
    ):
        """Makes a handler without methods beside another one.

        Args:
            beside: What answers requests that are not gRPC, such as a router.
        """
        self._padding = {}
        self.handler = beside^
        self.config = config
        self._methods = OwnedPointer(MethodTable())
        self._interceptors = Interceptors()
        self._threads = _make_threads(config.stream_threads)
        self._described = ArcPointer(Described())
        self._json = ArcPointer(ProtobufJson())
        self._ok = trailers_of(GrpcStatus(), Metadata())
        # A caller may know more than this program, as with octets.
        self._json[].ignores_unknown = True

    @no_inline
    def __deinit__(deinit self):
        return

    def json(ref self) -> ref[self._json[]] ProtobufJson:
        """Lends what is chosen about messages in JSON; to be changed before the
        services are served. Members that are not known are left out; types that
        an `Any` may hold are to be added."""
        return self._json[]

    def intercept[I: GrpcInterceptor](mut self, var interceptor: I):
        """Adds what is done before and after every call; the first one that is
        added is outermost.

        Parameters:
            I: Its type.

        Args:
            interceptor: The interceptor.
        """
        self._interceptors.add(interceptor^)

    def unary[
        Request: Message,
        Reply: Message,
        //,
        function: UnaryFunction[Request, Reply],
    ](
        mut self,
        var path: String,
        *,
        may_block: Bool = True,
        is_safe: Bool = False,
    ) raises:
        """Adds a plain function that answers a request with a reply.

        Parameters:
            Request: What the caller sends.
            Reply: What it gets.
            function: `def f(request: Request, mut call: GrpcCall) raises
                GrpcStatus -> Reply`.

        Args:
            path: Such as `/package.Service/Method`.
            may_block: False if it never takes long; see
                `RequestPolicy.blocks`.
            is_safe: Whether it only reads, so that callers of Connect may use
                GET (RFC 9110 section 9.2.1); `NO_SIDE_EFFECTS` of a `.proto`.

        Raises:
            Error: If this is no path, or has a method.
        """
        self.unary_method[without_service[function]](
            path^, ArcPointer(NoService()), may_block=may_block, is_safe=is_safe
        )

    def stream[
        S: GrpcStream, //, function: StreamFunction[S]
    ](mut self, kind: GrpcKind, var path: String) raises:
        """Adds a plain function that makes the machine of a call with a stream;
        the rest is as for `unary`.

        Parameters:
            S: The machine.
            function: `def f(mut call: GrpcCall) raises GrpcStatus -> S`.

        Args:
            kind: Which sides are streams.
        """
        self.stream_method[
            stream_without_service[function], S.Request, S.Reply
        ](kind, path^, ArcPointer(NoService()))

    def unary_method[
        Service: Movable & Deinitable,
        Request: Message,
        Reply: Message,
        //,
        method: UnaryMethod[Service, Request, Reply],
    ](
        mut self,
        var path: String,
        service: ArcPointer[Service],
        *,
        may_block: Bool = True,
        is_safe: Bool = False,
    ) raises:
        """Adds a method of a service, as generated code does; the rest is as
        for `unary`.

        Parameters:
            Service: The service's type.
            method: What is called.

        Args:
            service: The service, shared by its methods and all threads.
        """
        var kept = self._methods[].keep(service)
        self._add(
            Method(
                path^,
                GrpcKind.UNARY,
                may_block,
                is_safe,
                kept,
                call_method[method],
                None,
            )
        )

    def stream_method[
        Service: Movable & Deinitable,
        S: GrpcStream,
        //,
        method: StreamMethod[Service, S],
        Request: Message,
        Reply: Message,
    ](
        mut self,
        kind: GrpcKind,
        var path: String,
        service: ArcPointer[Service],
    ) raises:
        """Adds a method of a service that has a stream, as generated code does;
        the rest is as for `unary`.

        Parameters:
            S: The machine of a call.
            Request: What the machine takes.
            Reply: What it replies with.
        """
        comptime assert S.Request == Request, (
            "the machine of this method takes other messages than the method:"
            " see the trait of the service"
        )
        comptime assert S.Reply == Reply, (
            "the machine of this method replies with other messages than the"
            " method: see the trait of the service"
        )
        var kept = self._methods[].keep(service)
        self._add(
            Method(path^, kind, False, False, kept, None, begin_method[method])
        )

    def _add(mut self, var method: Method) raises:
        var path = method.path
        self._methods[].add(method^)
        var octets = path.as_bytes()
        var name = octets.between(1, name_offset(octets) - 1)
        self._described[].add_service(StringSpan(unsafe_from_utf8=name))

    def describe(mut self, service: StringSpan, files: StaticString):
        """Keeps what describes a service for `flare.grpc.reflection`, as generated
        code does; nothing is read of it before somebody asks.

        Args:
            service: The full name, which is listed, too, if it has no method.
            files: A `FileDescriptorSet` in base64, where ends of lines do not
                count: the service's file and all that it imports.
        """
        self._described[].add_service(service)
        self._described[].files.append(files)

    def serve(self, req: Request) raises -> Response:
        """Answers a call, or lets the handler beside answer.

        Args:
            req: The request.

        Raises:
            Error: What the handler beside raises.
        """
        var asked = self._plain_call(req)
        if unlikely(asked.index < 0):
            asked = self._asked(req)
            if asked.is_beside:
                return self.handler.serve(req)
            var refusal = self._refusal(req, asked)
            if refusal != _Refusal.NONE:
                return self._refuse(req, asked, refusal)
        ref method = self._methods[].at(asked.index)
        var protocol = asked.protocol
        # SAFETY: the request outlives the method, or `keep_metadata`.
        var call = GrpcCall(
            method.path,
            req.peer,
            req.headers.unsafe_outliving[ImmUntrackedOrigin](),
            req._cancel,
            send_len_max=self.config.send_len_max,
            protocol=protocol,
        )
        ref storage = req.route_params()[]
        call.out = storage.spare.take_room()
        if protocol.codec() == MessageCodec.JSON:
            call._json = self._json.copy()
        var query = _Query(None)
        if asked.is_by_get:
            query = OwnedPointer(ConnectQuery(req.query.as_bytes()))
        var coding: MessageCoding
        try:
            coding = _begin(req, call, query, self.config)
        except status:
            return _with_codings(protocol, status)
        if method.kind != GrpcKind.UNARY:
            return self._answer_stream(req, method, call, coding)
        swap(call._room, storage.spare_octets)
        # What may fail makes no response: one that comes out of it is moved
        # field by field.
        try:
            self._run_unary(req, method, call, query, coding)
        except raised:
            return self._fail(call, raised)
        if call._room.capacity() <= _KEPT_LEN_MAX:
            swap(call._room, storage.spare_octets)
        ref spare = storage.spare
        if (
            not protocol.has_trailers()
            or not says_ok_alone(call)
            or not self._interceptors.is_empty()
        ):
            return self._respond(call, spare)
        return ok_alone(call, self._ok, spare)

    @no_inline
    def _respond(self, mut call: GrpcCall, mut spare: SpareContent) -> Response:
        """Answers a unary call whose reply there is."""
        try:
            var response = unary_response(call, self._ok, spare)
            self._interceptors.after(call, GrpcStatus())
            return response^
        except:
            return self._fail(call, head_too_long())

    @no_inline
    def _fail(self, call: GrpcCall, raised: GrpcStatus) -> Response:
        """Answers a call that has failed."""
        var status = failure_of(raised, call)
        log_status(call.path, status)
        self._interceptors.after(call, status)
        return status_alone(
            call.protocol(), status, call.headers, call.trailers
        )

    @always_inline
    def _plain_call(self, req: Request) -> _Asked:
        """Finds out what a request is if that is what most are: a call of gRPC,
        by its usual content type, of a method that there is. `_asked` says the
        same of it, and `_refusal` nothing; of others the index is -1."""
        var index = -1
        if (
            req.method == HttpMethod.POST
            and req.version.major >= 2
            and _has_plain_type(req)
        ):
            index = self._methods[].find(req.path.as_bytes())
        return _Asked(index, CallProtocol.GRPC, True, False, False)

    @no_inline
    def _asked(self, req: Request) -> _Asked:
        """Finds out what a request is."""
        var index = self._methods[].find(req.path.as_bytes())
        var asked = _Asked(index, CallProtocol.GRPC, False, False, False)
        var type = req.headers.find("content-type")
        if type >= 0:
            asked.take(
                CallProtocol.of_content_type(req.headers.value_bytes(type))
            )
        asked.is_by_get = (
            _reads(req.method)
            and index >= 0
            and self._methods[].at(index).is_safe
            and not (asked.has_protocol and asked.protocol.is_framed())
        )
        if asked.is_by_get:
            var query = ConnectQuery(req.query.as_bytes())
            asked.take(CallProtocol.of_query(query.codec))
        # Other handlers have content of these types, too.
        asked.is_beside = index < 0 and (
            not asked.has_protocol
            or (
                not asked.protocol.is_framed()
                and not self._methods[].has_service(req.path.as_bytes())
            )
        )
        return asked

    def _refusal(self, req: Request, asked: _Asked) -> _Refusal:
        """Tells why this cannot be a call of a method, if so."""
        if (
            asked.has_protocol
            and asked.protocol.has_trailers()
            and req.version.major < 2
        ):
            return _Refusal.VERSION
        if req.method != HttpMethod.POST and not asked.is_by_get:
            return _Refusal.METHOD
        if asked.index < 0:
            return _Refusal.PATH
        var kind = self._methods[].at(asked.index).kind
        if not asked.has_protocol or not asked.protocol.takes(kind):
            return _Refusal.TYPE
        return _Refusal.NONE

    @no_inline
    def _refuse(
        self, req: Request, asked: _Asked, refusal: _Refusal
    ) -> Response:
        """Answers what cannot be a call of a method."""
        if refusal == _Refusal.VERSION:
            return _plain(505, "gRPC needs HTTP/2\n")
        if refusal == _Refusal.METHOD:
            return _wrong_method(
                asked.index >= 0 and self._methods[].at(asked.index).is_safe
            )
        if refusal == _Refusal.PATH:
            return _no_method(
                asked.protocol,
                self._methods[].has_service(req.path.as_bytes()),
            )
        return _wrong_type(
            self._methods[].at(asked.index).kind, asked.is_by_get
        )

    @no_inline
    def _answer_stream(
        self,
        req: Request,
        method: Method,
        mut call: GrpcCall,
        coding: MessageCoding,
    ) -> Response:
        """Begins a call with a stream, or refuses it."""
        try:
            self._interceptors.before(call)
            if call.is_late():
                raise late()
            return self._open(req, method, call, coding)
        except raised:
            return self._fail(call, raised)

    def _run_unary(
        self,
        req: Request,
        method: Method,
        mut call: GrpcCall,
        query: _Query,
        coding: MessageCoding,
    ) raises GrpcStatus:
        """Runs a method for its one message, and leaves the reply in the call."""
        self._interceptors.before(call)
        if call.is_late():
            raise late()
        var protocol = call.protocol()
        if protocol.is_text():
            var octets = Buffer()
            var text = TextDecoder()
            if not text.receive(req.body, octets) or not text.is_whole():
                raise no_base64()
            self._run_framed(octets.span(), method, call, coding)
        elif protocol.is_framed():
            if is_one_plain(req.body, self.config.receive_len_max):
                method.run_unary(req.body.after(PREFIX_LEN), call)
            else:
                self._run_framed(req.body, method, call, coding)
        elif query:
            self._run_plain(query.held()[].message(), method, call, coding)
        else:
            self._run_plain(req.body, method, call, coding)
        if call.is_late():
            raise late()

    def _run_framed(
        self,
        content: Span[UInt8, _],
        method: Method,
        mut call: GrpcCall,
        coding: MessageCoding,
    ) raises GrpcStatus:
        """Runs a method for the one message of some content."""
        if len(content) == 0:
            raise too_few()
        if len(content) < PREFIX_LEN:
            raise cut_off(len(content))
        var prefix = read_prefix(content, coding, self.config.receive_len_max)
        var rest = content.after(PREFIX_LEN)
        if len(rest) < prefix.length:
            raise cut_off(len(content))
        if len(rest) > prefix.length:
            raise too_many()
        self._run(rest, prefix.is_packed, method, call)

    def _run_plain(
        self,
        content: Span[UInt8, _],
        method: Method,
        mut call: GrpcCall,
        coding: MessageCoding,
    ) raises GrpcStatus:
        """Runs a method for content without prefixes."""
        var length_max = self.config.receive_len_max
        if len(content) > length_max:
            raise too_long(len(content), length_max)
        # A message of no octets is not compressed, whatever is said of it.
        var is_packed = coding == MessageCoding.GZIP and len(content) > 0
        self._run(content, is_packed, method, call)

    def _run(
        self,
        message: Span[UInt8, _],
        is_packed: Bool,
        method: Method,
        mut call: GrpcCall,
    ) raises GrpcStatus:
        """Runs a method for its one message, which may be compressed."""
        if not is_packed:
            return method.run_unary(message, call)
        var plain = Buffer()
        inflate_message(message, self.config.receive_len_max, plain)
        method.run_unary(plain.span(), call)

    def _open(
        self,
        req: Request,
        method: Method,
        mut call: GrpcCall,
        coding: MessageCoding,
    ) raises GrpcStatus -> Response:
        """Begins a call with a stream."""
        call._threads = self._threads.copy()
        var stream = method.begin_stream(call)
        call.keep_metadata()
        var reader = MessageReader(coding, self.config.receive_len_max)
        var taken = GrpcCall(method.path, req.peer)
        swap(taken, call)
        var open = OpenCall(
            taken^, stream^, reader^, method.kind, self._interceptors
        )
        var is_deferred = Bool(req.extension[DeferredCall]())
        # The call is the stream's from here on, and ends with it.
        try:
            open.receive(req.body)
            if method.kind.takes_stream() and not is_deferred:
                # It is not on the loop of a worker, which could go on with it.
                raise GrpcStatus(
                    GrpcCode.UNAVAILABLE,
                    note="a stream of requests needs an HttpServer",
                )
        except status:
            open.cut_off(status.copy())
            return open^.respond()
        if not is_deferred:
            return open^.respond()
        return _respond_later(req, open^)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives how a call is to be treated: its content arrives while it is
        open, if its requests are a stream; that of others has the bound of one
        message. Of other requests the handler beside says it.

        Args:
            req: The request's head.
        """
        var asked = self._plain_call(req)
        if unlikely(asked.index < 0):
            asked = self._asked(req)
            if asked.is_beside:
                return self.handler.policy_for(req)
            if self._refusal(req, asked) != _Refusal.NONE:
                return RequestPolicy.by_head()
        ref method = self._methods[].at(asked.index)
        if method.kind.takes_stream():
            return RequestPolicy(
                max_body_size=Int.MAX,
                timeout_ms=_HEAD_TIME_MS,
                streams=True,
                defers=True,
            )
        var length_max = self.config.receive_len_max + _SPARE_LEN
        if asked.protocol.is_text():
            length_max = 2 * length_max
        if method.kind != GrpcKind.UNARY:
            return RequestPolicy(
                max_body_size=length_max,
                timeout_ms=_HEAD_TIME_MS,
                defers=True,
            )
        return RequestPolicy(max_body_size=length_max, blocks=method.may_block)

    def claims(self) -> HandlerClaims:
        """Gives what the handler says, and that an answer may come later if a
        method has a stream."""
        return self.handler.claims() | HandlerClaims(
            defers=self._methods[].has_streams()
        )

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Gives an answer of the server in place of a method the status of its
        protocol, beside that of HTTP.

        Args:
            response: The answer.

        Raises:
            Error: What the handler beside raises.
        """
        var asked = self._asked(req)
        if asked.is_beside or not asked.has_protocol:
            return self.handler.refuse(req, response^)
        var code = response.status.code
        return refused_by_server(asked.protocol, _status_of(code), code)


@fieldwise_init
struct _Asked(TrivialRegisterPassable):
    """What a request is."""

    # -1 if there is no such method.
    var index: Int
    # That of the content, or of the query.
    var protocol: CallProtocol
    # False if the content is of no protocol.
    var has_protocol: Bool
    # Whether the query says what is asked, of a method that allows it.
    var is_by_get: Bool
    # Whether it is the other handler's.
    var is_beside: Bool

    @always_inline
    def take(mut self, protocol: Optional[CallProtocol]):
        """Takes over what was found."""
        self.has_protocol = Bool(protocol)
        if protocol:
            self.protocol = protocol.held()


@fieldwise_init
struct _Refusal(Equatable, TrivialRegisterPassable):
    """Why a request cannot be a call of a method."""

    var code: UInt8

    comptime NONE = _Refusal(0)
    comptime VERSION = _Refusal(1)
    comptime METHOD = _Refusal(2)
    comptime PATH = _Refusal(3)
    comptime TYPE = _Refusal(4)


def _make_threads(thread_max: Int) -> Optional[CallThreads]:
    try:
        return CallThreads(thread_max)
    except:
        # Streams that need one are refused then.
        return None


def _nothing_else(req: Request) -> Response:
    return not_found(req.path)


@no_inline
def _plain(status: Int, var text: String) -> Response:
    return Response(status, text^, content_type="text/plain; charset=utf-8")


@no_inline
def _wrong_type(kind: GrpcKind, is_by_get: Bool) -> Response:
    if is_by_get:
        return _plain(
            415, "query: encoding must be there, and be proto or json\n"
        )
    var types = accepted_types(kind)
    var response = _plain(
        415, String("this is a method; the content must be ", types, "\n")
    )
    _set(response, "Accept-Post", types)
    return response^


@no_inline
def _wrong_method(is_safe: Bool) -> Response:
    var response = _plain(405, "a call is a POST\n")
    if is_safe:
        response = _plain(405, "a call is a POST, or a GET of Connect\n")
    _set(response, "Allow", "GET, HEAD, POST" if is_safe else "POST")
    return response^


def _reads(method: HttpMethod) -> Bool:
    """Tells whether a method asks for a representation: HEAD is GET without the
    content, which the server leaves out (RFC 9110 section 9.3.2)."""
    return method == HttpMethod.GET or method == HttpMethod.HEAD


def _set(mut response: Response, name: StaticString, value: StringSpan):
    try:
        response.headers.set(name, value)
    except:
        # Literals and names of types are field values.
        return


@no_inline
def _no_method(protocol: CallProtocol, has_service: Bool) -> Response:
    var status = GrpcStatus(
        GrpcCode.UNIMPLEMENTED,
        "the service has no such method" if has_service else (
            "there is no such service here"
        ),
    )
    if protocol.is_connect():
        return refused_by_server(protocol, status, 404)
    return status_alone(protocol, status, Metadata(), Metadata())


@always_inline
def _has_plain_type(req: Request) -> Bool:
    """Tells whether the content type is that of most calls, and its name in
    lower case, as all are of HTTP/2."""
    comptime NAME = StaticString("content-type")
    for index in range(len(req.headers)):
        var name = req.headers.name(index).as_bytes()
        if len(name) != NAME.byte_length():
            continue
        if same_words(name, NAME.as_bytes()):
            return CallProtocol.is_plain_grpc(req.headers.value_bytes(index))
        if equals_ignore_case(name, NAME.as_bytes()):
            return False
    return False


def _begin(
    req: Request,
    mut call: GrpcCall,
    query: _Query,
    config: GrpcConfig,
) raises GrpcStatus -> MessageCoding:
    """Reads what the head says of the call, and gives the coding of requests."""
    var protocol = call.protocol()
    var is_connect = protocol.is_connect()
    var coding = MessageCoding.IDENTITY
    if query:
        coding = _coding(protocol, query.held()[].coding)
    for index in range(len(req.headers)):
        var name = req.headers.name(index).as_bytes()
        # Most heads have few names that begin so: g, and of Connect c and a, in
        # any case.
        var first = name.at(0) | 32
        if first != 103 and (not is_connect or (first != 99 and first != 97)):
            continue
        var value = req.headers.value_bytes(index)
        if equals_ignore_case(name, protocol.timeout_field().as_bytes()):
            var timeout_ns = protocol.parse_timeout(value)
            if not timeout_ns:
                raise _malformed(protocol, protocol.timeout_rule())
            var now_ns = monotonic_ns()
            if timeout_ns.held() < NEVER - now_ns:
                call._deadline_ns = now_ns + timeout_ns.held()
        elif equals_ignore_case(name, protocol.encoding_field().as_bytes()):
            if not query:
                coding = _coding(protocol, value)
        elif equals_ignore_case(name, protocol.accept_field().as_bytes()):
            # Several lines are one list (RFC 9110 section 5.3).
            if not call._accepts_gzip:
                call._accepts_gzip = accepts_gzip(value)
        elif is_connect and equals_ignore_case(name, VERSION_FIELD.as_bytes()):
            if StringSpan(unsafe_from_utf8=value) != VERSION:
                raise _malformed(protocol, "connect-protocol-version must be 1")
    call.compresses = config.compresses
    return coding


def _coding(
    protocol: CallProtocol, value: Span[UInt8, _]
) raises GrpcStatus -> MessageCoding:
    var named = parse_coding(value)
    if not named:
        raise GrpcStatus(
            GrpcCode.UNIMPLEMENTED,
            String(
                protocol.encoding_field(),
                ": messages are read as identity and gzip here",
            ),
        )
    return named.held()


@no_inline
def _malformed(protocol: CallProtocol, rule: StaticString) -> GrpcStatus:
    if protocol.is_connect():
        return GrpcStatus(GrpcCode.INVALID_ARGUMENT, String(rule))
    return GrpcStatus(GrpcCode.INTERNAL, String(rule))


def _with_codings(protocol: CallProtocol, status: GrpcStatus) -> Response:
    """Refuses what a head says; of a coding that is not read it says what is."""
    var headers = Metadata()
    var response = status_alone(protocol, status, headers, headers)
    if status.code == GrpcCode.UNIMPLEMENTED:
        _set(response, protocol.accept_field(), ACCEPTED_CODINGS)
    return response^


def _respond_later(
    req: Request, var open: OpenCall
) raises GrpcStatus -> Response:
    """Lets the loop go on with a call, which responds when it has something."""
    try:
        ref note = deferred_call(req)[]
        var task = OpenTask.join(note.loop)
        var content = Optional[RequestContent](None)
        swap(content, note.content)
        open.attach(task, content^)
        task[].open = open^
        return later(req, task)
    except error:
        raise GrpcStatus(GrpcCode.UNAVAILABLE, note=String(error))


def _status_of(code: Int) -> GrpcStatus:
    """Says as a status what the server has answered in place of a method."""
    if code == 413:
        return GrpcStatus(
            GrpcCode.RESOURCE_EXHAUSTED,
            "the message is longer than those that are read",
        )
    if code == 431 or code == 414:
        return GrpcStatus(
            GrpcCode.RESOURCE_EXHAUSTED, "the metadata are too long"
        )
    if code == 408:
        return GrpcStatus(
            GrpcCode.DEADLINE_EXCEEDED, "the message did not come in time"
        )
    if code == 503:
        return GrpcStatus(GrpcCode.UNAVAILABLE, "the server is busy")
    return GrpcStatus(GrpcCode.from_http_status(code))
