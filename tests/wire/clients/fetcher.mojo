"""A client that does what it is told: a JSON object a line on standard input,
one a line on standard output."""

from flare.http.client.connect.addresses import NameResolver
from flare.http.client.connect.auth import (
    BasicAuth,
    BearerAuth,
    Credentials,
    DigestAuth,
)
from flare.http.client.client import HttpClient
from flare.http.client.message.request import ClientRequest, RequestBody
from flare.http.client.message.response import ClientResponse
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError
from flare.http.client.message.multipart import MultipartForm
from flare.http.client.connect.netrc import Netrc
from flare.http.client.connect.proxy import NoProxy, Proxy, ProxySettings
from flare.http.message.form import FormData
from flare.http.message.header_map import HeaderMap
from flare.io import Readable, Writable
from flare.json import JsonValue, JsonWriter, parse
from flare.net.ip import IpAddr
from flare.tls.config import TlsConfig
from tests.wire.clients.orders import (
    Obedient,
    number_of,
    obey_all,
    put,
    text_of,
)
from std.time import sleep


struct CountingSink(Writable):
    """Counts what is written, is slow, and fails when it is told to."""

    var count: Int
    var limit: Int
    var pause_ms: Int

    def __init__(out self, limit: Int, pause_ms: Int):
        self.count = 0
        self.limit = limit
        self.pause_ms = pause_ms

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        if self.pause_ms > 0:
            sleep(Float64(self.pause_ms) / 1_000)
        self.count += len(octets)
        if self.limit >= 0 and self.count > self.limit:
            raise Error("the disk is full")
        return len(octets)


@fieldwise_init
struct EndlessSource(Readable):
    """Gives so many octets, a few at a time if it is slow."""

    var left: Int
    var pause_ms: Int

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        var count = min(self.left, len(room))
        if self.pause_ms > 0:
            count = min(count, 10)
            sleep(Float64(self.pause_ms) / 1_000)
        for index in range(count):
            room[index] = 97
        self.left -= count
        return count


@fieldwise_init
struct Directory(NameResolver):
    """Knows one host, and is broken for another one."""

    var name: String

    def resolve(self, host: StringSpan) raises -> List[IpAddr]:
        if host == "broken.test":
            raise Error("the directory is closed")
        if host == self.name:
            return [IpAddr.parse("127.0.0.1")]
        return []


def _config(command: JsonValue) raises -> ClientConfig:
    var config = ClientConfig(strict=number_of(command, "strict", 0) != 0)
    config.connect_timeout_ms = number_of(command, "connect_timeout_ms", 5_000)
    config.read_timeout_ms = number_of(command, "read_timeout_ms", 5_000)
    config.write_timeout_ms = number_of(command, "write_timeout_ms", 5_000)
    config.total_timeout_ms = number_of(command, "total_timeout_ms", 20_000)
    config.max_redirects = number_of(command, "max_redirects", 10)
    config.max_response_size = number_of(command, "max_response_size", 64 << 20)
    config.max_decoded_size = number_of(command, "max_decoded_size", 64 << 20)
    config.max_download_size = number_of(command, "max_download_size", 16 << 30)
    config.max_retries = number_of(command, "max_retries", 0)
    config.retry_base_ms = number_of(command, "retry_base_ms", 20)
    config.retry_max_ms = number_of(command, "retry_max_ms", 5_000)
    config.decodes_content = number_of(command, "decodes_content", 1) != 0
    config.http2 = number_of(command, "http2", 1) != 0
    config.http2_prior_knowledge = number_of(command, "h2c", 0) != 0
    config.http2_ping_after_ms = number_of(command, "ping_after_ms", 15_000)
    config.http2_ping_timeout_ms = number_of(command, "ping_timeout_ms", 5_000)
    var per_host = number_of(command, "max_idle_per_host", -1)
    if per_host >= 0:
        config.pool.max_idle_per_host = per_host
    config.pool.idle_timeout_ms = number_of(command, "idle_timeout_ms", 30_000)
    if command.contains("ca_file"):
        config.tls = TlsConfig(
            ca_file=command["ca_file"].string_value(),
            key_log=text_of(command, "key_log"),
        )
    if command.contains("proxy"):
        var proxy = Proxy(command["proxy"].string_value())
        if command.contains("proxy_ca"):
            proxy.tls = TlsConfig(ca_file=text_of(command, "proxy_ca"))
        if command.contains("proxy_digest"):
            proxy.credentials = DigestAuth(
                text_of(command, "proxy_digest"), text_of(command, "password")
            )
        config.proxy = ProxySettings(
            proxy^, NoProxy(text_of(command, "no_proxy"))
        )
    if command.contains("closes"):
        config.headers.set("Connection", "close")
    if command.contains("netrc"):
        config.netrc = Netrc(text_of(command, "netrc"))
    if command.contains("pins"):
        for member in command["pins"].members():
            var addresses = List[String]()
            for address in member.value.string_value().split(" "):
                addresses.append(String(address))
            config.addresses.pin(member.name, addresses)
    if command.contains("resolves"):
        config.addresses.resolve_with(Directory(text_of(command, "resolves")))
    return config^


def _client(command: JsonValue) raises -> HttpClient:
    var auth = Credentials()
    if command.contains("bearer"):
        auth = BearerAuth(command["bearer"].string_value())
    if command.contains("user"):
        auth = BasicAuth(text_of(command, "user"), text_of(command, "password"))
    if command.contains("digest_user"):
        auth = DigestAuth(
            text_of(command, "digest_user"), text_of(command, "password")
        )
    var client = HttpClient(text_of(command, "base"), auth, _config(command))
    if command.contains("cookies"):
        client = client^.with_cookies()
    return client^


