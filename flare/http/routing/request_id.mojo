"""A name for each request, to find it in the logs of several programs."""

from flare.bytes.ascii import write_hex_octet
from flare.http.message.request import Request
from flare.sys.clock import monotonic_ns, realtime_ns
from flare.sys.random import fill_random

comptime _OWN_LEN = 16
# In octets; twice as many hex digits.


def request_id(req: Request) -> String:
    """Names a request, the same way for whoever asks.

    The first to ask makes the id, and it stays with the request: a `RequestId`
    middleware, the access log, what is logged of a failure, a 500. Nothing is
    made for a request that nobody asks about.

    Args:
        req: The request that is being handled.

    Returns:
        The id: 32 hex digits, or what a `RequestId` took over from the client.
    """
    ref record = req.route_params()[].record
    if not record.has_id():
        record.set_id(_new_id().as_bytes())
    return String(record.id())


def _new_id() -> String:
    var octets = Array[UInt8, _OWN_LEN](fill=0)
    try:
        fill_random(octets)
    except error:
        # Without random numbers, two clocks are the best there is.
        var time = UInt64(realtime_ns()) ^ (UInt64(monotonic_ns()) << 20)
        for index in range(_OWN_LEN):
            octets[index] = UInt8((time >> UInt64(index % 8 * 8)) & 255)
    var id = String(capacity_bytes=2 * _OWN_LEN)
    for octet in octets:
        write_hex_octet(octet, id)
    return id^
