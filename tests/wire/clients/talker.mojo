"""A WebSocket client that does what it is told: a JSON object a line on
standard input, one a line on standard output."""

from flare.http.client.connect.proxy import NoProxy, Proxy, ProxySettings
from flare.json import JsonValue, JsonWriter
from flare.runtime import Task, Thread
from flare.tls.config import TlsConfig
from flare.ws import (
    DeflateAgreement,
    Opcode,
    WsClient,
    WsClientConfig,
    WsClientSender,
    WsError,
    WsFrame,
)
from tests.wire.clients.orders import (
    Obedient,
    number_of,
    obey_all,
    text_of,
)


def _config(command: JsonValue) raises -> WsClientConfig:
    var config = WsClientConfig()
    config.connect_timeout_ms = number_of(command, "connect_timeout_ms", 5_000)
    config.read_timeout_ms = number_of(command, "read_timeout_ms", 5_000)
    config.write_timeout_ms = number_of(command, "write_timeout_ms", 5_000)
    config.close_timeout_ms = number_of(command, "close_timeout_ms", 2_000)
    config.max_frame_size = number_of(command, "max_frame_size", 16 << 20)
    config.max_message_size = number_of(command, "max_message_size", 16 << 20)
    if command.contains("headers"):
        for member in command["headers"].members():
            config.headers.set(member.name, member.value.string_value())
    if command.contains("subprotocols"):
        for element in command["subprotocols"].elements():
            config.subprotocols.append(element.string_value())
    if command.contains("window_bits"):
        var bits = command["window_bits"].int_value()
        config.compression = DeflateAgreement(True, True, bits, bits)
    if number_of(command, "compresses", 1) == 0:
        config.compression = None
    config.http2 = number_of(command, "http2", 0) == 1
    config.http2_prior_knowledge = number_of(command, "prior_knowledge", 0) == 1
    if command.contains("ca_file"):
        config.tls = TlsConfig(ca_file=command["ca_file"].string_value())
    if command.contains("proxy"):
        config.proxy = ProxySettings(
            Proxy(command["proxy"].string_value()),
            NoProxy(text_of(command, "no_proxy")),
        )
    return config^


def _write_error(error: WsError, mut answer: JsonWriter) raises:
    answer.key("kind")
    answer.value(String(error.kind))
    answer.key("close_code")
    answer.value(error.close_code)
    answer.key("close_reason")
    answer.value(error.close_reason)
    answer.key("status")
    answer.value(error.status)
    answer.key("error")
    answer.value(String(error))


def _write_frame(frame: WsFrame, mut answer: JsonWriter) raises:
    answer.key("opcode")
    answer.value(String(frame.opcode))
    answer.key("is_final")
    answer.value(frame.is_final)
    answer.key("close_code")
    answer.value(frame.close_code)
    answer.key("text")
    answer.value(frame.text_payload())


@fieldwise_init
struct _Typist(Task):
    """Sends texts with numbers from a thread of its own."""

    var sender: WsClientSender
    var text: String
    var count: Int

    def run(mut self) raises:
        for number in range(self.count):
            self.sender.send_text(String(self.text, number), timeout_ms=10_000)


def _type(mut ws: WsClient, text: String, count: Int) raises:
    """Receives what a thread sends and the server gives back."""
    var thread = Thread(_Typist(ws.sender(), text, count))
    for number in range(count):
        if ws.recv_message().as_text() != String(text, number):
            raise Error("message ", number, " is another one")
    thread^.join()


def _talk(
    mut ws: WsClient, command: JsonValue, mut answer: JsonWriter
) raises WsError:
    """Does one thing with an open connection."""
    var order: String
    var text: String
    var count: Int
    var code: Int
    try:
        order = text_of(command, "do")
        text = text_of(command, "text")
        count = number_of(command, "count", 1)
        code = number_of(command, "code", 1000)
    except:
        return
    if order == "send":
        for _ in range(count):
            ws.send_text(text)
    elif order == "send_binary":
        var octets = List[UInt8](length=count, fill=0xFE)
        ws.send_binary(Span(octets))
    elif order == "fragment":
        var opcode = Opcode.TEXT if code == 1 else Opcode.CONTINUATION
        ws.send_fragment(opcode, text.as_bytes(), count == 1)
    elif order == "type":
        try:
            _type(ws, text, count)
            _note_text("typed", answer)
        except error:
            _note_text(String(error), answer)
    elif order == "ping":
        ws.ping(text)
    elif order == "close":
        ws.close(code, text)
    elif order == "recv":
        var message = ws.recv_message()
        _note(message.is_text, len(message), answer)
        if message.is_text:
            _note_text(message.as_text(), answer)
    elif order == "frame":
        var frame = ws.recv()
        _note_frame(frame, answer)


def _note(is_text: Bool, length: Int, mut answer: JsonWriter):
    try:
        answer.key("is_text")
        answer.value(is_text)
        answer.key("length")
        answer.value(length)
    except:
        return


def _note_text(text: String, mut answer: JsonWriter):
    try:
        answer.key("text")
        answer.value(text)
    except:
        return


def _note_frame(frame: WsFrame, mut answer: JsonWriter):
    try:
        _write_frame(frame, answer)
    except:
        return


def _connect(
    command: JsonValue, mut answer: JsonWriter
) raises -> Optional[WsClient]:
    var config = _config(command)
    var url = text_of(command, "url")
    var ws = Optional[WsClient]()
    var failure = Optional[WsError]()
    try:
        ws = WsClient.connect(url, config^)
    except error:
        failure = error^
    if failure:
        _write_error(failure.value(), answer)
        return None
    answer.key("subprotocol")
    answer.value(ws.value().subprotocol)
    # RFC 9113 section 8.2.2: HTTP/2 has no such field.
    answer.key("version")
    answer.value("HTTP/1.1" if "upgrade" in ws.value().headers else "HTTP/2")
    answer.key("server")
    var server = ws.value().headers.get("server")
    answer.value(String(server.value()) if server else "")
    return ws^


def _block(url: String, number: String) raises:
    """Errors of two types leave one block."""
    with WsClient.connect(url) as ws:
        ws.send_text(number)
        _ = Int(ws.recv_message().as_text())


@fieldwise_init
struct Talker(Obedient):
    var ws: Optional[WsClient]

    def obey(mut self, command: JsonValue, mut answer: JsonWriter) raises:
        if text_of(command, "do") == "connect":
            self.ws = _connect(command, answer)
            return
        if text_of(command, "do") == "block":
            try:
                _block(text_of(command, "url"), text_of(command, "text"))
            except error:
                answer.key("error")
                answer.value(String(error))
            return
        if not self.ws:
            return
        if text_of(command, "do") == "drop":
            self.ws = None
            return
        try:
            _talk(self.ws.value(), command, answer)
        except error:
            _write_error(error, answer)
        answer.key("is_open")
        answer.value(self.ws.value().is_open())
        answer.key("closed_with")
        answer.value(self.ws.value().close_code())


def main() raises:
    """Obeys until the input ends."""
    var talker = Talker(None)
    obey_all(talker)
