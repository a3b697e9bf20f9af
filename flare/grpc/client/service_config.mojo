"""The service config: what a service says of how its methods are called."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.grpc.client.retries import GrpcRetryPolicy
from flare.grpc.core.message_writer import WRITTEN_LEN_MAX
from flare.grpc.core.method_path import name_offset
from flare.grpc.core.status import CODE_MAX, GrpcCode, GrpcStatus
from flare.json.error import JsonKind
from flare.json.value import JsonView, parse

comptime NOT_SET = -1
"""A number that a method's config does not have."""

comptime _ENTRY_COUNT_MAX = 10_000


struct GrpcMethodConfig(Copyable, Movable):
    """How some methods are called."""

    var names: List[String]
    """Which: paths such as `/pkg.Service/Method`, `/pkg.Service/` for all methods
    of a service, `/` for all."""
    var timeout_ms: Int
    """The longest time of a call, in milliseconds. Default `NOT_SET`: the
    channel's."""
    var wait_for_ready: Optional[Bool]
    """Whether a call waits for a server that cannot be reached."""
    var max_send_len: Int
    """Longest message that is sent, in bytes. Default `NOT_SET`: the channel's.
    """
    var max_receive_len: Int
    """Longest message that is read, in bytes. Default `NOT_SET`: the channel's.
    """
    var retries: Optional[GrpcRetryPolicy]
    """When a call begins anew."""

    def __init__(out self, var names: List[String]):
        """Makes one that says nothing.

        Args:
            names: Which methods.
        """
        self.names = names^
        self.timeout_ms = NOT_SET
        self.wait_for_ready = None
        self.max_send_len = NOT_SET
        self.max_receive_len = NOT_SET
        self.retries = None


struct GrpcServiceConfig(Copyable, Movable):
    """What a service says of how it is called.

    Source: service_config.md of gRPC. Of a text in JSON `methodConfig` is read,
    with `name`, `timeout`, `waitForReady`, `maxRequestMessageBytes`,
    `maxResponseMessageBytes` and `retryPolicy`, `retryThrottling`, and
    `loadBalancingConfig`; what is not known is passed over.
    """

    var methods: List[GrpcMethodConfig]
    """How methods are called."""
    var max_tokens: Int
    """Of `retryThrottling`; 0 for no limit. Default 0."""
    var token_ratio: Float64
    """Of `retryThrottling`: what a success gives back. Default 0."""
    var spreads_calls: Bool
    """True if each call goes to another address in turn (`round_robin`), False
    if all go to the first one that answers (`pick_first`). Default False."""

    def __init__(out self):
        """Makes one that says nothing."""
        self.methods = []
        self.max_tokens = 0
        self.token_ratio = 0
        self.spreads_calls = False

    @staticmethod
    def parse(text: StringSpan) raises GrpcStatus -> Self:
        """Reads a config.

        Args:
            text: JSON.

        Returns:
            The config.

        Raises:
            GrpcStatus: `INVALID_ARGUMENT` if it is no JSON, a value in it
                cannot work, or something is said twice: a member of an
                object, or how a method is called.
        """
        try:
            return _read(text)
        except error:
            raise GrpcStatus(
                GrpcCode.INVALID_ARGUMENT, String("service config: ", error)
            )

    def find(self, path: StringSpan) -> Int:
        """Finds what is said of a method: the index in `methods`; -1 if nothing
        is.

        Args:
            path: Such as `/pkg.Service/Method`.
        """
        var octets = path.as_bytes()
        var service = octets.before(name_offset(octets))
        var found = self._find(path)
        if found < 0:
            found = self._find(StringSpan(unsafe_from_utf8=service))
        return found if found >= 0 else self._find("/")

    def _find(self, name: StringSpan) -> Int:
        for index in range(len(self.methods)):
            ref names = self.methods.at(index).names
            for at in range(len(names)):
                if names.at(at) == name:
                    return index
        return -1


def _read(text: StringSpan) raises -> GrpcServiceConfig:
    var config = GrpcServiceConfig()
    var document = parse(text)
    var root = document.view()
    if root.kind() != JsonKind.OBJECT:
        raise Error("it must be an object")
    _refuse_repeated(root)
    if root.contains("methodConfig"):
        var methods = root["methodConfig"]
        var known = Dict[String, Bool]()
        for index in range(_count(methods)):
            config.methods.append(_read_method(methods[index]))
            for name in config.methods.at(index).names:
                if name in known:
                    raise Error(
                        "methodConfig: '",
                        name,
                        "' is named twice; each method and service has one",
                    )
                known[name] = True
    if root.contains("retryThrottling"):
        var throttling = root["retryThrottling"]
        config.max_tokens = _number(throttling["maxTokens"])
        config.token_ratio = throttling["tokenRatio"].float_value()
        if config.max_tokens < 1 or config.max_tokens > 1_000:
            raise Error("retryThrottling.maxTokens must be 1 to 1000")
        if not (config.token_ratio > 0 and config.token_ratio <= 1_000):
            raise Error("retryThrottling.tokenRatio must be more than 0")
    if root.contains("loadBalancingConfig"):
        var choices = root["loadBalancingConfig"]
        # The first one that is known counts.
        for index in range(_count(choices)):
            if choices[index].contains("pick_first"):
                break
            if choices[index].contains("round_robin"):
                config.spreads_calls = True
                break
    return config^


