"""Services as a handler, without a server."""

from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.interceptor import GrpcInterceptor
from flare.grpc.server.services import GrpcServices
from flare.grpc.server.stream import GrpcStream, Replies
from flare.http.client.message.request import ClientRequest, RequestBody
from flare.http.client.message.response import ClientResponse
from flare.http.message.body import Body
from flare.protobuf.known import StringValue
from flare.sys.mutex import Mutex
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_true

comptime Ends = Mutex[List[String]]


@fieldwise_init
struct _Noting(GrpcInterceptor):
    """Notes how calls have ended."""

    var ends: Ends

    def after(self, call: GrpcCall, status: GrpcStatus):
        self.ends.lock()[].append(String(status.code))


struct _Silent(GrpcStream):
    comptime Request = StringValue
    comptime Reply = StringValue

    def __init__(out self):
        pass

    def on_message(
        mut self, var request: StringValue, mut replies: Replies[StringValue]
    ) raises GrpcStatus:
        return


def _silent(mut call: GrpcCall) raises GrpcStatus -> _Silent:
    call.headers.add("x-begun", "1")
    return _Silent()


def _raises_ok(
    request: StringValue, mut call: GrpcCall
) raises GrpcStatus -> StringValue:
    raise GrpcStatus()


def _ask(
    ends: Ends, var path: String, var type: String, content: StringSpan
) raises -> ClientResponse:
    var services = GrpcServices()
    services.intercept(_Noting(ends))
    services.stream[_silent](GrpcKind.SERVER_STREAM, "/t.T/Silent")
    services.stream[_silent](GrpcKind.BIDI_STREAM, "/t.T/Both")
    services.unary[_raises_ok]("/t.T/Raises")
    var client = TestClient(services^)
    var octets = List[UInt8](content.as_bytes())
    return client.send(
        ClientRequest("POST", path^, RequestBody(Body(octets^), type^))
    )


def test_a_call_ends_once_for_who_listens() raises:
    """`GrpcInterceptor.after`: hears how a call has ended."""
    var ends = Ends(List[String]())
    var response = _ask(
        ends, "/t.T/Silent", "application/grpc-web-text", "no base64!!!"
    )
    assert_equal(response.headers["x-begun"], "1")
    assert_equal(len(ends.lock()[]), 1)
    assert_equal(ends.lock()[][0], "INTERNAL")
    ends = Ends(List[String]())
    _ = _ask(ends, "/t.T/Both", "application/connect+proto", "")
    assert_equal(len(ends.lock()[]), 1)
    assert_equal(ends.lock()[][0], "UNAVAILABLE")


def test_a_method_that_raises_has_no_reply() raises:
    """Whatever it raises: a status that is OK has a message with it."""
    var ends = Ends(List[String]())
    for type in ["application/json", "application/proto"]:
        var content = '""' if type == "application/json" else ""
        var response = _ask(ends, "/t.T/Raises", type, content)
        assert_equal(response.status.code, 500)
        assert_true("internal" in response.text())
    assert_equal(ends.lock()[][0], "INTERNAL")


def _gives_up(
    request: StringValue, mut call: GrpcCall
) raises GrpcStatus -> StringValue:
    """Gives up, behind its deadline if the request says so."""
    if request.value == "late":
        call._deadline_ns = 1
    raise GrpcStatus(GrpcCode.CANCELLED, "nobody waits")


def test_a_method_that_gives_up_behind_its_deadline_says_so() raises:
    """statuscodes.md of gRPC: DEADLINE_EXCEEDED if the deadline expired before the
    operation could complete; CANCELLED is for what was cancelled otherwise."""
    for text, code in [("late", "DEADLINE_EXCEEDED"), ("", "CANCELLED")]:
        var ends = Ends(List[String]())
        var services = GrpcServices()
        services.intercept(_Noting(ends))
        services.unary[_gives_up]("/t.T/GivesUp")
        var client = TestClient(services^)
        var content = List[UInt8](String('"', text, '"').as_bytes())
        _ = client.send(
            ClientRequest(
                "POST",
                "/t.T/GivesUp",
                RequestBody(Body(content^), "application/json"),
            )
        )
        assert_equal(ends.lock()[][0], code, text)


def _long(
    request: StringValue, mut call: GrpcCall
) raises GrpcStatus -> StringValue:
    call.compresses = True
    return StringValue(value=String("a") * 4_096)


def test_codings_may_stand_in_several_lines() raises:
    """RFC 9110 section 5.3: they are one list, in their order."""
    for first in ["gzip", "identity", "br, deflate"]:
        for second in ["gzip", "identity"]:
            var services = GrpcServices()
            services.unary[_long]("/t.T/Long")
            var client = TestClient(services^)
            var octets = List[UInt8](length=5, fill=0)
            var request = ClientRequest(
                "POST",
                "/t.T/Long",
                RequestBody(Body(octets^), "application/grpc-web"),
            )
            request.headers.append("grpc-accept-encoding", first)
            request.headers.append("grpc-accept-encoding", second)
            var response = client.send(request^)
            var is_gzip = first == "gzip" or second == "gzip"
            var content = response.body.as_bytes()
            assert_true(len(content) > 5, String(len(content)))
            assert_equal(content[0] == 1, is_gzip, String(first, ", ", second))


def test_head_is_get_without_content() raises:
    """RFC 9110 section 9.3.2: a method that may be called by GET of Connect is
    asked by HEAD, too; section 10.2.1: Allow names it."""
    var services = GrpcServices()
    services.unary[_long]("/t.T/Safe", is_safe=True)
    services.unary[_long]("/t.T/Unsafe")
    var client = TestClient(services^)
    var query = String("?encoding=json&message=%22a%22")
    for method in ["GET", "HEAD"]:
        var found = client.send(
            ClientRequest(String(method), "/t.T/Safe" + query)
        )
        assert_equal(found.status.code, 200, method)
        var refused = client.send(
            ClientRequest(String(method), "/t.T/Unsafe" + query)
        )
        assert_equal(refused.status.code, 405, method)
        assert_equal(refused.headers["allow"], "POST")
    var put = client.send(ClientRequest("PUT", "/t.T/Safe" + query))
    assert_equal(put.status.code, 405)
    assert_equal(put.headers["allow"], "GET, HEAD, POST")
