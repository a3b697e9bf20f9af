"""Threads with one client: a JSON object a line on standard input, each answered
by a line with `ack`; what becomes of each request is a line on standard output
when it is over."""

from flare.http.client import (
    CancelToken,
    Cancelled,
    ClientConfig,
    ClientError,
    ClientHook,
    ClientRequest,
    ConnectionLimits,
    Credentials,
    DigestAuth,
    OutgoingAttempt,
    SharedClient,
)
from flare.http.client.message.request import CLIENTS_OWN
from flare.io.stream import Readable, Writable
from flare.json import JsonValue, JsonWriter, parse
from flare.sys.mutex import Condvar, Mutex
from flare.sys.thread import Task, Thread
from flare.tls.config import TlsConfig
from tests.wire.clients.orders import next_line, number_of, put, text_of

comptime Output = Mutex[Int]
"""The lock on standard output, with the number of lines so far."""


def _client(command: JsonValue) raises -> SharedClient:
    var config = ClientConfig()
    config.read_timeout_ms = 10_000
    config.http2_prior_knowledge = command.contains("h2c")
    config.pool.idle_timeout_ms = number_of(command, "idle_timeout_ms", 30_000)
    if command.contains("total_timeout_ms"):
        config.total_timeout_ms = command["total_timeout_ms"].int_value()
    if command.contains("ca_file"):
        config.tls = TlsConfig(ca_file=command["ca_file"].string_value())
    var limits = ConnectionLimits()
    limits.max_connections = number_of(command, "most", 256)
    limits.max_per_host = number_of(command, "per_host", 64)
    limits.queue_timeout_ms = number_of(command, "queue_ms", 10_000)
    limits.max_waiting = number_of(command, "max_waiting", 1_024)
    var auth = Credentials()
    if command.contains("digest_user"):
        auth = DigestAuth(
            text_of(command, "digest_user"), text_of(command, "password")
        )
    var client = SharedClient("", auth, config^, limits=limits)
    if command.contains("cookies"):
        client = client^.with_cookies()
    return client^


def _tell(output: Output, text: String):
    var guard = output.lock()
    guard[] += 1
    print(text, flush=True)
    deinit(guard^)


struct Doors(Defaultable, Movable):
    """Behind which sinks and readers stand that hold their stream."""

    var is_open: Bool
    var held_count: Int


@fieldwise_init
struct Gate(ImplicitlyCopyable):
    """Holds threads until it is told to let them go; copies are the same."""

    var doors: Mutex[Doors]
    var change: Condvar

    def hold(self):
        var guard = self.doors.lock()
        guard[].held_count += 1
        while not guard[].is_open:
            self.change.wait(guard)
        guard[].held_count -= 1
        deinit(guard^)

    def set(self, is_open: Bool):
        var guard = self.doors.lock()
        guard[].is_open = is_open
        self.change.notify_all()
        deinit(guard^)

    def held_count(self) -> Int:
        return self.doors.lock()[].held_count


@fieldwise_init
struct Nested(ClientHook):
    """Sends a request of its own with the same client before each attempt."""

    var client: SharedClient
    var url: String

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        var client = self.client
        var inner = client.get(self.url)
        attempt.headers.set("x-inner", String(inner.status.code))


def _octet(id: Int, at: Int) -> UInt8:
    return UInt8((at * 7 + id) % 251)


@fieldwise_init
struct Pattern(Readable):
    """Content that tells of which request it is."""

    var id: Int
    var at: Int
    var length: Int

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        var count = min(len(room), self.length - self.at)
        for index in range(count):
            room[index] = _octet(self.id, self.at + index)
        self.at += count
        return count


@fieldwise_init
struct CountingSink(Writable):
    """Counts octets; the first ones may stand at a gate, or be refused."""

    var gate: Gate
    var holds: Bool
    var fails: Bool
    var length: Int

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        if self.fails:
            raise Error("no room here")
        if self.holds:
            self.holds = False
            self.gate.hold()
        self.length += len(octets)
        return len(octets)


@fieldwise_init
struct Mover(Task):
    """Moves much content one way, or both, and tells how much has come."""

    var client: SharedClient
    var output: Output
    var gate: Gate
    var way: String
    var url: String
    var id: Int
    var length: Int

    def run(mut self) raises:
        var got = -1
        var text = String()
        try:
            got = self._move()
        except error:
            text = String(error)
        var out = JsonWriter()
        out.begin_object()
        put(out, "id", self.id)
        put(out, "length", got)
        put(out, "text", text)
        out.end_object()
        _tell(self.output, out^.finish())

    def _move(mut self) raises -> Int:
        if self.way == "upload":
            var source = Pattern(self.id, 0, self.length)
            var response = self.client.upload(
                ClientRequest("POST", self.url), source, self.length
            )
            var octets = response.body.as_bytes()
            for index in range(len(octets)):
                if octets[index] != _octet(self.id, index):
                    raise Error("octet ", index, " is another one's")
            return len(octets)
        if self.way == "open":
            var response = self.client.open(ClientRequest("GET", self.url))
            self.gate.hold()
            return len(response.read_all())
        var sink = CountingSink(
            self.gate, self.way == "hold", self.way == "fail", 0
        )
        _ = self.client.download(ClientRequest("GET", self.url), sink)
        return sink.length


