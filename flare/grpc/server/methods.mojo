"""The methods of services: paths, kinds, and the functions that are called."""

from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.bytes.compare import same_short
from flare.bytes.erased import Erased, ErasedBox
from flare.bytes.scan import load64
from flare.bytes.text import Text
from flare.grpc.core.method_path import is_method_path, name_offset
from flare.grpc.core.status import GrpcStatus
from flare.grpc.server.call import GrpcCall, read_request, write_reply
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.stream import AnyStream, GrpcStream
from flare.protobuf.message import Message, swap_octets
from std.memory import ArcPointer

comptime UnaryCall = def(
    Erased, Span[UInt8, ImmUntrackedOrigin], mut GrpcCall
) thin raises GrpcStatus -> None
"""Answers a request, which is lent, with a reply that it writes."""

comptime StreamCall = def(
    Erased, mut GrpcCall
) thin raises GrpcStatus -> AnyStream
"""Makes the stream of a call."""

comptime UnaryFunction[Request: Message, Reply: Message] = def(
    Request, mut GrpcCall
) thin raises GrpcStatus -> Reply
"""A method without a service.

Parameters:
    Request: What the caller sends.
    Reply: What it gets.
"""

comptime StreamFunction[S: GrpcStream] = def(
    mut GrpcCall
) thin raises GrpcStatus -> S
"""A method without a service that takes or gives a stream.

Parameters:
    S: The machine of one call.
"""

comptime UnaryMethod[
    Service: Movable & Deinitable, Request: Message, Reply: Message
] = def(Service, Request, mut GrpcCall) thin raises GrpcStatus -> Reply
"""A method of a service.

Parameters:
    Service: The service.
    Request: What the caller sends.
    Reply: What it gets.
"""

comptime StreamMethod[Service: Movable & Deinitable, S: GrpcStream] = def(
    Service, mut GrpcCall
) thin raises GrpcStatus -> S
"""A method of a service that takes or gives a stream.

Parameters:
    Service: The service.
    S: The machine of one call.
"""


struct NoService(Defaultable, Movable):
    """Stands in place of a service where a method is a function."""

    pass


@always_inline
def without_service[
    Request: Message,
    Reply: Message,
    //,
    function: UnaryFunction[Request, Reply],
](
    service: NoService, request: Request, mut call: GrpcCall
) raises GrpcStatus -> Reply:
    return function(request, call)


@always_inline
def stream_without_service[
    S: GrpcStream, //, function: StreamFunction[S]
](service: NoService, mut call: GrpcCall) raises GrpcStatus -> S:
    return function(call)


def call_method[
    Service: Movable & Deinitable,
    Request: Message,
    Reply: Message,
    //,
    method: UnaryMethod[Service, Request, Reply],
](
    service: Erased,
    octets: Span[UInt8, ImmUntrackedOrigin],
    mut call: GrpcCall,
) raises GrpcStatus:
    # SAFETY: `MethodTable.keep` made the pointer from such a service, and
    # keeps it.
    ref held = service.unsafe_bitcast[Service]()[]
    var request = Request()
    swap_octets(request, call._room)
    read_request(request, octets, call)
    var reply = method(held, request, call)
    swap_octets(request, call._room)
    write_reply(call, reply)


def begin_method[
    Service: Movable & Deinitable,
    S: GrpcStream,
    //,
    method: StreamMethod[Service, S],
](service: Erased, mut call: GrpcCall) raises GrpcStatus -> AnyStream:
    # SAFETY: as for `call_method`.
    ref held = service.unsafe_bitcast[Service]()[]
    return AnyStream(method(held, call))


@fieldwise_init
struct Method(Copyable, Movable):
    """One method."""

    var path: String
    var kind: GrpcKind
    var may_block: Bool
    # Whether it may be called by GET (RFC 9110 section 9.2.1).
    var is_safe: Bool
    # SAFETY: the table owns the service; the function was made for its type.
    var service: Erased
    var unary: Optional[UnaryCall]
    var stream: Optional[StreamCall]

    def run_unary(
        self, octets: Span[UInt8, _], mut call: GrpcCall
    ) raises GrpcStatus:
        """Answers a request with a reply that the call has then."""
        # SAFETY: the loan ends with the call.
        self.unary.held()(
            self.service,
            unsafe_lend[ImmUntrackedOrigin](octets.unsafe_ptr(), len(octets)),
            call,
        )

    def begin_stream(self, mut call: GrpcCall) raises GrpcStatus -> AnyStream:
        return self.stream.held()(self.service, call)