def _refuse_repeated(view: JsonView) raises:
    """Raises if an object, at any depth, has two members of one name: readers
    would differ in which of them counts (RFC 8259 section 4)."""
    if view.kind() == JsonKind.ARRAY:
        for element in view.elements():
            _refuse_repeated(element)
    elif view.kind() == JsonKind.OBJECT:
        var known = Dict[String, Bool]()
        for member in view.members():
            var name = String(member.name)
            if name in known:
                raise Error(view.path(), " has '", name, "' twice")
            known[name] = True
            _refuse_repeated(member.value)


def _read_method(view: JsonView) raises -> GrpcMethodConfig:
    var names = List[String]()
    if view.contains("name"):
        var entries = view["name"]
        for index in range(_count(entries)):
            names.append(_read_name(entries[index]))
    var method = GrpcMethodConfig(names^)
    if view.contains("timeout"):
        method.timeout_ms = _duration_ms(view["timeout"])
    if view.contains("waitForReady"):
        method.wait_for_ready = view["waitForReady"].bool_value()
    if view.contains("maxRequestMessageBytes"):
        method.max_send_len = _length(view["maxRequestMessageBytes"])
    if view.contains("maxResponseMessageBytes"):
        method.max_receive_len = _length(view["maxResponseMessageBytes"])
    if view.contains("retryPolicy"):
        method.retries = _read_policy(view["retryPolicy"])
    return method^


def _read_name(view: JsonView) raises -> String:
    var service = String()
    var method = String()
    if view.contains("service"):
        service = view["service"].string_value()
    if view.contains("method"):
        method = view["method"].string_value()
    if service.byte_length() == 0:
        if method.byte_length() > 0:
            raise Error("a name with a method must have a service")
        return "/"
    return String("/", service, "/", method)


def _read_policy(view: JsonView) raises -> GrpcRetryPolicy:
    var codes = List[GrpcCode]()
    var names = view["retryableStatusCodes"]
    for index in range(_count(names)):
        codes.append(_read_code(names[index]))
    var policy = GrpcRetryPolicy(
        _number(view["maxAttempts"]),
        codes^,
        initial_backoff_ms=_duration_ms(view["initialBackoff"]),
        max_backoff_ms=_duration_ms(view["maxBackoff"]),
        backoff_multiplier=view["backoffMultiplier"].float_value(),
    )
    var problem = policy.problem()
    if problem.byte_length() > 0:
        raise Error("retryPolicy: ", problem)
    return policy^


def _read_code(view: JsonView) raises -> GrpcCode:
    if view.kind() == JsonKind.INT:
        var number = view.int_value()
        if number >= 1 and number <= CODE_MAX:
            return GrpcCode.from_number(number)
        raise Error("there is no status code ", number, " for a failure")
    var name = view.string_value()
    for number in range(1, CODE_MAX + 1):
        var code = GrpcCode.from_number(number)
        # A6: names may be in any case.
        if equals_ignore_case(code.name().as_bytes(), name.as_bytes()):
            return code
    raise Error("there is no status code '", name, "' for a failure")


def _count(view: JsonView) raises -> Int:
    """Counts the entries of a list; raises if the value is none."""
    if view.kind() != JsonKind.ARRAY or len(view) > _ENTRY_COUNT_MAX:
        raise Error(
            view.path(), " must be a list of ", _ENTRY_COUNT_MAX, " or less"
        )
    return len(view)


def _number(view: JsonView) raises -> Int:
    """Reads a whole number, which JSON of Protocol Buffers may have as text."""
    if view.kind() != JsonKind.STRING:
        return view.int_value()
    return Int(view.string_value())


def _length(view: JsonView) raises -> Int:
    """Reads the longest that a message may be (service_config.proto: 32 bits
    without a sign)."""
    var length = _number(view)
    if length < 0 or length > WRITTEN_LEN_MAX:
        raise Error(view.path(), " must be 0 to ", WRITTEN_LEN_MAX)
    return length


def _duration_ms(view: JsonView) raises -> Int:
    """Reads seconds such as `0.25s`; what is left of a millisecond counts as
    one."""
    var text = view.string_value()
    var octets = text.as_bytes()
    if len(octets) < 2 or octets.at(len(octets) - 1) != 115:
        raise Error("'", text, "' is no time; write seconds such as 0.25s")
    var whole = 0
    var part_ns = 0
    var unit_ns = 0
    var digit_count = 0
    for octet in octets.before(len(octets) - 1):
        if octet == 46 and unit_ns == 0 and digit_count > 0:
            unit_ns = 1_000_000_000
            continue
        if octet < 48 or octet > 57:
            raise Error("'", text, "' is no time; write seconds such as 0.25s")
        digit_count += 1
        if unit_ns == 1:
            raise Error("'", text, "' is finer than nanoseconds")
        if unit_ns > 0:
            unit_ns //= 10
            part_ns += (Int(octet) - 48) * unit_ns
        else:
            whole = whole * 10 + Int(octet) - 48
        if whole > 1_000_000_000:
            raise Error("'", text, "' is too long a time")
    return whole * 1_000 + (part_ns + 999_999) // 1_000_000