@fieldwise_init
struct Sender(Task):
    """Sends requests, and tells of the last one."""

    var client: SharedClient
    var output: Output
    var method: String
    var url: String
    var id: Int
    var count: Int
    var token: CancelToken
    var total_ms: Int
    var inner_url: String

    def run(mut self) raises:
        var out = JsonWriter()
        out.begin_object()
        put(out, "id", self.id)
        var ok_count = 0
        var body = String()
        var failure = Optional[ClientError]()
        var is_own = "{}" in self.url
        for number in range(self.count):
            try:
                # Each asks for something else, and must be told of that.
                var name = String(self.id, "-", number)
                var request = ClientRequest(
                    self.method, self.url.replace("{}", name)
                )
                request.cancel = self.token
                request.total_timeout_ms = self.total_ms
                if self.inner_url.byte_length() > 0:
                    request.add_hook(Nested(self.client, self.inner_url))
                var response = self.client.send(request^)
                body = String(from_utf8_lossy=response.body.as_bytes())
                var is_right = not is_own or String("/", name, "|") in body
                ok_count += Int(response.ok() and is_right)
            except error:
                failure = error^
        put(out, "ok", ok_count)
        put(out, "body", body)
        if failure:
            put(out, "phase", failure.value().phase.name)
            put(out, "kind", failure.value().kind.name)
            put(out, "text", String(failure.value()))
        out.end_object()
        _tell(self.output, out^.finish())


def _start(
    client: SharedClient,
    output: Output,
    token: CancelToken,
    command: JsonValue,
) raises:
    var method = text_of(command, "method")
    if method.byte_length() == 0:
        method = "GET"
    for number in range(number_of(command, "threads", 1)):
        _ = Thread(
            Sender(
                client,
                output,
                method,
                text_of(command, "url"),
                number_of(command, "id", 0) + number,
                number_of(command, "count", 1),
                token,
                number_of(command, "request_ms", CLIENTS_OWN),
                text_of(command, "inner_url"),
            )
        )


@fieldwise_init
struct Batch(Task):
    """Sends requests at once, and tells how they ended."""

    var client: SharedClient
    var output: Output
    var url: String
    var count: Int
    var token: CancelToken

    def run(mut self) raises:
        var requests = List[ClientRequest]()
        for _ in range(self.count):
            var request = ClientRequest("GET", self.url)
            request.cancel = self.token
            requests.append(request^)
        var results = self.client.send_all(requests, max_parallel=3)
        var cancelled_count = 0
        for index in range(len(results)):
            if results[index].error:
                ref error = results[index].error.value()
                cancelled_count += Int(error.kind == Cancelled)
        _tell(self.output, String('{"cancelled": ', cancelled_count, "}"))


def _send_all(mut client: SharedClient, command: JsonValue) raises -> String:
    var requests = List[ClientRequest]()
    for _ in range(number_of(command, "count", 1)):
        requests.append(ClientRequest("GET", text_of(command, "url")))
    var results = client.send_all(
        requests, max_parallel=number_of(command, "parallel", 10)
    )
    var ok_count = 0
    for index in range(len(results)):
        ok_count += Int(Bool(results[index].response))
    return String('{"ack": 1, "all": ', ok_count, "}")


def _figures(client: SharedClient) -> String:
    var figures = client.figures()
    return String(
        '{"ack": 1, "idle": ',
        figures.idle,
        ', "busy": ',
        figures.busy,
        ', "waiting": ',
        figures.waiting,
        ', "opened": ',
        figures.opened,
        ', "reused": ',
        figures.reused,
        ', "waited": ',
        figures.waited,
        ', "timed_out": ',
        figures.timed_out,
        ', "refused": ',
        figures.refused,
        "}",
    )


def main() raises:
    """Follows lines until the input ends."""
    var client = SharedClient()
    var output = Output(0)
    var token = CancelToken()
    # Of a request that ends before others.
    var apart = CancelToken()
    var gate = Gate(Mutex(Doors()), Condvar())
    while True:
        var line = next_line()
        if not line:
            break
        var command = parse(line.value())
        var what = text_of(command, "do")
        var ack = String('{"ack": 1}')
        if what == "client":
            client = _client(command)
        elif what == "start":
            var own = apart if command.contains("apart") else token
            _start(client, output, own, command)
        elif what == "move":
            for number in range(number_of(command, "threads", 1)):
                _ = Thread(
                    Mover(
                        client,
                        output,
                        gate,
                        text_of(command, "way"),
                        text_of(command, "url"),
                        number_of(command, "id", 0) + number,
                        number_of(command, "length", 0),
                    )
                )
        elif what == "gate":
            gate.set(command["open"].int_value() == 1)
        elif what == "held":
            ack = String('{"ack": 1, "held": ', gate.held_count(), "}")
        elif what == "batch":
            _ = Thread(
                Batch(
                    client,
                    output,
                    text_of(command, "url"),
                    number_of(command, "count", 1),
                    token,
                )
            )
        elif what == "cancel apart":
            apart.cancel()
        elif what == "cancel":
            token.cancel()
        elif what == "new token":
            token = CancelToken()
        elif what == "all":
            ack = _send_all(client, command)
        elif what == "close":
            client.close()
        else:
            ack = _figures(client)
        _tell(output, ack)
