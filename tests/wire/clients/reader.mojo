"""A client that reads responses as it is told: a JSON object a line on standard
input, one a line on standard output. Open responses have numbers."""

from flare.http.client.cached_client import CachedClient
from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig
from flare.http.client.event_source import EventSource
from flare.http.client.open_request import OpenRequest
from flare.http.client.open_response import OpenResponse
from flare.http.client.message.request import (
    CLIENTS_OWN,
    ClientRequest,
    RequestBody,
    Transfer,
    TransferProgress,
)
from flare.http.client.shared_client import SharedClient
from flare.http.client.transfers import TransferMethods
from flare.http.message.header_map import HeaderMap
from flare.http.sse.event_hub import ServerSentEvent
from flare.io import MemoryWriter, Readable
from flare.json import JsonValue, JsonWriter
from flare.tls.config import TlsConfig
from tests.wire.clients.orders import (
    Obedient,
    number_of,
    obey_all,
    put,
    text_of,
)
from std.sys import argv
from std.time import sleep


@fieldwise_init
struct Point(Copyable, Movable):
    """A line of JSON."""

    var x: Int
    var name: String


@fieldwise_init
struct CountingSource(Readable):
    """Gives so many octets in pieces, each after a pause."""

    var left: Int
    var piece_len: Int
    var pause_ms: Int

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        if self.pause_ms > 0:
            sleep(Float64(self.pause_ms) / 1_000)
        var count = min(min(self.left, len(room)), self.piece_len)
        for index in range(count):
            room[index] = 97
        self.left -= count
        return count


struct Bar(TransferProgress):
    """Remembers how far a transfer is, and stops it if it is told to."""

    var last: Transfer
    var sent: Transfer
    var count: Int
    var stop_at: Int

    def __init__(out self, stop_at: Int):
        self.last = Transfer(False, 0, 0)
        self.sent = Transfer(True, 0, 0)
        self.count = 0
        self.stop_at = stop_at

    def on_progress(mut self, transfer: Transfer) raises:
        if transfer.is_upload:
            self.sent = transfer
        else:
            self.last = transfer
        self.count += 1
        if self.stop_at >= 0 and transfer.done_len >= self.stop_at:
            raise Error("stopped at ", transfer.done_len)


struct Clients(Movable):
    """One of each kind."""

    var own: HttpClient
    var shared: SharedClient
    var cached: CachedClient
    var kind: String
    """Which of them is asked: `own`, `shared` or `cached`."""

    def __init__(
        out self, kind: String, config: ClientConfig = ClientConfig()
    ) raises:
        self.own = HttpClient("", config=config.copy())
        self.shared = SharedClient("", config=config.copy())
        self.cached = CachedClient(HttpClient("", config=config.copy()))
        self.kind = kind

    def answer(
        mut self, mut reader: Reader, command: JsonValue, mut out: JsonWriter
    ) raises:
        """Does what a command says."""
        var what = text_of(command, "do")
        if what == "client" or what == "forget_client":
            if what == "client":
                reader.responses.clear()
            self = Clients(self.kind, _config(command))
        elif self.kind == "shared":
            reader.answer(self.shared, command, out)
        elif self.kind == "cached":
            reader.answer(self.cached, command, out)
        else:
            reader.answer(self.own, command, out)
        put(out, "idle", self._idle_count())

    def _idle_count(self) -> Int:
        if self.kind == "shared":
            return self.shared.figures().idle
        if self.kind == "cached":
            return self.cached.client.idle_count()
        return self.own.idle_count()


