"""One request at a time, by each kind of client: a JSON object a line on standard
input, one a line on standard output.

    asker
    asker PORT CLIENT

With a port it is a server, which has the client on the loop of its worker: a line is
the content of a request then, and so is what it is answered with. CLIENT is what
`client` is told by a line without.
"""

from flare.http import HttpServer, Request, Response, Router, ok
from flare.http.client import (
    AttemptOutcome,
    BasicAuth,
    CachedClient,
    ClientConfig,
    ClientError,
    ClientHook,
    ClientRequest,
    ClientResponse,
    DigestAuth,
    HttpClient,
    JitterSource,
    OutgoingAttempt,
    RequestBody,
    RetryBudget,
    RetryPolicy,
    SendResult,
    SharedClient,
)
from flare.http.client.message.request import parse_request_url
from flare.http.client.transfers import TransferMethods
from flare.http.fetch import Continuation, NextStep, fetch_later
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.routing import Deferred, Handler
from flare.io import MemoryWriter, Readable
from flare.json import JsonValue, JsonWriter, parse
from flare.net import SocketAddr
from flare.sys.mutex import Mutex
from flare.tls.config import TlsConfig
from tests.wire.clients.orders import number_of, put, text_of
from std.pathlib import Path
from std.sys import argv

comptime Log = Mutex[List[String]]
"""What the hooks have seen since the last answer."""


@fieldwise_init
struct Recorder(ClientHook):
    """Notes all that it sees, numbers the attempts, and refuses one."""

    var log: Log
    var name: String
    var refused: Int

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        self.log.lock()[].append(
            String(
                self.name,
                " ",
                attempt.number,
                " ",
                attempt.method,
                " ",
                attempt.url.request_target(),
                " ",
                len(attempt.content),
                " ",
                len(attempt.headers),
            )
        )
        if attempt.number == self.refused:
            raise Error("the key has expired")
        attempt.headers.set(String("X-", self.name), String(attempt.number))

    def after_attempt(self, outcome: AttemptOutcome):
        var text = String(self.name, " ", outcome.number, " ")
        if outcome.error:
            text.write(outcome.error.value().kind.name)
        else:
            text.write(outcome.status, " ")
            var length = outcome.headers.get("content-length")
            if length:
                text.write(length.value())
            else:
                text.write("-")
        if outcome.elapsed_ns <= 0 or outcome.elapsed_ns > 60_000_000_000:
            text.write(" in no time")
        self.log.lock()[].append(text)


def add_plain_field(mut attempt: OutgoingAttempt) raises:
    """A plain function as a hook."""
    attempt.headers.set("X-Plain", attempt.method)


def see_nothing(outcome: AttemptOutcome):
    """A plain function that is told of each attempt."""
    _ = outcome.elapsed_ns


struct Source(Readable):
    """Gives a text once."""

    var octets: List[UInt8]
    var offset: Int

    def __init__(out self, text: String):
        self.octets = List[UInt8](text.as_bytes())
        self.offset = 0

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        var count = min(len(self.octets) - self.offset, len(room))
        for index in range(count):
            room[index] = self.octets[self.offset + index]
        self.offset += count
        return count


def _text_or(
    command: JsonValue, name: String, default: StaticString
) raises -> String:
    if not command.contains(name):
        return String(default)
    return command[name].string_value()


def _policy(command: JsonValue) raises -> RetryPolicy:
    var policy = RetryPolicy(
        number_of(command, "max_attempts", 3),
        budget=RetryBudget(
            number_of(command, "share_percent", 20),
            number_of(command, "reserve", 10),
        ),
        jitter=JitterSource(UInt64(number_of(command, "seed", 1))),
    )
    policy.base_pause_ms = number_of(command, "base_pause_ms", 5)
    policy.max_pause_ms = number_of(command, "max_pause_ms", 5_000)
    policy.max_retry_after_ms = number_of(command, "max_retry_after_ms", 30_000)
    if command.contains("statuses"):
        policy.retried_statuses = []
        for index in range(len(command["statuses"])):
            policy.retried_statuses.append(
                command["statuses"][index].int_value()
            )
    policy.retries_connects = not command.contains("no_connects")
    policy.retries_losses = not command.contains("no_losses")
    policy.retries_timeouts = not command.contains("no_timeouts")
    policy.trusts_idempotency_key = command.contains("trusts_key")
    return policy^


def _config(command: JsonValue, log: Log) raises -> ClientConfig:
    var config = ClientConfig()
    if command.contains("hook"):
        config.hooks.append(
            Recorder(log, "Client", number_of(command, "refused", 0))
        )
        config.hooks.append(add_plain_field)
        config.hooks.append(see_nothing)
    config.read_timeout_ms = number_of(command, "read_timeout_ms", 10_000)
    config.total_timeout_ms = number_of(command, "total_timeout_ms", 20_000)
    config.http2_prior_knowledge = command.contains("h2c")
    config.max_redirects = number_of(command, "max_redirects", 10)
    if command.contains("policy"):
        config.retries = _policy(parse(text_of(command, "policy")))
    if command.contains("ca_file"):
        config.tls = TlsConfig(ca_file=command["ca_file"].string_value())
    return config^


