"""What a client of TLS may be and do, met by each kind of server: one worker, threads,
handler threads and processes. A row has one outcome, which its rule gives."""

import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from conftest import Client, Server, read_all, shown
from https_client import TIMEOUT_S, Sealer
from wire_programs import built

MODES = {
    "one worker": {"mode": "threads", "workers": 1, "pins": 0},
    "threads": {"mode": "threads", "workers": 2, "pins": 0},
    "handler threads": {"mode": "threads", "workers": 1, "pins": 0, "handler_threads": 2},
    "processes": {"mode": "prefork", "workers": 2},
}
VERSIONS = ["TLSv1_2", "TLSv1_3"]
ASKS = b"GET /whole/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
NOBODY = "GET /whole/x x "
SOMEBODY = "GET /whole/x x  O=flare,CN=a client"
# What Python calls alerts (RFC 8446 section 6.2), with or without a reason of its own.
ALERTS = {
    "handshake failure": 40, "unsupported certificate": 43, "certificate expired": 45,
    "unknown ca": 48, "protocol version": 70, "certificate required": 116,
    "no application protocol": 120,
}  # fmt: skip


@dataclass
class Row:
    rule: str
    # The server's rule for certificates of clients.
    verify: str = ""
    name: str | None = "localhost"
    offer: list = field(default_factory=list)
    identity: str = ""
    # What must come of it: whose certificate is shown, the protocol, the content, or
    # the numbers of alerts, by version.
    shows: str = "localhost"
    protocol: str | None = None
    content: str = NOBODY
    alerts: dict = field(default_factory=dict)
    # The second connection of a session: its name and offer, and whether it goes on.
    again: dict | None = None
    goes_on: bool = True
    versions: tuple = tuple(VERSIONS)


def refused(alert: int, alert2: int = 0) -> dict:
    """The alerts of TLS 1.3, and of 1.2 if that is another one."""
    return {"TLSv1_3": alert, "TLSv1_2": alert2 or alert}


MANY = [f"no-such-protocol-{number:04}" for number in range(1_000)]

NAMES = {
    "none": Row("docs/tls.md: the first one otherwise", name=None),
    "the first's": Row("6066-3"),
    "a wildcard's": Row("9525-6.3", name="a.wild.test", shows="*.wild.test"),
    "a wildcard's, in capitals": Row("6066-3, 9525-6.3", name="A.WILD.TEST", shows="*.wild.test"),
    "the second's": Row("9525-6.3", name="exact.wild.test", shows="*.wild.test"),
    "two labels for a wildcard": Row("9525-6.3", name="a.b.wild.test"),
    "no label for a wildcard": Row("9525-6.3", name="wild.test"),
    "nobody's": Row("docs/tls.md: the first one otherwise", name="elsewhere.test"),
}  # fmt: skip

PROTOCOLS = {
    "http/1.1": Row("7301-3.2", offer=["http/1.1"], protocol="http/1.1"),
    "h2": Row("7301-3.2, 9113-3.2", offer=["h2"], protocol="h2"),
    "h2 first": Row("docs/tls.md", offer=["h2", "http/1.1"], protocol="h2"),
    "h2 last": Row("docs/tls.md", offer=["http/1.1", "h2"], protocol="h2"),
    "another one": Row("7301-3.2", offer=["spdy/3"], alerts=refused(120)),
    "http/1.0": Row("7301-3.2", offer=["http/1.0"], alerts=refused(120)),
    "h2 in capitals": Row("7301-3.1: octets are compared", offer=["H2"], alerts=refused(120)),
    "a beginning": Row("7301-3.1", offer=["h", "http/1"], alerts=refused(120)),
    "another one first": Row("7301-3.2", offer=["spdy/3", "http/1.1"], protocol="http/1.1"),
    # A hello of 23 KB, in two records (RFC 8446 section 5.1).
    "the last of very many": Row("7301-3.1", offer=[*MANY, "http/1.1"], protocol="http/1.1"),
    "none of very many": Row("7301-3.2", offer=MANY, alerts=refused(120)),
}  # fmt: skip

