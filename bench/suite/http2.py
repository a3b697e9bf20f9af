"""HTTP/2 in the suite: what a server must answer, keep to and refuse, and h2load."""

import re
import socket
import ssl
import struct
import subprocess
from pathlib import Path

from suite.gate import DEADLINE_S, Client, Place
from suite.load import Load
from suite.programs import program_environment
from suite.response import STATUS_LINE, Answer, difference, parse_head
from suite.workload import Workload
from suite.wrk import of_workload, url
from toolchain import BUILD

NEEDS = {"h2load": "nghttp2-client", "curl": "curl"}
REFUSAL_S = 2  # silence for so long is no refusal
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM = ACK = 1
END_HEADERS = 4
INITIAL_WINDOW = 4
INDEXED_200 = 0x88


def fetch_http2(place: Place, workload: Workload) -> Answer:
    """Asks once, by curl. Raises ValueError for what is no answer."""
    target = url(place, workload)
    how = ["--http2", "-k"] if workload.tls else ["--http2-prior-knowledge"]
    words = ["curl", "-s", "-i", "--max-time", str(DEADLINE_S), *how]
    if workload.data is not None:
        words += ["--data-binary", "@-", "-H", "Content-Type: application/octet-stream"]
    result = subprocess.run(
        [*words, target],
        input=workload.data,
        capture_output=True,
        env=program_environment(),
    )
    if result.returncode:
        raise ValueError(f"curl ended with {result.returncode} (it asks over HTTP/2)")
    head, _, body = result.stdout.partition(b"\r\n\r\n")
    line, got = parse_head(head)
    if not line.startswith("HTTP/2 "):
        raise ValueError(f"the answer starts with {line[:40]!r}")
    # The version is right, and there is no reason: as HTTP/1.1 would have it.
    return Answer(STATUS_LINE if line.split()[1] == "200" else line, got, body)


def wrong_http2(place: Place, workload: Workload, odd: list[str]) -> str | None:
    """Says what is wrong with an answer, or gives None.

    `odd` are fields that this server sends otherwise, and cannot be told not to.
    """
    try:
        answer = fetch_http2(place, workload)
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
    got = [pair for pair in answer.fields if pair[0] not in odd]
    wanted = ((name.lower(), value) for name, value in workload.fields.items())
    got += [pair for pair in wanted if pair[0] in odd]
    return difference(workload, Answer(answer.status_line, got, answer.body))


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Writes a frame (RFC 9113 section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + (
        struct.pack(">I", stream) + payload
    )


def fields(*pairs: tuple[str, str]) -> bytes:
    """Writes short fields as they stand (RFC 7541 section 6.2.2)."""
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in pairs
    )


def request(tls: bool, *more: tuple[str, str]) -> bytes:
    """Writes a GET on the first stream."""
    scheme = "https" if tls else "http"
    head = fields((":method", "GET"), (":path", "/"), (":scheme", scheme), (":authority", "a"))
    return frame(HEADERS, END_HEADERS | END_STREAM, 1, head + fields(*more))


class Http2Client(Client):
    """A connection that speaks frames. Raises OSError or ValueError when it is no good."""

    def __init__(self, place: Place, tls: bool, settings: bytes = b"") -> None:
        super().__init__(place)
        if tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(self.socket)
        self.socket.settimeout(REFUSAL_S)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))

    def frame(self) -> tuple[int, int, bytes]:
        """Reads a frame: its type, its flags and its payload."""
        head = self.octets_of(9)
        return head[3], head[4], self.octets_of(int.from_bytes(head[:3], "big"))

    def until(self, *kinds: int) -> tuple[int, int, bytes]:
        """Reads up to a frame of one of these types."""
        while (got := self.frame())[0] not in kinds:
            pass
        return got


def wrong_http2_protocol(place: Place, tls: bool) -> str | None:
    """Names the first rule of RFC 9113 that a server breaks, or gives None."""
    checks = {
        "SETTINGS first, and acknowledged (section 3.4)": begins,
        "PING is answered (section 6.7)": answers_ping,
        "no more content than the window (section 6.9)": keeps_to_window,
        "it ends a stream, and takes the next (section 5.1)": goes_on,
    }
    for name, check in checks.items():
        try:
            is_kept = check(place, tls)
        except (OSError, ValueError) as error:
            return f"{name}: {str(error) or type(error).__name__}"
        if not is_kept:
            return f"{name}: it does not"
    broken = {
        "DATA on stream 0 (section 6.1)": frame(DATA, 0, 0, b"x" * 8),
        "WINDOW_UPDATE of nothing (section 6.9)": frame(8, 0, 0, bytes(4)),
        "CONTINUATION of nothing (section 6.10)": frame(9, END_HEADERS, 1, b""),
    }
    for name, octets in broken.items():
        if not refuses(place, tls, octets):
            return f"it accepts {name}"
    return None