struct MethodTable(Defaultable, Movable, Sized):
    """Methods in the order of their paths, and places by what `_hash` gives."""

    var _methods: List[Method]
    # Counted pointers.
    var _services: List[ErasedBox]
    # One and more of an index each, 0 for none: at least twice as many places as
    # methods, a power of two. A path stands at its hash or after it.
    var _places: List[Int]

    def __len__(self) -> Int:
        return len(self._methods)

    def keep[
        S: Movable & Deinitable
    ](mut self, service: ArcPointer[S]) -> Erased:
        """Keeps a service for its methods; gives its address."""
        self._services.append(ErasedBox(service.copy()))
        # SAFETY: the counted pointer that is kept owns the service.
        return (
            Pointer(to=service[])
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )

    def add(mut self, var method: Method) raises:
        """Adds a method. Raises if its path is no path of gRPC, or is there."""
        _check_path(method.path)
        var index = self._place(method.path.as_bytes())
        if index < len(self._methods) and (
            self._methods.at(index).path == method.path
        ):
            raise Error("the method ", method.path, " is there twice")
        self._methods.insert(index, method^)
        self._hash_all()

    def _hash_all(mut self):
        var count = 4
        while count < 2 * len(self._methods):
            count *= 2
        self._places = List[Int](length=count, fill=0)
        for index in range(len(self._methods)):
            var place = _hash(self._methods.at(index).path.as_bytes())
            while self._places.at(place & (count - 1)) != 0:
                place += 1
            self._places.at(place & (count - 1)) = index + 1

    @always_inline
    def find(self, path: Span[UInt8, _]) -> Int:
        """Finds a method's index; -1 if there is none of this path."""
        if len(self._places) == 0:
            return -1
        var place = _hash(path)
        while True:
            var index = self._places.at(place & (len(self._places) - 1)) - 1
            if index < 0 or same_short(
                self._methods.at(index).path.as_bytes(), path
            ):
                return index
            # Some place is empty, since half of them are.
            place += 1

    def at(ref self, index: Int) -> ref[self._methods[0]] Method:
        return self._methods.at(index)

    def has_service(self, path: Span[UInt8, _]) -> Bool:
        """Tells whether another path, too, is of that service."""
        var end = name_offset(path)
        var index = self._place(path.before(end))
        if index >= len(self._methods):
            return False
        var next = self._methods.at(index).path.as_bytes()
        return (
            end > 1
            and len(next) > end
            and _compare(next.before(end), path.before(end)) == 0
        )

    def has_streams(self) -> Bool:
        for index in range(len(self._methods)):
            if self._methods.at(index).kind != GrpcKind.UNARY:
                return True
        return False

    def _place(self, path: Span[UInt8, _]) -> Int:
        """Finds the first method whose path is not before one."""
        var low = 0
        var high = len(self._methods)
        while low < high:
            var middle = (low + high) // 2
            if _compare(self._methods.at(middle).path.as_bytes(), path) < 0:
                low = middle + 1
            else:
                high = middle
        return low


def _hash(path: Span[UInt8, _]) -> Int:
    """Mixes the length and the last octets, in which paths differ; who knows it
    can have a few compared that are there, and add none."""
    var length = len(path)
    var word = UInt64(0)
    if length >= 8:
        # SAFETY: the last eight octets lie within.
        word = load64(
            path.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            length - 8,
        )
    else:
        for octet in path:
            word = word << 8 | UInt64(octet)
    return Int(((word ^ UInt64(length)) * 0x9E37_79B9_7F4A_7C15) >> 40)


def _compare(left: Span[UInt8, _], right: Span[UInt8, _]) -> Int:
    """Orders octets; below 0 if the left ones come first."""
    for index in range(min(len(left), len(right))):
        if left.at(index) != right.at(index):
            return Int(left.at(index)) - Int(right.at(index))
    return len(left) - len(right)


def _check_path(path: String) raises:
    """Checks a path that a program gives."""
    if not is_method_path(path.as_bytes()):
        raise Error(
            Text()
            .add("'")
            .add_escaped(path.as_bytes())
            .add("' is no path of a method; write '/package.Service/Method'")
            .end()
        )
