"""Holds a server to the rules of HTTP/1.1 without which its figures mean nothing.

A server that breaks one gets no row. What it merely lets pass, others knowing
and choosing it for that, is said below the table.
"""

from collections.abc import Callable

from suite.gate import Client, Place
from suite.response import difference
from suite.workload import Workload

REFUSAL_S = 2  # silence for so long is no refusal
NO_REQUEST = b"no request at all\r\n\r\n"
UPLOAD = b"POST /upload HTTP/1.1\r\nHost: a\r\n"
# Whoever lets these pass can be made to see requests that a proxy did not.
SMUGGLED = {
    "two lengths (section 6.3)": (UPLOAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    "a chunk size that is no number (section 7.1)": (
        UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n0\r\n\r\n"
    ),
    "a chunk longer than its size (section 7.1)": (
        UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabcd\r\n0\r\n\r\n"
    ),
}
# A request inside of what its length says, behind what its chunks say.
HIDDEN = b"0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
CODED_AND_SIZED = UPLOAD + (
    b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(HIDDEN) + HIDDEN
)
# What RFC 9112 has a server refuse, and servers are known not to.
LENIENT = {
    "no Host (section 3.2)": b"GET / HTTP/1.1\r\n\r\n",
    "a space before the colon (section 5.1)": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "an unknown transfer coding (section 6.1)": (
        UPLOAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"
    ),
}


def wrong_protocol(place: Place, plain: Workload, upload: Workload | None = None) -> str | None:
    """Asks in ways that every server must understand, and in some it must not.

    Says which rule is broken, or gives None. Without `upload` no content is sent.
    """
    checks: dict[str, Callable[[Place, Workload], str | None]] = {
        "pipelined requests (section 9.3.2)": pipelined,
        "a request in three segments (section 2.2)": split,
        "HEAD (RFC 9110 section 9.3.2)": head,
    }
    for name, check in checks.items():
        if wrong := _tried(check, place, plain):
            return f"{name}: {wrong}"
    if upload and (wrong := _tried(chunked, place, upload)):
        return f"chunked content (section 7.1): {wrong}"
    if not refuses(place, NO_REQUEST, plain.tls):
        return "it takes any octets for a request"
    return smuggling(place, plain.tls) if upload else None


def _tried(check: Callable, place: Place, workload: Workload) -> str | None:
    try:
        return check(place, workload)
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__


def pipelined(place: Place, workload: Workload) -> str | None:
    """Sends three requests at once, the last for what is not there."""
    absent = b"GET /no/such/page HTTP/1.1\r\nHost: bench\r\n\r\n"
    with Client(place, workload.tls) as client:
        client.send(workload.request() * 2 + absent)
        first, second, third = (client.answer() for _ in range(3))
    if third.status < 400:
        return f"the last of three answers is {third.status}, not 404"
    return difference(workload, first) or difference(workload, second)


def split(place: Place, workload: Workload) -> str | None:
    """Sends a request in three segments, cut within words."""
    request = workload.request()
    with Client(place, workload.tls) as client:
        client.send(request[:7], request[7:20], request[20:])
        return difference(workload, client.answer())


def head(place: Place, workload: Workload) -> str | None:
    """Asks for the head alone, then for the whole on the same connection."""
    with Client(place, workload.tls) as client:
        client.send(workload.request("HEAD"))
        answer = client.answer(has_body=False)
        if answer.status != 200:
            return f"its status is {answer.status}"
        client.send(workload.request())
        return difference(workload, client.answer())


def chunked(place: Place, workload: Workload) -> str | None:
    """Sends content in two chunks, the second cut, then a request behind it."""
    start = (
        f"POST {workload.target} HTTP/1.1\r\nHost: bench\r\n"
        "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nA;name=value\r\n0123"
    )
    with Client(place, workload.tls) as client:
        client.send(start.encode(), b"456789\r\n0\r\n\r\n")
        if wrong := difference(workload, client.answer()):
            return wrong
        client.send(workload.request())
        return difference(workload, client.answer())


def smuggling(place: Place, tls: bool = False) -> str | None:
    """Names the first way to hide a request that a server is open to, or gives None."""
    for name, octets in SMUGGLED.items():
        if goes_on(place, octets, tls):
            return f"requests can be smuggled: it accepts {name}"
    if swallows(place, tls):
        return "requests can be smuggled: a length beside a coding counts (section 6.3)"
    return None


def goes_on(place: Place, octets: bytes, tls: bool = False) -> bool:
    """Tells whether a server keeps a connection whose content makes no sense.

    One may answer before it has seen the content, but must then close.
    """
    try:
        with Client(place, tls) as client:
            client.socket.settimeout(REFUSAL_S)
            client.send(octets)
            return client.answer().status < 400 and client.answer().status < 400
    except TimeoutError:
        return True
    except (OSError, ValueError):
        return False


def swallows(place: Place, tls: bool = False) -> bool:
    """Tells whether a server takes a hidden request for content.

    One that refuses, closes behind its answer or answers both is safe.
    """
    try:
        with Client(place, tls) as client:
            client.socket.settimeout(REFUSAL_S)
            client.send(CODED_AND_SIZED)
            if client.answer().status >= 400:
                return False
            client.answer()
    except TimeoutError:
        return True
    except (OSError, ValueError):
        return False
    return False


def refuses(place: Place, octets: bytes, tls: bool = False) -> bool:
    """Tells whether a server answers octets with an error or closes.

    Silence until the deadline is no refusal.
    """
    try:
        with Client(place, tls) as client:
            client.socket.settimeout(REFUSAL_S)
            client.send(octets)
            return client.answer().status >= 400
    except TimeoutError:
        return False
    except (OSError, ValueError):
        return True


def leniencies(place: Place, tls: bool = False) -> list[str]:
    """Lists what a server accepts that RFC 9112 has it refuse."""
    return [name for name, octets in LENIENT.items() if not refuses(place, octets, tls)]