struct Reader(Defaultable, Movable):
    """What clients have open."""

    var responses: List[Optional[OpenResponse]]
    var requests: List[Optional[OpenRequest]]
    var sources: List[EventSource]

    def answer[
        C: TransferMethods
    ](mut self, mut client: C, command: JsonValue, mut out: JsonWriter) raises:
        """Does what a command says."""
        var what = text_of(command, "do")
        if what == "send":
            var response = client.send(_request(command))
            put(out, "status", response.status.code)
            put(out, "body", response.text())
        elif what == "transfer":
            _transfer(client, command, out)
        elif what == "open":
            self._open(client, command, out)
        elif what == "listen":
            self.sources.append(
                client.events(
                    _request(command),
                    last_id=text_of(command, "last_id"),
                    idle_timeout_ms=number_of(
                        command, "idle_timeout_ms", 5_000
                    ),
                    max_attempts=number_of(command, "max_attempts", 3),
                )
            )
            put(out, "id", len(self.sources) - 1)
        elif what == "next" or what == "stop":
            ref source = self.sources[number_of(command, "id", 0)]
            if what == "stop":
                source.stop()
            var event = source.next()
            _write_event(out, event)
            put(out, "last_id", source.last_id)
            put(out, "connects", source.connect_count)
        elif what == "download":
            _download(client, command, out)
        elif what == "begin":
            self.requests.append(
                client.open_request(
                    _request(command),
                    idle_timeout_ms=number_of(
                        command, "idle_timeout_ms", CLIENTS_OWN
                    ),
                )
            )
            put(out, "id", len(self.requests) - 1)
        elif what == "drop":
            self.requests[number_of(command, "id", 0)] = None
        elif what == "converse":
            ref request = self.requests[number_of(command, "id", 0)].value()
            _converse(request, command, out)
        elif what == "forget":
            # Ends the response without a word.
            self.responses[number_of(command, "id", 0)] = None
        else:
            ref response = self.responses[number_of(command, "id", 0)].value()
            _on(response, what, command, out)

    def _open[
        C: TransferMethods
    ](mut self, mut client: C, command: JsonValue, mut out: JsonWriter) raises:
        var head_ms = number_of(command, "head_timeout_ms", CLIENTS_OWN)
        var idle_ms = number_of(command, "idle_timeout_ms", CLIENTS_OWN)
        var raw = number_of(command, "raw", 0) != 0
        if command.contains("length"):
            var source = CountingSource(
                command["length"].int_value(),
                number_of(command, "piece_len", 65_536),
                number_of(command, "source_pause_ms", 0),
            )
            self.responses.append(
                client.open(
                    _request(command),
                    source^,
                    number_of(command, "announced", -1),
                    raw=raw,
                    head_timeout_ms=head_ms,
                    idle_timeout_ms=idle_ms,
                )
            )
        else:
            self.responses.append(
                client.open(
                    _request(command),
                    raw=raw,
                    head_timeout_ms=head_ms,
                    idle_timeout_ms=idle_ms,
                )
            )
        ref response = self.responses[len(self.responses) - 1].value()
        put(out, "id", len(self.responses) - 1)
        put(out, "status", response.status.code)
        put(out, "version", String(response.version))
        put(out, "url", String(response.url))
        put(out, "redirects", response.redirect_count)
        put(out, "content_len", response.content_len())
        _write_headers(out, "headers", response.headers)


def _transfer[
    C: TransferMethods
](mut client: C, command: JsonValue, mut out: JsonWriter) raises:
    """Has a bar told of all that goes and comes."""
    var bar = Bar(number_of(command, "stop_at", -1))
    var way = text_of(command, "way")
    if way == "upload":
        var source = CountingSource(command["length"].int_value(), 65_536, 0)
        _ = client.upload(
            _request(command),
            source,
            bar,
            number_of(command, "announced", -1),
        )
    elif way == "download":
        var sink = MemoryWriter()
        _ = client.download(_request(command), sink, bar)
    else:
        _ = client.send(_request(command), bar)
    put(out, "sent", bar.sent.done_len)
    put(out, "to_send", bar.sent.total_len)
    put(out, "done", bar.last.done_len)
    put(out, "total", bar.last.total_len)
    put(out, "calls", bar.count)


def _download[
    C: TransferMethods
](mut client: C, command: JsonValue, mut out: JsonWriter) raises:
    var bar = Bar(number_of(command, "stop_at", -1))
    var file = client.download_file(
        _request(command),
        text_of(command, "path"),
        bar,
        resumes=number_of(command, "resumes", 1) != 0,
        replaces=number_of(command, "replaces", 1) != 0,
        syncs=number_of(command, "syncs", 0) != 0,
        max_attempts=number_of(command, "max_attempts", 5),
    )
    put(out, "path", file.path)
    put(out, "size", file.size)
    put(out, "resumed_from", file.resumed_from)
    put(out, "requests", file.request_count)
    put(out, "done", bar.last.done_len)
    put(out, "total", bar.last.total_len)
    put(out, "calls", bar.count)


