"""Services of gRPC as a handler of the ordinary server."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.grpc.core.coding import (
    ACCEPTED_CODINGS,
    ACCEPT_ENCODING_FIELD,
    ENCODING_FIELD,
    MessageCoding,
    accepts_gzip,
    parse_coding,
)
from flare.grpc.core.message_reader import (
    MessageReader,
    PREFIX_LEN,
    check_prefix,
    inflate_message,
    read_prefix,
)
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.core.timeout import TIMEOUT_FIELD, parse_timeout
from flare.grpc.server.call import GrpcCall, NO_DEADLINE_NS
from flare.grpc.server.call_threads import CallThreads
from flare.grpc.server.config import GrpcConfig
from flare.grpc.server.described import Described
from flare.grpc.server.interceptor import GrpcInterceptor, Interceptors
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.methods import (
    Method,
    MethodTable,
    StreamFunction,
    StreamMethod,
    UnaryFunction,
    UnaryMethod,
    begin_function,
    begin_method,
    call_function,
    call_method,
)
from flare.grpc.server.open_call import OpenCall, late, too_few, too_many
from flare.grpc.server.reply import (
    CONTENT_TYPE,
    UnaryReply,
    add_head,
    begin_reply,
    log_status,
    status_alone,
    trailers_of,
)
from flare.grpc.server.stream import GrpcStream
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.handler import Handler, HoldsHandler, RequestPolicy
from flare.http.handler.later import deferred_call
from flare.http.message.body import Body
from flare.http.message.method import Method as HttpMethod
from flare.http.message.request import Request
from flare.http.message.response import Response, not_found
from flare.protobuf.message import Message
from flare.sys.clock import monotonic_ns
from std.memory import ArcPointer, OwnedPointer


struct GrpcServices(Handler, HoldsHandler):
    """Answers calls of gRPC, and gives other requests to another handler.

        var services = GrpcServices()
        HttpServer.bind(SocketAddr.localhost(50051)).serve(services^)

    `unary` and `stream` add methods before. What `flare proto` makes of a service has a function that adds all of its
    methods. Calls come over HTTP/2 alone: over TLS, or as the client begins.
    """

    comptime Inner = AnyHandler
    """The inner handler's type."""
    var handler: AnyHandler
    """What answers requests that are not gRPC."""
    var config: GrpcConfig
    """Bounds of messages, and how replies are written."""
    var _methods: OwnedPointer[MethodTable]
    var _interceptors: Interceptors
    var _threads: Optional[CallThreads]
    var _described: ArcPointer[Described]

    def __init__(out self, config: GrpcConfig = GrpcConfig()):
        """Makes a handler without methods; what is not gRPC is answered with
        404.

        Args:
            config: Bounds of messages.
        """
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
            config: Bounds of messages.
        """
        self.handler = beside^
        self.config = config
        self._methods = OwnedPointer(MethodTable())
        self._interceptors = Interceptors()
        self._threads = _make_threads(config.stream_threads)
        self._described = ArcPointer(Described())

    def intercept[I: GrpcInterceptor](mut self, var interceptor: I):
        """Adds what is done before and behind every call; the first one that is
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
    ](mut self, var path: String, *, may_block: Bool = True) raises:
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

        Raises:
            Error: If this is no path, or has a method.
        """
        # SAFETY: the function has no service, and reads none.
        self._add(
            Method(
                path^,
                GrpcKind.UNARY,
                may_block,
                _no_service(),
                call_function[function],
                None,
            )
        )

    def stream[
        S: GrpcStream, //, function: StreamFunction[S]
    ](mut self, kind: GrpcKind, var path: String) raises:
        """Adds a plain function that makes the machine of a call with a stream.

        Parameters:
            S: The machine.
            function: `def f(mut call: GrpcCall) raises GrpcStatus -> S`.

        Args:
            kind: Which sides are streams.
            path: Such as `/package.Service/Method`.

        Raises:
            Error: If this is no path, or has a method.
        """
        # SAFETY: as for `unary`.
        self._add(
            Method(
                path^,
                kind,
                False,
                _no_service(),
                None,
                begin_function[function],
            )
        )

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
    ) raises:
        """Adds a method of a service, as generated code does.

        Parameters:
            Service: The service's type.
            Request: What the caller sends.
            Reply: What it gets.
            method: What is called.

        Args:
            path: Such as `/package.Service/Method`.
            service: The service, shared by its methods and all threads.
            may_block: As for `unary`.

        Raises:
            Error: If this is no path, or has a method.
        """
        var kept = self._methods[].keep(service)
        self._add(
            Method(
                path^,
                GrpcKind.UNARY,
                may_block,
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
        """Adds a method of a service that has a stream, as generated code does.

        Parameters:
            Service: The service's type.
            S: The machine of a call.
            method: What is called.
            Request: What the machine takes.
            Reply: What it replies with.

        Args:
            kind: Which sides are streams.
            path: Such as `/package.Service/Method`.
            service: The service, shared by its methods and all threads.

        Raises:
            Error: If this is no path, or has a method.
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
        self._add(Method(path^, kind, False, kept, None, begin_method[method]))

    def _add(mut self, var method: Method) raises:
        var path = method.path
        self._methods[].add(method^)
        self._described[].add_method(path)

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

        Returns:
            The response.

        Raises:
            Error: What the handler beside raises.
        """
        if not _is_grpc(req):
            if self._methods[].find(req.path.as_bytes()) < 0:
                return self.handler.serve(req)
            return _wrong_type()
        var refused = _refused_by_http(req)
        if refused:
            return refused.take()
        var index = self._methods[].find(req.path.as_bytes())
        if index < 0:
            return status_alone(
                _unknown(self._methods[].has_service(req.path.as_bytes())),
                Metadata(),
            )
        ref method = self._methods[].at(index)
        # SAFETY: the request outlives the method, or `keep_metadata`.
        var call = GrpcCall(
            method.path,
            req.peer,
            req.headers.unsafe_outliving[ImmUntrackedOrigin](),
            req._cancel,
            send_len_max=self.config.send_len_max,
        )
        var coding: MessageCoding
        try:
            coding = _begin(req, call, self.config)
        except status:
            return _with_codings(status_alone(status, Metadata()), status)
        try:
            return self._answer(req, method, call, coding)
        except status:
            log_status(method.path, status)
            self._interceptors.after(call, status)
            return status_alone(status, call.trailers)

    def _answer(
        self,
        req: Request,
        method: Method,
        mut call: GrpcCall,
        coding: MessageCoding,
    ) raises GrpcStatus -> Response:
        self._interceptors.before(call)
        if call.is_late():
            raise late()
        if method.kind == GrpcKind.UNARY:
            return self._answer_unary(req, method, call, coding)
        return self._open(req, method, call, coding)

    def _answer_unary(
        self,
        req: Request,
        method: Method,
        mut call: GrpcCall,
        coding: MessageCoding,
    ) raises GrpcStatus -> Response:
        var length_max = self.config.receive_len_max
        if len(req.body) == 0:
            raise too_few()
        if len(req.body) < PREFIX_LEN:
            raise _cut(len(req.body))
        var prefix = read_prefix(req.body)
        check_prefix(prefix, coding, length_max)
        var rest = req.body.after(PREFIX_LEN)
        if len(rest) < prefix.length:
            raise _cut(len(req.body))
        if len(rest) > prefix.length:
            raise too_many()
        if prefix.flag == 1:
            var plain = Buffer()
            inflate_message(rest, length_max, plain)
            method.run_unary(plain.span(), call)
        else:
            method.run_unary(rest, call)
        if call.is_late():
            raise late()
        var status = GrpcStatus()
        var message = Buffer(0)
        swap(message, call.out)
        var response = _begin_reply(
            call, UnaryReply(message^, trailers_of(status, call.trailers))
        )
        self._interceptors.after(call, status)
        return response^

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
        reader.receive(req.body)
        var taken = GrpcCall(method.path, req.peer)
        swap(taken, call)
        var open = OpenCall(
            taken^, stream^, reader^, method.kind, self._interceptors
        )
        if method.kind.takes_stream():
            _await_content(req, open)
        return _begin_open(open^)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Says how a call is to be treated; of other requests the handler
        beside says it.

        Args:
            req: The request's head.

        Returns:
            Content that arrives while the call is open, for a stream of
            requests; the bound of one message for others.
        """
        var index = self._methods[].find(req.path.as_bytes())
        if not _is_grpc(req):
            if index < 0:
                return self.handler.policy_for(req)
            return RequestPolicy.by_head()
        if index < 0 or req.version.major < 2:
            return RequestPolicy.by_head()
        ref method = self._methods[].at(index)
        if method.kind.takes_stream():
            return RequestPolicy(
                max_body_size=Int.MAX, streams=True, defers=True
            )
        return RequestPolicy(
            max_body_size=self.config.receive_len_max + PREFIX_LEN,
            blocks=method.may_block,
        )

    def may_defer(self) -> Bool:
        """Tells whether some answer comes later.

        Returns:
            True if a method takes a stream of requests.
        """
        return self._methods[].takes_streams() or self.handler.may_defer()

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Gives an answer of the server in place of a method its status of
        gRPC.

        Args:
            req: What is known of the request.
            response: The answer.

        Returns:
            The answer, with a status beside that of HTTP.

        Raises:
            Error: What the handler beside raises.
        """
        if not _is_grpc(req):
            return self.handler.refuse(req, response^)
        var status = _status_of(response.status.code)
        var answer = status_alone(status, Metadata())
        answer.status = response.status
        return answer^


def _make_threads(thread_max: Int) -> Optional[CallThreads]:
    try:
        return CallThreads(thread_max)
    except:
        # Streams that need one are refused then.
        return None


def _nothing_else(req: Request) -> Response:
    return not_found(req.path)


def _no_service() -> Pointer[NoneType, MutUntrackedOrigin]:
    # SAFETY: never read: a function has no service.
    comptime NOWHERE = StaticString(" ")
    return (
        NOWHERE.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )


def _is_grpc(req: Request) -> Bool:
    """Tells whether the content is messages of Protocol Buffers in gRPC."""
    var found = req.headers.find("content-type")
    if found < 0:
        return False
    var type = req.headers.value_bytes(found)
    if same_octets(type, CONTENT_TYPE.as_bytes()):
        return True
    var length = CONTENT_TYPE.byte_length()
    if len(type) < length or not equals_ignore_case(
        type.before(length), CONTENT_TYPE.as_bytes()
    ):
        return False
    var rest = StringSpan(unsafe_from_utf8=type.after(length))
    if rest.startswith("+proto"):
        rest = StringSpan(unsafe_from_utf8=type.after(length + 6))
    return rest == "" or rest.startswith(";") or rest.startswith(" ")


@no_inline
def _wrong_type() -> Response:
    return Response(
        415,
        "this is a method of gRPC: the content must be application/grpc\n",
        content_type="text/plain; charset=utf-8",
    )


def _refused_by_http(req: Request) -> Optional[Response]:
    """Answers what cannot be a call, by a status of HTTP."""
    if req.version.major < 2:
        return Response(
            505,
            "gRPC needs HTTP/2\n",
            content_type="text/plain; charset=utf-8",
        )
    if req.method != HttpMethod.POST:
        var response = Response(
            405,
            "a call of gRPC is a POST\n",
            content_type="text/plain; charset=utf-8",
        )
        try:
            response.headers.set("Allow", "POST")
        except:
            # A literal is a field value.
            pass
        return response^
    return None


@no_inline
def _unknown(has_service: Bool) -> GrpcStatus:
    if has_service:
        return GrpcStatus(
            GrpcCode.UNIMPLEMENTED, "the service has no such method"
        )
    return GrpcStatus(GrpcCode.UNIMPLEMENTED, "there is no such service here")


@no_inline
def _cut(length: Int) -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL,
        String("the stream ends ", length, " bytes into a message"),
    )


def _begin(
    req: Request, mut call: GrpcCall, config: GrpcConfig
) raises GrpcStatus -> MessageCoding:
    """Reads what the head says of the call, and gives the coding of requests."""
    var coding = MessageCoding.IDENTITY
    var accepted = False
    for index in range(len(req.headers)):
        var name = req.headers.name(index)
        # Most heads have few names that begin so.
        if name.as_bytes().at(0) != 103:
            continue
        var value = req.headers.value_bytes(index)
        if name == TIMEOUT_FIELD:
            var timeout_ns = parse_timeout(value)
            if not timeout_ns:
                raise GrpcStatus(
                    GrpcCode.INTERNAL,
                    "grpc-timeout: write up to 8 digits and one of H, M, S, m,"
                    " u, n",
                )
            var now_ns = monotonic_ns()
            if timeout_ns.held() < NO_DEADLINE_NS - now_ns:
                call._deadline_ns = now_ns + timeout_ns.held()
        elif name == ENCODING_FIELD:
            var named = parse_coding(value)
            if not named:
                raise GrpcStatus(
                    GrpcCode.UNIMPLEMENTED,
                    "grpc-encoding: messages are read as identity and gzip"
                    " here",
                )
            coding = named.held()
        elif name == ACCEPT_ENCODING_FIELD:
            accepted = accepts_gzip(value)
    call._accepts_gzip = accepted
    call.compresses = config.compresses
    return coding


def _with_codings(var response: Response, status: GrpcStatus) -> Response:
    """Says what is read, behind a coding that is not."""
    if status.code != GrpcCode.UNIMPLEMENTED:
        return response^
    try:
        response.headers.append(ACCEPT_ENCODING_FIELD, ACCEPTED_CODINGS)
    except:
        # The head is full of what is said otherwise.
        pass
    return response^


def _begin_reply(
    call: GrpcCall, var reply: UnaryReply
) raises GrpcStatus -> Response:
    try:
        return begin_reply(call, reply^)
    except:
        raise _head_too_long()


def _begin_open(var open: OpenCall) raises GrpcStatus -> Response:
    """Makes the response of a call with a stream."""
    var response = Response(200, "", content_type=CONTENT_TYPE)
    try:
        add_head(response.headers, open.call)
    except:
        raise _head_too_long()
    response.body = Body(open^)
    return response^


@no_inline
def _head_too_long() -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL, note="the metadata of the head are too long"
    )


def _await_content(req: Request, mut open: OpenCall) raises GrpcStatus:
    """Takes requests that go on arriving behind the head."""
    try:
        ref note = deferred_call(req)[]
        if note.content:
            open.await_content(note.content.take(), note.loop)
    except error:
        raise GrpcStatus(GrpcCode.UNAVAILABLE, note=String(error))


def _status_of(code: Int) -> GrpcStatus:
    """Says in gRPC what the server has answered in place of a method."""
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
