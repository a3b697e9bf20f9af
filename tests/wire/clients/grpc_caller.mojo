"""A gRPC client that calls as it is told: a JSON object a line on standard input,
one a line on standard output. Calls under way have numbers."""

from flare.grpc import CallProtocol
from flare.grpc.client import (
    AnyCredentials,
    CallCredentials,
    ChannelCall,
    GrpcCallOptions,
    GrpcChannel,
    GrpcChannelConfig,
    GrpcServiceConfig,
)
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.http.client import CancelToken
from flare.json import JsonValue, JsonWriter, parse
from flare.protobuf import StringValue
from flare.sys.mutex import Mutex
from flare.sys.poll import pause
from flare.sys.thread import Task, Thread
from flare.tls.config import TlsConfig
from tests.wire.clients.orders import (
    Obedient,
    number_of,
    obey_all,
    text_of,
)


@fieldwise_init
struct Token(CallCredentials):
    """Says where it is asked for; or has none."""

    var value: String

    def metadata(
        self, service_url: String, path: String
    ) raises GrpcStatus -> Metadata:
        if self.value == "none":
            raise GrpcStatus(GrpcCode.UNAUTHENTICATED, "the token is over")
        var metadata = Metadata()
        try:
            metadata.add("authorization", String("Bearer ", self.value))
            metadata.add("x-asked-for", String(service_url, " ", path))
        except error:
            raise GrpcStatus(GrpcCode.INTERNAL, String(error))
        return metadata^


@fieldwise_init
struct Ender(Task):
    """Cancels after a time."""

    var token: CancelToken
    var after_ms: Int

    def run(mut self) raises:
        pause(self.after_ms)
        self.token.cancel()


@fieldwise_init
struct Caller(Task):
    """Calls again and again, and counts the answers that are its own."""

    var channel: GrpcChannel
    var path: String
    var number: Int
    var count: Int
    var right_count: Mutex[Int]

    def run(mut self) raises:
        for turn in range(self.count):
            var text = String("caller ", self.number, " turn ", turn)
            var request = StringValue()
            request.value = text
            try:
                var reply = self.channel.unary[StringValue](self.path, request)
                self.right_count.lock()[] += Int(reply.message.value == text)
            except error:
                print(error, flush=True)


def _channel(command: JsonValue) raises -> GrpcChannel:
    var config = GrpcChannelConfig()
    config.timeout_ms = number_of(command, "timeout_ms", 20_000)
    config.idle_timeout_ms = number_of(command, "idle_timeout_ms", 20_000)
    config.max_receive_len = number_of(
        command, "max_receive_len", config.max_receive_len
    )
    config.max_send_len = number_of(
        command, "max_send_len", config.max_send_len
    )
    config.keepalive_ms = number_of(command, "keepalive_ms", -1)
    if command.contains("protocol"):
        var type = text_of(command, "protocol")
        config.protocol = CallProtocol.of_content_type(type.as_bytes()).value()
    config.http2 = number_of(command, "http2", 1) == 1
    config.uses_get = command.contains("uses_get")
    if command.contains("service"):
        config.service = GrpcServiceConfig.parse(
            command["service"].string_value()
        )
    if command.contains("ca_file"):
        config.tls = TlsConfig(ca_file=command["ca_file"].string_value())
    if command.contains("token"):
        config.credentials = AnyCredentials(Token(text_of(command, "token")))
    var addresses = List[String]()
    for index in range(len(command["addresses"])):
        addresses.append(command["addresses"][index].string_value())
    return GrpcChannel(addresses, config^)


def _options(command: JsonValue, token: CancelToken) raises -> GrpcCallOptions:
    var options = GrpcCallOptions(
        timeout_ms=number_of(command, "timeout_ms", -2),
        coding=MessageCoding.GZIP if command.contains(
            "gzip"
        ) else MessageCoding.IDENTITY,
    )
    if command.contains("wait_for_ready"):
        options.wait_for_ready = command["wait_for_ready"].bool_value()
    if command.contains("metadata"):
        for member in command["metadata"].members():
            if member.name.endswith("-bin"):
                options.metadata.add_binary(
                    member.name, member.value.string_value().as_bytes()
                )
            else:
                options.metadata.add(member.name, member.value.string_value())
    options.max_receive_len = number_of(command, "max_receive_len", -2)
    options.cancel = token
    return options^


def _message(command: JsonValue) raises -> List[UInt8]:
    var octets = List[UInt8]()
    for _ in range(number_of(command, "times", 1)):
        octets.extend(text_of(command, "message").as_bytes())
    # What is no text.
    var digits = text_of(command, "hex")
    for start in range(0, digits.byte_length(), 2):
        octets.append(UInt8(atol(digits[byte = start : start + 2], 16)))
    return octets^


def _write_metadata(
    mut out: JsonWriter, name: StaticString, metadata: Metadata
) raises:
    out.key(name)
    out.begin_array()
    for index in range(len(metadata)):
        out.value(String(metadata.name(index), ": ", metadata.value(index)))
    out.end_array()


def _write_status(mut out: JsonWriter, status: GrpcStatus) raises:
    out.key("code")
    out.value(String(status.code))
    out.key("text")
    out.value(status.message)
    out.key("details")
    out.begin_array()
    for index in range(len(status.details)):
        out.value(
            String(
                status.details[index].type_url,
                " ",
                len(status.details[index].value),
            )
        )
    out.end_array()