CERTIFICATES = {
    "not asked for": Row("docs/tls.md", identity="client"),
    "demanded": Row("docs/tls.md", "required", identity="client", content=SOMEBODY),
    "demanded, and none": Row("8446-4.4.2.4, 5246-7.4.6", "required", alerts=refused(116, 40)),
    "demanded, a stranger's": Row(
        "8446-4.4.2.4", "required", identity="strange_client", alerts=refused(48),
    ),
    "demanded, one for servers": Row(
        "5280-4.2.1.12", "required", identity="rsa", alerts=refused(43),
    ),
    "demanded, signed by itself": Row(
        "8446-4.4.2.4", "required", identity="self_signed", alerts=refused(48),
    ),
    "welcome": Row("docs/tls.md", "optional", identity="client", content=SOMEBODY),
    "welcome, and none": Row("docs/tls.md", "optional"),
    "welcome, a stranger's": Row(
        "docs/tls.md: one that is shown must be good", "optional", identity="strange_client",
        alerts=refused(48),
    ),
}  # fmt: skip

SESSIONS = {
    "the same name": Row("8446-2.2", again={}),
    "of a client that is known": Row(
        "8446-4.6.1", "required", identity="client", content=SOMEBODY, again={},
    ),
    "of a client that is known, under another name": Row(
        "6066-3", "required", identity="client", content=SOMEBODY,
        again={"name": "elsewhere.test"}, goes_on=False,
    ),
    "the second certificate's": Row(
        "8446-2.2", name="a.wild.test", shows="*.wild.test", again={},
    ),
    # "A server that implements this extension MUST NOT accept the request to resume the
    # session if the server_name extension contains a different name." Of TLS 1.3 it is
    # docs/tls.md that says so (RFC 8446 section 4.6.1 leaves it to the client).
    "another name of the same certificate": Row(
        "6066-3", again={"name": "good.test"}, goes_on=False,
    ),
    "a name of another certificate": Row(
        "6066-3", again={"name": "a.wild.test"}, goes_on=False,
    ),
    "the first's name after the second's": Row(
        "6066-3", name="a.wild.test", shows="*.wild.test", again={"name": "localhost"},
        goes_on=False,
    ),
    # What was agreed on is no part of a session.
    "another protocol": Row(
        "7301-3.1", offer=["http/1.1"], protocol="http/1.1",
        again={"offer": ["h2"], "protocol": "h2"},
    ),
    "no protocol any more": Row(
        "7301-3.1", offer=["h2"], protocol="h2", again={"offer": [], "protocol": None},
    ),
    "a protocol that is none": Row(
        "7301-3.2", offer=["h2"], protocol="h2",
        again={"offer": ["spdy/3"], "alerts": refused(120)},
    ),
}  # fmt: skip

OLD = {
    "TLS 1.1": Row("8996-5", versions=("TLSv1_1",), alerts={"TLSv1_1": 70}),
    "TLS 1.0": Row("8996-4", versions=("TLSv1",), alerts={"TLSv1": 70}),
}  # fmt: skip

ROWS = {
    f"{group}: {name}": row
    for group, rows in {
        "name": NAMES, "protocol": PROTOCOLS, "certificate": CERTIFICATES,
        "session": SESSIONS, "version": OLD,
    }.items()
    for name, row in rows.items()
}  # fmt: skip


class Rules:
    """A client's context, and what it does on each of its connections."""

    def __init__(self, certs, row: Row, version: str) -> None:
        self.context = ssl.create_default_context(cafile=certs / "root.pem")
        # Some rows ask for names that the certificate has not.
        self.context.check_hostname = False
        if version in ("TLSv1", "TLSv1_1"):
            self.context.set_ciphers("ALL:@SECLEVEL=0")
        self.context.minimum_version = ssl.TLSVersion[version]
        self.context.maximum_version = ssl.TLSVersion[version]
        if row.identity:
            path = certs / row.identity
            self.context.load_cert_chain(f"{path}.pem", f"{path}.key")
        self.row = row

    def connect(self, server: Server, row: Row, session=None) -> ssl.SSLSocket:
        self.context.set_alpn_protocols(row.offer)
        return self.context.wrap_socket(
            server.connect(TIMEOUT_S), server_hostname=row.name, session=session,
            suppress_ragged_eofs=False,
        )  # fmt: skip


