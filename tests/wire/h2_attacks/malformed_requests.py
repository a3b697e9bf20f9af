"""10. Requests that another server might take for two, or for another one
(CVE-2021-36740; RFC 9113 sections 8.1 to 8.3)."""

from attack import Case, Resets
from h2_client import DATA, END_STREAM, PROTOCOL_ERROR, H2Client, frame
from h2_hpack import encode

GOOD = {":method": "GET", ":scheme": "http", ":path": "/", ":authority": "test"}


def fields(*more: tuple[str, str], without: str = "", **other: str):
    """A request with fields behind the good ones, which may be others."""
    pseudo = {**GOOD, **{f":{k}": v for k, v in other.items()}}
    pseudo.pop(without, None)
    return lines(*pseudo.items(), *more)


def lines(*all_of_them: tuple[str, str]):
    return Case(lambda client: client.headers(encode(list(all_of_them))), Resets(PROTOCOL_ERROR))


def content(length: str, octets: bytes):
    def act(client: H2Client) -> int:
        stream = client.request("/", "POST", [("content-length", length)], ends=False)
        client.send(frame(DATA, END_STREAM, stream, octets))
        return stream

    return Case(act, Resets(PROTOCOL_ERROR))


SPLIT = "x\r\n\r\nGET /admin HTTP/1.1\r\nHost: test"
CASES = {
    "content longer than its length": content("2", b"12345"),
    "content shorter than its length": content("20", b"12345"),
    "two lengths": fields(("content-length", "0"), ("content-length", "5")),
    "a length that is none": fields(("content-length", "+1")),
    "pseudo-header fields behind others": lines(*list(GOOD.items())[:3], ("x", "y"), (":authority", "test")),
    "a pseudo-header field twice": lines(*GOOD.items(), (":path", "/other")),
    "an unknown pseudo-header field": fields((":unknown", "x")),
    "a response's pseudo-header field": fields((":status", "200")),
    "no :method": fields(without=":method"),
    "no :path": fields(without=":path"),
    "no :scheme": fields(without=":scheme"),
    "an empty :path": fields(path=""),
    "a :path with a line": fields(path="/ HTTP/1.1\r\nx: y"),
    "a :path with a space": fields(path="/a b"),
    "a :method with a line": fields(method="GET / HTTP/1.1\r\n"),
    "an :authority with a user": fields(authority="user@test"),
    "capitals": fields(("X-Capital", "y")),
    "a colon in a name": fields(("x:y", "z")),
    "a space in a name": fields(("x ", "z")),
    "CR LF in a value": fields(("x", SPLIT)),
    "LF in a value": fields(("x", "a\nb")),
    "NUL in a value": fields(("x", "a\0b")),
    "space before a value": fields(("x", " y")),
    "connection": fields(("connection", "close")),
    "transfer-encoding": fields(("transfer-encoding", "chunked")),
    "upgrade": fields(("upgrade", "h2c")),
    "another host": fields(("host", "other")),
    "two hosts": fields(("host", "test"), ("host", "test")),
}