struct Program(Obedient):
    """What is under way."""

    var channel: GrpcChannel
    var calls: List[Optional[ChannelCall]]
    var token: CancelToken

    def __init__(out self) raises:
        self.channel = GrpcChannel("http://127.0.0.1:1")
        self.calls = []
        self.token = CancelToken()

    def obey(mut self, command: JsonValue, mut out: JsonWriter) raises:
        var what = text_of(command, "do")
        if what == "channel":
            self.calls.clear()
            self.token = CancelToken()
            self.channel = _channel(command)
        elif what == "crowd":
            self._crowd(command, out)
        elif what == "unary" or what == "begin":
            var call = self.channel.call(
                text_of(command, "path"),
                GrpcKind(UInt8(number_of(command, "kind", 0))),
                _options(command, self.token),
                is_safe=command.contains("safe"),
            )
            self.calls.append(call^)
            out.key("id")
            out.value(len(self.calls) - 1)
            if what == "unary":
                var id = len(self.calls) - 1
                _ = self.calls[id].value().send(_message(command))
                self._next(id, out, is_last=False)
                self._end(id, out)
        elif what == "typed":
            self._typed(command, out)
        elif what == "drop":
            self.calls[number_of(command, "id", 0)] = None
        else:
            self._on(number_of(command, "id", 0), what, command, out)
        var figures = self.channel.figures()
        out.key("opened")
        out.value(figures.opened)
        out.key("busy")
        out.value(figures.busy)

    def _on(
        mut self,
        id: Int,
        what: String,
        command: JsonValue,
        mut out: JsonWriter,
    ) raises:
        if command.contains("cancel_after_ms"):
            Thread(
                Ender(self.token, command["cancel_after_ms"].int_value())
            ).forget()
        if what == "send":
            var message = _message(command)
            out.key("sent")
            var sent = 0
            for _ in range(number_of(command, "count", 1)):
                if not self.calls[id].value().send(message):
                    break
                sent += 1
            out.value(sent)
        elif what == "finish":
            self.calls[id].value().finish_sending()
        elif what == "next":
            self._next(id, out)
        elif what == "count":
            self._count(id, out)
        elif what == "headers":
            self.calls[id].value().wait_for_headers()
            self._tell(id, out)
        elif what == "status":
            self._end(id, out)
        elif what == "cancel":
            self.calls[id].value().cancel()

    def _next(
        mut self, id: Int, mut out: JsonWriter, *, is_last: Bool = True
    ) raises:
        ref call = self.calls[id].value()
        var status = Optional[GrpcStatus]()
        var has_message = False
        try:
            has_message = call.next()
        except error:
            status = error^
        if status and is_last:
            _write_status(out, status.value())
        elif has_message:
            out.key("message")
            out.value(String(from_utf8_lossy=call.message()))
        out.key("is_end")
        out.value(not has_message)

    def _end(mut self, id: Int, mut out: JsonWriter) raises:
        var status = self.calls[id].value().status()
        _write_status(out, status)
        self._tell(id, out)

    def _count(mut self, id: Int, mut out: JsonWriter) raises:
        """Reads to the end."""
        ref call = self.calls[id].value()
        var count = 0
        var length = 0
        try:
            while call.next():
                count += 1
                length += len(call.message())
        except:
            # `status` tells of it.
            length += 0
        out.key("count")
        out.value(count)
        out.key("length")
        out.value(length)
        _write_status(out, call.status())

    def _tell(mut self, id: Int, mut out: JsonWriter) raises:
        ref call = self.calls[id].value()
        _write_metadata(out, "headers", call.response.headers)
        _write_metadata(out, "trailers", call.response.trailers)

    def _crowd(self, command: JsonValue, mut out: JsonWriter) raises:
        var right_count = Mutex(0)
        var threads = List[Thread]()
        for number in range(number_of(command, "threads", 4)):
            threads.append(
                Thread(
                    Caller(
                        self.channel,
                        text_of(command, "path"),
                        number,
                        number_of(command, "count", 10),
                        right_count,
                    )
                )
            )
        while len(threads) > 0:
            threads.pop().join()
        out.key("right")
        out.value(right_count.lock()[])

    def _typed(self, command: JsonValue, mut out: JsonWriter) raises:
        """The four kinds of calls with messages of Protocol Buffers."""
        var request = StringValue()
        request.value = text_of(command, "message")
        var options = _options(command, self.token)
        var texts = List[String]()
        var failure = GrpcStatus()
        try:
            texts = _call_typed(
                self.channel,
                text_of(command, "way"),
                text_of(command, "path"),
                request,
                options,
            )
        except error:
            failure = error.copy()
        out.key("texts")
        out.begin_array()
        for text in texts:
            out.value(text)
        out.end_array()
        _write_status(out, failure)


def _call_typed(
    channel: GrpcChannel,
    way: String,
    path: String,
    request: StringValue,
    options: GrpcCallOptions,
) raises GrpcStatus -> List[String]:
    var texts = List[String]()
    if way == "unary" or way == "read":
        var reply = channel.unary[StringValue](
            path, request, options, is_safe=way == "read"
        )
        texts.append(reply.message.value)
        return texts^
    if way == "client":
        var stream = channel.client_stream[StringValue, StringValue](
            path, options
        )
        for _ in range(3):
            _ = stream.send(request)
        texts.append(stream.reply().message.value)
        return texts^
    if way == "server":
        var stream = channel.server_stream[StringValue](path, request, options)
        while True:
            var answer = stream.next()
            if not answer:
                return texts^
            texts.append(answer.value().value)
    var stream = channel.stream[StringValue, StringValue](path, options)
    for _ in range(3):
        _ = stream.send(request)
        texts.append(stream.next().value().value)
    stream.finish_sending()
    if stream.next():
        texts.append("more")
    return texts^


def main() raises:
    """Answers lines until the input ends."""
    var program = Program()
    obey_all(program)