def talk(stream: ssl.SSLSocket, row: Row) -> str:
    """Says what is wrong with a connection that was opened, if anything is."""
    # RFC 9113 section 3.4: a server of HTTP/2 begins with SETTINGS.
    if row.protocol == "h2":
        stream.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        head = b""
        while len(head) < 9:
            head += stream.recv(9 - len(head))
        if head[3] != 4:
            return f"the first frame is {head!r}"
        # For the ticket, which may stand behind it.
        stream.sendall(b"\0\0\x08\6\0\0\0\0\0" + bytes(8))
        stream.recv(1)
    else:
        stream.sendall(ASKS)
        answer = b""
        # RFC 9112 section 9.8: the end is announced, or this raises.
        while piece := stream.recv(65536):
            answer += piece
        content = answer.partition(b"\r\n\r\n")[2].decode()
        if content.strip() != row.content.strip():
            return f"the answer is {answer!r}"
    names = [name for _, name in stream.getpeercert()["subjectAltName"]]
    if row.shows not in names:
        return f"the certificate is for {names}"
    if stream.selected_alpn_protocol() != row.protocol:
        return f"the protocol is {stream.selected_alpn_protocol()}"
    return ""


def once(rules: Rules, server: Server, row: Row, version: str, session=None):
    """Opens a connection; gives its session, whether it went on from another one, and
    what is wrong with it."""
    alert = row.alerts.get(version)
    try:
        with rules.connect(server, row, session) as stream:
            wrong = talk(stream, row)
            if alert:
                wrong = f"it was served, without an alert {alert}"
            return stream.session, stream.session_reused, wrong
    except ssl.SSLError as error:
        text = str(error).lower().replace("_", " ")
        found = [number for name, number in ALERTS.items() if f"alert {name}" in text]
        if alert and found == [alert]:
            return None, False, ""
        return None, False, f"{error!r}, not alert {alert}"
    except OSError as error:
        return None, False, f"{error!r}"


def run(certs, server: Server, row: Row, version: str) -> str:
    rules = Rules(certs, row, version)
    session, _, wrong = once(rules, server, row, version)
    if wrong or row.again is None:
        return wrong
    then = Row(**{**vars(row), "again": None, **row.again})
    if "name" in row.again:
        then.shows = "*.wild.test" if then.name.endswith("wild.test") else "localhost"
    _, is_resumed, wrong = once(rules, server, then, version, session)
    if not wrong and not then.alerts and is_resumed != row.goes_on:
        return "it went on" if is_resumed else "it did not go on"
    return wrong and f"the second: {wrong}"


@pytest.fixture(scope="module")
def table(certs):
    servers = {}
    for mode, options in MODES.items():
        for verify in ("", "optional", "required"):
            config = dict(options)
            if verify:
                config |= {"verify": verify, "client_ca": certs / "root.pem"}
            config |= shown(certs, "good_chain", "wild")
            arguments = [f"{name}={value}" for name, value in config.items()]
            servers[mode, verify] = Server(built("workers_server"), arguments)
    with ThreadPoolExecutor(8) as pool:
        yield servers, pool
    for server in servers.values():
        assert server.is_alive(), "a server died during the tests"
        assert server.stop() == 0


# That the oldest versions are refused is told by clients that still ask for them.
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("name", ROWS)
def test_all_kinds_of_server(table, certs, name):
    servers, pool = table
    row = ROWS[name]
    lanes = [(mode, version) for mode in MODES for version in row.versions]
    found = pool.map(
        lambda lane: run(certs, servers[lane[0], row.verify], row, lane[1]), lanes
    )
    wrong = [f"{lane}: {text}" for lane, text in zip(lanes, found) if text]
    assert not wrong, f"RFC or rule {row.rule}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("mode", MODES)
def test_a_hello_to_a_plain_port(start, certs, mode):
    """RFC 9112 section 3: what is no request line is answered with 400, and the end."""
    server = start("workers_server", **MODES[mode])
    with server.connect(TIMEOUT_S) as sock:
        sock.sendall(Sealer(sock, ssl.create_default_context()).hello())
        assert read_all(sock).startswith(b"HTTP/1.1 400 ")
    with Client(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 200