def _request(command: JsonValue, log: Log) raises -> ClientRequest:
    var method = text_of(command, "method")
    if method.byte_length() == 0:
        method = "GET"
    var request = ClientRequest(method, text_of(command, "url"))
    if command.contains("octets"):
        var text = command["octets"].string_value()
        request.body = RequestBody(List[UInt8](text.as_bytes()))
    if command.contains("headers"):
        for member in command["headers"].members():
            request.set_header(member.name, member.value.string_value())
    if command.contains("hook"):
        request.add_hook(Recorder(log, "Own", number_of(command, "refused", 0)))
    request.is_repeatable = command.contains("repeatable")
    request.expects_continue = command.contains("expect")
    if command.contains("timeout_ms"):
        request.total_timeout_ms = number_of(command, "timeout_ms", 0)
    if command.contains("basic"):
        request.auth = BasicAuth("ann", text_of(command, "basic"))
    if command.contains("digest"):
        request.auth = DigestAuth("ann", text_of(command, "digest"))
    if command.contains("policy"):
        request.set_retries(_policy(parse(text_of(command, "policy"))))
    return request^


struct Clients(Movable):
    """One of each kind, with the same settings."""

    var plain: HttpClient
    var shared: SharedClient
    var cached: CachedClient

    def __init__(out self, config: ClientConfig, keeps_cookies: Bool) raises:
        self.plain = HttpClient(config=config.copy())
        self.shared = SharedClient(config=config.copy())
        self.cached = CachedClient(HttpClient(config=config.copy()))
        if keeps_cookies:
            self.plain = HttpClient(config=config.copy()).with_cookies()
            self.shared = SharedClient(config=config.copy()).with_cookies()
            self.cached = CachedClient(
                HttpClient(config=config.copy()).with_cookies()
            )

    def ask(
        mut self, command: JsonValue, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        """Sends as `by` says: the kind of client, and behind it the call."""
        var by = text_of(command, "by")
        if by == "" or by == "plain":
            return self.plain.send(request^)
        if by == "shared":
            return self.shared.send(request^)
        if by == "cached":
            return self.cached.send(request^)
        var words = by.split(" ")
        var call = String(words[len(words) - 1])
        if words[0] == "shared":
            return _call(self.shared, call, command, request^)
        if words[0] == "cached":
            return _call(self.cached, call, command, request^)
        return _call(self.plain, call, command, request^)


def _call[
    C: TransferMethods
](
    mut client: C,
    call: String,
    command: JsonValue,
    var request: ClientRequest,
) raises ClientError -> ClientResponse:
    if call == "open":
        return client.open(request^).to_response()
    if call == "batch":
        var requests: List[ClientRequest] = [request^]
        var results = client.send_all(requests)
        return results.pop().take()
    if call == "download":
        var sink = MemoryWriter()
        var response = client.download(request^, sink)
        if command.contains("shows_sink"):
            var text = String(from_utf8_lossy=sink.octets)
            response.body = Body(text + response.text())
        return response^
    if call == "file":
        var path = text_of(command, "path")
        var file = client.download_file(request^, path, max_attempts=1)
        var response = ClientResponse(file.url.copy())
        response.status = 200
        swap(response.headers, file.headers)
        response.body = Body(Path(path).read_text())
        return response^
    if call == "events":
        return _first_event(client, request^)
    if call == "upload":
        var source = Source(_text_or(command, "octets", "streamed"))
        return client.upload(request^, source)
    if call == "stream":
        var source = Source(_text_or(command, "octets", "streamed"))
        return client.open(request^, source^).to_response()
    if call == "conversation":
        return _converse(client, command, request^)
    raise Error("no such call: ", call)


def _first_event[
    C: TransferMethods
](client: C, var request: ClientRequest) raises ClientError -> ClientResponse:
    """Makes content again of the first event; 204 if there is none."""
    var response = ClientResponse(parse_request_url(request.url))
    # A total time ends with the head, and silence counts behind it.
    var silence_ms = request.total_timeout_ms
    var events = client.events(request^, max_attempts=1)
    if silence_ms > 0:
        events.idle_timeout_ms = silence_ms
    var event = events.next()
    response.status = 204
    if event:
        response.status = 200
        response.body = Body(String("data: ", event.value().data, "\n\n"))
    return response^


def _converse[
    C: TransferMethods
](
    client: C, command: JsonValue, var request: ClientRequest
) raises ClientError -> ClientResponse:
    """Writes all, if there is anything to write, then reads all."""
    var response = ClientResponse(parse_request_url(request.url))
    var writes = command.contains("octets")
    request.body = RequestBody()
    if not writes:
        request.body = RequestBody(List[UInt8]())
    var call = client.open_request(request^)
    if writes:
        _ = call.write(text_of(command, "octets").as_bytes())
        call.finish()
    call.wait_for_head()
    var octets = List[UInt8]()
    var room = List[UInt8](length=65_536, fill=0)
    while True:
        var count = call.read(room)
        if count == 0:
            break
        octets.extend(Span(room)[:count])
    response.status = call.status
    response.version = call.version
    response.headers = call.headers.copy()
    response.trailers = call.trailers.copy()
    response.body = Body(String(from_utf8_lossy=octets))
    return response^


def _write_exchange(mut out: JsonWriter, response: ClientResponse) raises:
    put(out, "head_ns", response.exchange.head_ns)
    put(out, "reused", response.exchange.was_reused)
    var connection = response.exchange.connection()
    if not connection:
        return
    ref info = connection.value()
    put(out, "remote", String(info.remote.value()) if info.remote else "")
    put(out, "local", String(info.local.value()) if info.local else "")
    put(
        out,
        "tls",
        String(info.tls_version, " ", info.tls_cipher, " ", info.alpn),
    )
    put(out, "resumed", info.is_resumed)
    out.key("times")
    out.begin_array()
    out.value(info.times.resolve_ns)
    out.value(info.times.connect_ns)
    out.value(info.times.proxy_ns)
    out.value(info.times.tls_ns)
    out.end_array()
    var certificate = info.certificate()
    if not certificate:
        return
    ref shown = certificate.value()
    out.key("certificate")
    out.begin_array()
    out.value(shown.subject)
    out.value(shown.issuer)
    out.value(shown.not_before)
    out.value(shown.not_after)
    out.value(",".join(shown.dns_names))
    out.value(",".join(shown.ip_addresses))
    out.value(shown.fingerprint)
    out.end_array()


def _write_fields(
    mut out: JsonWriter, name: StaticString, fields: HeaderMap
) raises:
    out.key(name)
    out.begin_array()
    for index in range(len(fields)):
        out.value(String(fields.name(index), ": ", fields.value(index)))
    out.end_array()


def _write_response(mut out: JsonWriter, response: ClientResponse) raises:
    _write_fields(out, "headers", response.headers)
    _write_fields(out, "trailers", response.trailers)
    put(out, "url", String(response.url))
    put(out, "status", response.status.code)
    put(out, "version", String(response.version))
    put(out, "body", String(from_utf8_lossy=response.body.as_bytes()))
    _write_exchange(out, response)
    out.key("history")
    out.begin_array()
    for step in response.history():
        out.value(String(step.status, " ", step.method, " ", step.url))
    out.end_array()
    put(out, "attempts", response.story().attempt_count)
    put(out, "why", String(response.story().retry_end.reason()))
    out.key("verdict")
    var verdict = String("ok")
    try:
        response.raise_for_status()
    except error:
        verdict = String(error)
    out.value(verdict)


def _write_log(mut out: JsonWriter, log: Log) raises:
    var guard = log.lock()
    out.key("log")
    out.begin_array()
    for line in guard[]:
        out.value(line)
    out.end_array()
    guard[].clear()


def _write_error(mut out: JsonWriter, error: ClientError) raises:
    put(out, "phase", error.phase.name)
    put(out, "kind", error.kind.name)
    put(out, "text", String(error))
    put(out, "attempts", error.attempt_count)


def _answer(mut clients: Clients, log: Log, line: String) raises -> String:
    var command = parse(line)
    if text_of(command, "do") == "client":
        clients = Clients(_config(command, log), command.contains("cookies"))
        return "{}"
    var out = JsonWriter()
    out.begin_object()
    try:
        _ask(clients, command, log, out)
    except error:
        _write_error(out, error)
    _write_log(out, log)
    out.end_object()
    return out^.finish()


def _ask(
    mut clients: Clients, command: JsonValue, log: Log, mut out: JsonWriter
) raises ClientError:
    var response = clients.ask(command, _request(command, log))
    _write_response(out, response)


struct Told(Continuation):
    """Tells what became of a request."""

    def __init__(out self):
        pass

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        var out = JsonWriter()
        out.begin_object()
        if results[0].error:
            _write_error(out, results[0].error.value())
        else:
            _write_response(out, results[0].response.value())
        out.end_object()
        return ok(out^.finish())


@fieldwise_init
struct OnTheLoop(Copyable, Handler):
    """Sends what a line says, and waits for nothing."""

    var client: SharedClient

    def serve(self, req: Request) raises -> Response:
        var request = _request(parse(req.text()), Log([]))
        return fetch_later(req, self.client, [request^], Told())


def _serve(port: UInt16, config: String) raises:
    var command = parse(config)
    var client = SharedClient(config=_config(command, Log([])))
    if command.contains("cookies"):
        client = client.with_cookies()
    var router = Router()
    router.post("/", Deferred(OnTheLoop(client), waits_for_content=True))
    var server = HttpServer.bind(SocketAddr.localhost(port))
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^)


def main() raises:
    """Answers lines until the input ends, or requests."""
    if len(argv()) > 2:
        return _serve(UInt16(Int(argv()[1])), String(argv()[2]))
    var clients = Clients(ClientConfig(), False)
    var log = Log([])
    while True:
        var line: String
        try:
            line = input()
        except:
            return
        print(_answer(clients, log, line), flush=True)