def _converse(
    mut request: OpenRequest, command: JsonValue, mut out: JsonWriter
) raises:
    """Writes to a request, then reads from its response."""
    if command.contains("write"):
        var text = command["write"].string_value()
        var octets = List[UInt8]()
        for _ in range(number_of(command, "times", 1)):
            octets.extend(text.as_bytes())
        put(
            out,
            "wants_more",
            request.write(octets, ends=command.contains("last")),
        )
    if command.contains("finish"):
        request.finish()
    if command.contains("close"):
        request.close()
    if command.contains("head"):
        request.wait_for_head()
    if command.contains("read"):
        var room = List[UInt8](length=command["read"].int_value(), fill=0)
        var count = request.read(room)
        put(out, "text", String(from_utf8_lossy=room[0:count]))
    if command.contains("count"):
        var room = List[UInt8](length=65_536, fill=0)
        var total = 0
        while True:
            var count = request.read(room)
            if count == 0:
                break
            total += count
        put(out, "count", total)
    put(out, "has_head", request.has_head)
    put(out, "status", request.status.code)
    put(out, "is_complete", request.is_complete())
    _write_headers(out, "trailers", request.trailers)


def _on(
    mut response: OpenResponse,
    what: String,
    command: JsonValue,
    mut out: JsonWriter,
) raises:
    """Reads from an open response."""
    var limit = number_of(command, "limit", 1 << 20)
    if what == "read":
        var room = List[UInt8](length=limit, fill=0)
        var count = response.read(room)
        put(out, "count", count)
        put(out, "text", String(from_utf8_lossy=room[0:count]))
    elif what == "count":
        # Reads so much, a piece at a time, and keeps nothing.
        var room = List[UInt8](
            length=number_of(command, "piece_len", 65_536), fill=0
        )
        var total = 0
        while total < limit:
            var count = response.read(room)
            if count == 0:
                break
            total += count
        put(out, "count", total)
    elif what == "all":
        var octets = response.read_all(limit)
        put(out, "count", len(octets))
        put(out, "text", String(from_utf8_lossy=octets))
    elif what == "line":
        var line = response.next_line(limit)
        put(out, "is_end", not line)
        put(out, "text", line.or_else(""))
    elif what == "json":
        var value = response.next_json(limit)
        put(out, "is_end", not value)
    elif what == "point":
        var point = response.next_json[Point](limit)
        put(out, "is_end", not point)
        if point:
            put(out, "x", point.value().x)
            put(out, "name", point.value().name)
    elif what == "event":
        var event = response.next_event(limit)
        _write_event(out, event)
        put(out, "last_id", response.last_event_id())
        put(out, "retry_ms", response.retry_ms())
    elif what == "close":
        response.close()
    elif what == "raise":
        response.raise_for_status()
    put(out, "received", response.received_len())
    put(out, "is_complete", response.is_complete())
    _write_headers(out, "trailers", response.trailers)


def _write_event(mut out: JsonWriter, event: Optional[ServerSentEvent]) raises:
    put(out, "is_end", not event)
    if event:
        put(out, "data", event.value().data)
        put(out, "name", event.value().name)
        put(out, "event_id", event.value().id)


def _write_headers(
    mut out: JsonWriter, name: StaticString, headers: HeaderMap
) raises:
    out.key(name)
    out.begin_array()
    for index in range(len(headers)):
        out.value(String(headers.name(index), ": ", headers.value(index)))
    out.end_array()


def _config(command: JsonValue) raises -> ClientConfig:
    var config = ClientConfig()
    config.read_timeout_ms = number_of(command, "read_timeout_ms", 5_000)
    config.write_timeout_ms = number_of(command, "write_timeout_ms", 5_000)
    config.total_timeout_ms = number_of(
        command, "total_timeout_ms", config.total_timeout_ms
    )
    config.max_retries = number_of(command, "max_retries", 0)
    config.http2_prior_knowledge = number_of(command, "h2c", 0) != 0
    config.pool.idle_timeout_ms = 60_000
    if command.contains("ca_file"):
        config.tls = TlsConfig(ca_file=command["ca_file"].string_value())
    return config^


def _request(command: JsonValue) raises -> ClientRequest:
    var request = ClientRequest(
        text_of(command, "method") if command.contains("method") else "GET",
        text_of(command, "url"),
    )
    if command.contains("octets"):
        var text = command["octets"].string_value()
        request.body = RequestBody(List[UInt8](text.as_bytes()))
    if command.contains("timeout_ms"):
        request.total_timeout_ms = command["timeout_ms"].int_value()
    request.expects_continue = command.contains("expect")
    return request^


@fieldwise_init
struct Program(Obedient):
    """The clients, and what they have open."""

    var clients: Clients
    var reader: Reader

    def obey(mut self, order: JsonValue, mut answer: JsonWriter) raises:
        self.clients.answer(self.reader, order, answer)


def main() raises:
    """Answers lines until the input ends, with the client that the argument
    names."""
    var kind = String(argv()[1]) if len(argv()) > 1 else "own"
    var program = Program(Clients(kind), Reader())
    obey_all(program)
