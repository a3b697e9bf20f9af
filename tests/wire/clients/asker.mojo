"""One request at a time, by each kind of client: a JSON object a line on standard
input, one a line on standard output."""

from flare.http.client import (
    AttemptOutcome,
    CachedClient,
    ClientConfig,
    ClientError,
    ClientHook,
    ClientRequest,
    ClientResponse,
    HttpClient,
    JitterSource,
    OutgoingAttempt,
    RequestBody,
    RetryBudget,
    RetryPolicy,
    SharedClient,
)
from flare.io import MemoryWriter, Readable
from flare.json import JsonValue, JsonWriter, parse
from flare.sys.mutex import Mutex
from flare.tls.config import TlsConfig

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


def _text(command: JsonValue, name: String) raises -> String:
    if not command.contains(name):
        return ""
    return command[name].string_value()


def _number(command: JsonValue, name: String, default: Int) raises -> Int:
    if not command.contains(name):
        return default
    return command[name].int_value()


def _policy(command: JsonValue) raises -> RetryPolicy:
    var policy = RetryPolicy(
        _number(command, "max_attempts", 3),
        budget=RetryBudget(
            _number(command, "share_percent", 20),
            _number(command, "reserve", 10),
        ),
        jitter=JitterSource(UInt64(_number(command, "seed", 1))),
    )
    policy.base_pause_ms = _number(command, "base_pause_ms", 5)
    policy.max_pause_ms = _number(command, "max_pause_ms", 5_000)
    policy.max_retry_after_ms = _number(command, "max_retry_after_ms", 30_000)
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
            Recorder(log, "Client", _number(command, "refused", 0))
        )
        config.hooks.append(add_plain_field)
        config.hooks.append(see_nothing)
    config.read_timeout_ms = _number(command, "read_timeout_ms", 10_000)
    config.total_timeout_ms = _number(command, "total_timeout_ms", 20_000)
    config.http2_prior_knowledge = command.contains("h2c")
    config.max_redirects = _number(command, "max_redirects", 10)
    if command.contains("policy"):
        config.retries = _policy(parse(_text(command, "policy")))
    if command.contains("ca_file"):
        config.tls = TlsConfig(ca_file=command["ca_file"].string_value())
    return config^


def _request(command: JsonValue, log: Log) raises -> ClientRequest:
    var method = _text(command, "method")
    if method.byte_length() == 0:
        method = "GET"
    var request = ClientRequest(method, _text(command, "url"))
    if command.contains("octets"):
        var text = command["octets"].string_value()
        request.body = RequestBody(List[UInt8](text.as_bytes()))
    if command.contains("headers"):
        for member in command["headers"].members():
            request.set_header(member.name, member.value.string_value())
    if command.contains("hook"):
        request.add_hook(Recorder(log, "Own", _number(command, "refused", 0)))
    request.is_repeatable = command.contains("repeatable")
    if command.contains("policy"):
        request.set_retries(_policy(parse(_text(command, "policy"))))
    return request^


struct Clients(Movable):
    """One of each kind, with the same settings."""

    var plain: HttpClient
    var shared: SharedClient
    var cached: CachedClient

    def __init__(out self, config: ClientConfig) raises:
        self.plain = HttpClient(config=config.copy())
        self.shared = SharedClient(config=config.copy())
        self.cached = CachedClient(HttpClient(config=config.copy()))

    def ask(
        mut self, command: JsonValue, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        var by: String
        try:
            by = _text(command, "by")
        except:
            by = ""
        if by == "shared":
            return self.shared.send(request^)
        if by == "cached":
            return self.cached.send(request^)
        if by == "open":
            return self.plain.open(request^).to_response()
        if by == "shared open":
            return self.shared.open(request^).to_response()
        if by == "batch":
            return self._ask_all(request^)
        if by == "download":
            var sink = MemoryWriter()
            return self.plain.download(request^, sink)
        if by == "upload":
            var source = Source("streamed")
            return self.plain.upload(request^, source)
        return self.plain.send(request^)

    def _ask_all(
        mut self, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        var requests: List[ClientRequest] = [request^]
        var results = self.plain.send_all(requests)
        return results.pop().take()


def _write_exchange(mut out: JsonWriter, response: ClientResponse) raises:
    out.key("head_ns")
    out.value(response.exchange.head_ns)
    out.key("reused")
    out.value(response.exchange.was_reused)
    var connection = response.exchange.connection()
    if not connection:
        return
    ref info = connection.value()
    out.key("remote")
    out.value(String(info.remote.value()) if info.remote else "")
    out.key("local")
    out.value(String(info.local.value()) if info.local else "")
    out.key("tls")
    out.value(String(info.tls_version, " ", info.tls_cipher, " ", info.alpn))
    out.key("resumed")
    out.value(info.is_resumed)
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


def _write_response(mut out: JsonWriter, response: ClientResponse) raises:
    out.key("status")
    out.value(response.status.code)
    out.key("version")
    out.value(String(response.version))
    out.key("body")
    out.value(String(from_utf8_lossy=response.body.as_bytes()))
    _write_exchange(out, response)
    out.key("history")
    out.begin_array()
    for step in response.history():
        out.value(String(step.status, " ", step.method, " ", step.url))
    out.end_array()
    out.key("attempts")
    out.value(response.story().attempt_count)
    out.key("why")
    out.value(String(response.story().retry_end.reason()))
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


def _answer(mut clients: Clients, log: Log, line: String) raises -> String:
    var command = parse(line)
    if _text(command, "do") == "client":
        clients = Clients(_config(command, log))
        return "{}"
    var out = JsonWriter()
    out.begin_object()
    var failure = Optional[ClientError]()
    var response = Optional[ClientResponse]()
    var request = _request(command, log)
    try:
        response = clients.ask(command, request^)
    except error:
        failure = error^
    if failure:
        ref error = failure.value()
        out.key("phase")
        out.value(error.phase.name)
        out.key("kind")
        out.value(error.kind.name)
        out.key("text")
        out.value(String(error))
        out.key("attempts")
        out.value(error.attempt_count)
    else:
        _write_response(out, response.value())
    _write_log(out, log)
    out.end_object()
    return out^.finish()


def main() raises:
    """Answers lines until the input ends."""
    var clients = Clients(ClientConfig())
    var log = Log([])
    while True:
        var line: String
        try:
            line = input()
        except:
            return
        print(_answer(clients, log, line), flush=True)