def lenient_http2(place: Place, tls: bool) -> list[str]:
    """Lists what a server accepts that RFC 9113 has it refuse, and some do not."""
    asked = {
        "a field name in capitals (RFC 9113 section 8.2.1)": ("X-Upper", "a"),
        "a field of HTTP/1.1 connections (RFC 9113 section 8.2.2)": ("connection", "close"),
    }
    return [name for name, pair in asked.items() if not refuses(place, tls, request(tls, pair))]


def begins(place: Place, tls: bool) -> bool:
    """The first frame is SETTINGS, and ours are acknowledged."""
    with Http2Client(place, tls) as client:
        first = client.frame()
        if first[0] != SETTINGS or first[1] & ACK:
            return False
        return bool(client.until(SETTINGS)[1] & ACK)


def answers_ping(place: Place, tls: bool) -> bool:
    """PING comes back with what it had."""
    with Http2Client(place, tls) as client:
        client.send(frame(PING, 0, 0, b"eight by"))
        _, flags, payload = client.until(PING)
        return bool(flags & ACK) and payload == b"eight by"


def keeps_to_window(place: Place, tls: bool) -> bool:
    """With a window of one octet, one octet comes."""
    with Http2Client(place, tls, struct.pack(">HI", INITIAL_WINDOW, 1)) as client:
        client.send(request(tls))
        _, flags, payload = client.until(DATA)
        return len(payload) == 1 and not flags & END_STREAM


def goes_on(place: Place, tls: bool) -> bool:
    """Two requests, one after the other, are answered with 200."""
    with Http2Client(place, tls) as client:
        for stream in (1, 3):
            again = request(tls)
            client.send(again[:5] + struct.pack(">I", stream) + again[9:])
            _, flags, head = client.until(HEADERS)
            if INDEXED_200 not in head[:4]:
                return False
            while not flags & END_STREAM:
                _, flags, _ = client.until(DATA)
    return True


def refuses(place: Place, tls: bool, octets: bytes) -> bool:
    """Tells whether a server ends stream or connection, or answers with an error."""
    try:
        with Http2Client(place, tls) as client:
            client.send(octets)
            kind, _, head = client.until(GOAWAY, RST_STREAM, HEADERS)
            return kind != HEADERS or INDEXED_200 not in head[:4]
    except (TimeoutError, socket.timeout):
        return False
    except (OSError, ValueError):
        return True


def upload_file(workload: Workload) -> Path:
    """Where what is uploaded stands for h2load."""
    return BUILD / "bench" / "load" / f"upload-{len(workload.data or b'')}"


def write_uploads(workloads: list[Workload]) -> None:
    """Writes the files that h2load uploads."""
    for item in workloads:
        if item.streams and item.data is not None:
            upload_file(item).parent.mkdir(parents=True, exist_ok=True)
            upload_file(item).write_bytes(item.data)


def h2load_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the command. Raises ValueError for what h2load cannot do."""
    if load.remote:
        raise ValueError(f"h2load does not load {workload.name!r} from another host here")
    count = of_workload(load, workload).connections
    words = ["h2load", "-D", str(load.seconds), "-c", str(count), "-m", str(workload.streams)]
    words += ["-t", str(load.threads)]
    if workload.data is not None:
        words += ["-d", str(upload_file(workload)), "-H", "content-type: application/octet-stream"]
    return [*words, url(place, workload)]


def parse_h2load(text: str) -> dict:
    """Reads h2load's summary, which has no percentiles. Raises ValueError if it is none."""
    counts = re.search(
        r"requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed,"
        r" (\d+) errored, (\d+) timeout",
        text,
    )
    traffic = re.search(r"traffic: \S+ \((\d+)\) total", text)
    seconds = re.search(r"finished in ([\d.]+)(m?s),", text)
    statuses = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    if not (counts and traffic and seconds and statuses):
        raise ValueError(f"h2load printed no summary: {text.strip()[-200:]!r}")
    duration_s = float(seconds[1]) / (1000 if seconds[2] == "ms" else 1)
    errors = {
        "status": sum(int(statuses[kind]) for kind in (2, 3, 4)),
        "failed": int(counts[2]),
        "timeout": int(counts[4]),
    }
    return {
        "requests": int(counts[1]),
        "rps": int(counts[1]) / duration_s,
        "bytes_per_s": int(traffic[1]) / duration_s,
        "errors": {kind: count for kind, count in errors.items() if count},
    }
