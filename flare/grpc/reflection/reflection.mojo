"""The reflection service: which services there are, and what describes them."""

from flare.bytes.checked import *
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.reflection.index import DescriptorIndex
from flare.grpc.reflection.messages import (
    ErrorResponse,
    ExtensionNumberResponse,
    FileDescriptorResponse,
    ListServiceResponse,
    ServerReflectionRequest,
    ServerReflectionResponse,
    ServiceResponse,
)
from flare.grpc.reflection.own_files import V1ALPHA_FILE, V1_FILE
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.described import Described
from flare.grpc.server.services import GrpcServices
from flare.grpc.server.stream import GrpcStream, Replies
from flare.sys.mutex import Mutex
from std.memory import ArcPointer

comptime _NAME_LEN_MAX = 1024
# Longest name that is looked for, in bytes; an answer repeats it.


struct _Known(Movable):
    """What is described, put in order when somebody first asks."""

    var described: ArcPointer[Described]
    var index: Optional[DescriptorIndex]

    def __init__(out self, described: ArcPointer[Described]):
        self.described = described.copy()
        self.index = None

    def answer(
        mut self, request: ServerReflectionRequest, mut sent: List[Bool]
    ) raises GrpcStatus -> ServerReflectionResponse:
        """Answers a request; files that were sent are not sent again with those
        that import them."""
        var response = ServerReflectionResponse()
        if request.list_services:
            response.list_services_response = _services(self.described[])
            return response^
        if not self.index:
            self.index = _index_of(self.described[])
        ref index = self.index.held()
        if request.file_by_filename:
            var file = index.file(request.file_by_filename.held())
            _add_files(response, index, file, sent)
        elif request.file_containing_symbol:
            var file = index.file_of(request.file_containing_symbol.held())
            _add_files(response, index, file, sent)
        elif request.file_containing_extension:
            ref wanted = request.file_containing_extension.held()
            var file = index.file_of_extension(
                wanted.containing_type, wanted.extension_number
            )
            _add_files(response, index, file, sent)
        elif request.all_extension_numbers_of_type:
            ref extended = request.all_extension_numbers_of_type.held()
            if index.file_of(extended) < 0:
                response.error_response = _not_described()
                return response^
            var numbers = ExtensionNumberResponse()
            numbers.base_type_name = extended
            numbers.extension_number = index.extension_numbers(extended)
            response.all_extension_numbers_response = numbers^
        else:
            raise GrpcStatus(
                GrpcCode.INVALID_ARGUMENT, "the request asks for nothing known"
            )
        return response^


def _index_of(described: Described) raises GrpcStatus -> DescriptorIndex:
    var index = DescriptorIndex()
    try:
        for place in range(len(described.files)):
            index.add_set(described.files.at(place))
    except error:
        raise GrpcStatus(
            GrpcCode.INTERNAL,
            "what describes the services cannot be read",
            note=String(error),
        )
    return index^


def _services(described: Described) -> ListServiceResponse:
    var names = described.services.copy()
    sort(names)
    var response = ListServiceResponse()
    for index in range(len(names)):
        var service = ServiceResponse()
        service.name = names.at(index)
        response.service.append(service^)
    return response^


def _add_files(
    mut response: ServerReflectionResponse,
    index: DescriptorIndex,
    file: Int,
    mut sent: List[Bool],
):
    """Answers with a file and with what it imports, straight or not, as far as
    that was not sent."""
    if file < 0:
        response.error_response = _not_described()
        return
    sent.resize(index.file_count(), False)
    var files = FileDescriptorResponse()
    var waiting: List[Int] = [file]
    # What is asked for is sent in any case.
    sent.at(file) = False
    var next = 0
    while next < len(waiting):
        var place = waiting.at(next)
        next += 1
        if sent.at(place):
            continue
        sent.at(place) = True
        files.file_descriptor_proto.append(index.octets(place).copy())
        waiting.extend(index.imports(place))
    response.file_descriptor_response = files^


def _not_described() -> ErrorResponse:
    var error = ErrorResponse()
    error.error_code = Int32(GrpcCode.NOT_FOUND.number)
    error.error_message = "no file that describes this is known here"
    return error^


@fieldwise_init
struct _Reflection(Movable):
    var known: Mutex[_Known]

    def info(self, mut call: GrpcCall) raises GrpcStatus -> _Answering:
        return _Answering(self.known)


struct _Answering(GrpcStream):
    """Answers one request after the other."""

    comptime Request = ServerReflectionRequest
    comptime Reply = ServerReflectionResponse
    var _known: Mutex[_Known]
    # Which files the caller has, in their order.
    var _sent: List[Bool]

    def __init__(out self, known: Mutex[_Known]):
        self._known = known
        self._sent = []

    def on_message(
        mut self,
        var request: ServerReflectionRequest,
        mut replies: Replies[ServerReflectionResponse],
    ) raises GrpcStatus:
        if _longest(request) > _NAME_LEN_MAX:
            raise GrpcStatus(
                GrpcCode.INVALID_ARGUMENT, "the name is longer than any here"
            )
        var response = self._known.lock()[].answer(request, self._sent)
        request.unknown_fields = []
        response.valid_host = request.host
        response.original_request = request^
        replies.send(response)


def _longest(request: ServerReflectionRequest) -> Int:
    """Counts the octets of the longest text in a request."""
    var longest = request.host.byte_length()
    if request.file_by_filename:
        longest = max(longest, request.file_by_filename.held().byte_length())
    if request.file_containing_symbol:
        longest = max(
            longest, request.file_containing_symbol.held().byte_length()
        )
    if request.file_containing_extension:
        ref wanted = request.file_containing_extension.held()
        longest = max(longest, wanted.containing_type.byte_length())
    if request.all_extension_numbers_of_type:
        longest = max(
            longest, request.all_extension_numbers_of_type.held().byte_length()
        )
    if request.list_services:
        longest = max(longest, request.list_services.held().byte_length())
    return longest


def add_reflection(mut services: GrpcServices) raises:
    """Adds the services `grpc.reflection.v1.ServerReflection` and
    `grpc.reflection.v1alpha.ServerReflection`, which tell anybody who asks what
    there is: methods that are added before or after this.

    Args:
        services: Gets their methods.

    Raises:
        Error: If they are there already.
    """
    var shared = ArcPointer(_Reflection(Mutex(_Known(services._described))))
    comptime V1 = StaticString("grpc.reflection.v1.ServerReflection")
    comptime V1ALPHA = StaticString("grpc.reflection.v1alpha.ServerReflection")
    services.describe(V1, V1_FILE)
    services.describe(V1ALPHA, V1ALPHA_FILE)
    services.stream_method[
        _Reflection.info, ServerReflectionRequest, ServerReflectionResponse
    ](
        GrpcKind.BIDI_STREAM,
        String("/", V1, "/ServerReflectionInfo"),
        shared,
    )
    services.stream_method[
        _Reflection.info, ServerReflectionRequest, ServerReflectionResponse
    ](
        GrpcKind.BIDI_STREAM,
        String("/", V1ALPHA, "/ServerReflectionInfo"),
        shared,
    )