def _request(command: JsonValue) raises -> ClientRequest:
    var request = ClientRequest(
        text_of(command, "method") if command.contains("method") else "GET",
        text_of(command, "url"),
    )
    if command.contains("json"):
        request.body = RequestBody(command["json"].string_value())
    if command.contains("octets"):
        var text = command["octets"].string_value()
        request.body = RequestBody(List[UInt8](text.as_bytes()))
    if command.contains("form"):
        var form = FormData()
        for member in command["form"].members():
            form.add(String(member.name), member.value.string_value())
        request.body = RequestBody(form)
    if command.contains("files"):
        var form = MultipartForm()
        form.add("title", "two files")
        for member in command["files"].members():
            form.add_file(
                "files",
                String(member.name),
                member.value.string_value().as_bytes(),
                "text/plain",
            )
        request.body = RequestBody(form^)
    if command.contains("paths"):
        var form = MultipartForm()
        form.add("title", "by path")
        for member in command["paths"].members():
            form.add_file_from(
                String(member.name),
                member.value.string_value(),
                content_type="text/plain",
            )
        form.add("end", "last")
        request.body = RequestBody(form^)
    if command.contains("basic"):
        request.auth = BasicAuth("own", command["basic"].string_value())
    if command.contains("timeout_ms"):
        request.total_timeout_ms = command["timeout_ms"].int_value()
    if command.contains("headers"):
        for member in command["headers"].members():
            request.set_header(member.name, member.value.string_value())
    if command.contains("query"):
        for member in command["query"].members():
            request.add_query(String(member.name), member.value.string_value())
    request.expects_continue = command.contains("expect")
    if command.contains("http_1_0"):
        request.minor_version = 0
    return request^


def _write_headers(mut out: JsonWriter, headers: HeaderMap) raises:
    out.begin_array()
    for index in range(len(headers)):
        out.begin_array()
        out.value(headers.name(index))
        out.value(headers.value(index))
        out.end_array()
    out.end_array()


def _write_response(mut out: JsonWriter, response: ClientResponse) raises:
    put(out, "status", response.status.code)
    put(out, "reason", response.reason)
    put(out, "version", String(response.version))
    out.key("headers")
    _write_headers(out, response.headers)
    out.key("trailers")
    _write_headers(out, response.trailers)
    put(out, "body_len", len(response.body))
    out.key("body")
    var octets = response.body.as_bytes()
    out.value(String(from_utf8_lossy=octets[0 : min(len(octets), 10_000)]))
    put(out, "url", String(response.url))
    put(out, "redirects", response.redirect_count)
    put(out, "decoded", _decoded(response))
    put(out, "verdict", _verdict(response))


def _decoded(response: ClientResponse) -> String:
    if len(response.body) > 10_000:
        return "much"
    try:
        return response.text()
    except error:
        return String("error: ", error)


def _verdict(response: ClientResponse) -> String:
    try:
        response.raise_for_status()
        return "ok"
    except error:
        return String(error)


def _write_error(mut out: JsonWriter, error: ClientError) raises:
    put(out, "phase", error.phase.name)
    put(out, "kind", error.kind.name)
    put(out, "url", error.url)
    put(out, "text", String(error))
    if error.tls_kind:
        put(out, "tls", error.tls_kind.value().name)


def _run(
    mut client: HttpClient, command: JsonValue, mut out: JsonWriter
) raises:
    var what = text_of(command, "do")
    var request = _request(command)
    var sink = CountingSink(
        number_of(command, "sink_limit", -1),
        number_of(command, "sink_pause_ms", 0),
    )
    var source = EndlessSource(
        number_of(command, "length", 0),
        number_of(command, "source_pause_ms", 0),
    )
    var announced = number_of(command, "announced", -1)
    var failure = Optional[ClientError]()
    var response = Optional[ClientResponse]()
    try:
        response = _exchange(client, request^, what, announced, source, sink)
    except error:
        failure = error^
    if failure:
        _write_error(out, failure.value())
    else:
        _write_response(out, response.value())
    put(out, "sink_count", sink.count)
    put(out, "idle", client.idle_count())


def _exchange(
    mut client: HttpClient,
    var request: ClientRequest,
    what: String,
    announced: Int,
    mut source: EndlessSource,
    mut sink: CountingSink,
) raises ClientError -> ClientResponse:
    if what == "download":
        return client.download(request^, sink)
    if what == "upload":
        return client.upload(request^, source, announced)
    return client.send(request^)


def _run_all(
    mut client: HttpClient, command: JsonValue, mut out: JsonWriter
) raises:
    var requests = List[ClientRequest]()
    for index in range(len(command["requests"])):
        # Each is a text, so that it is parsed as a command of its own.
        var text = command["requests"][index].string_value()
        requests.append(_request(parse(text)))
    var results = client.send_all(
        requests, max_parallel=number_of(command, "parallel", 10)
    )
    out.key("results")
    out.begin_array()
    for index in range(len(results)):
        out.begin_object()
        if results[index].error:
            _write_error(out, results[index].error.value())
        else:
            _write_response(out, results[index].response.value())
        out.end_object()
    out.end_array()
    put(out, "idle", client.idle_count())


@fieldwise_init
struct Program(Obedient):
    var client: HttpClient

    def obey(mut self, order: JsonValue, mut answer: JsonWriter) raises:
        var what = text_of(order, "do")
        if what == "client":
            self.client = _client(order)
        elif what == "close":
            self.client.close()
        elif what == "all":
            _run_all(self.client, order, answer)
        else:
            _run(self.client, order, answer)


def main() raises:
    """Answers lines until the input ends."""
    var program = Program(HttpClient())
    obey_all(program)
