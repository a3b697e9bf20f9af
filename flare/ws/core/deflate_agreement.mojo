"""What both sides agree on about compression: permessage-deflate (RFC 7692)."""

from flare.ws.core.extension_list import Extension, ExtensionParameter

comptime PERMESSAGE_DEFLATE = StaticString("permessage-deflate")
"""The name of the extension (RFC 7692 section 7)."""

comptime _WINDOW_BITS_MIN = 8
comptime _WINDOW_BITS_MAX = 15

comptime _SERVER_NO_TAKEOVER = StaticString("server_no_context_takeover")
comptime _CLIENT_NO_TAKEOVER = StaticString("client_no_context_takeover")
comptime _SERVER_BITS = StaticString("server_max_window_bits")
comptime _CLIENT_BITS = StaticString("client_max_window_bits")


struct DeflateAgreement(Equatable, TrivialRegisterPassable, Writable):
    """The parameters of RFC 7692 section 7.1, as a client wishes them or as
    both sides agreed on them."""

    var server_no_context_takeover: Bool
    """True if each message of the server stands for itself."""
    var client_no_context_takeover: Bool
    """True if each message of the client stands for itself."""
    var server_window_bits: Int
    """How far back messages of the server refer, as a power of two: 8 to 15."""
    var client_window_bits: Int
    """How far back messages of the client refer, as a power of two: 8 to 15."""
    var names_server_window: Bool
    """True to write `server_window_bits` even if it is 15, which says nothing
    new: whoever is asked for it has to answer with it."""

    def __init__(
        out self,
        server_no_context_takeover: Bool,
        client_no_context_takeover: Bool,
        server_window_bits: Int,
        client_window_bits: Int,
        *,
        names_server_window: Bool = False,
    ):
        """Makes an agreement.

        Args:
            server_no_context_takeover: True if each message of the server
                stands for itself.
            client_no_context_takeover: True if each message of the client
                stands for itself.
            server_window_bits: How far back messages of the server refer, as a
                power of two: 8 to 15.
            client_window_bits: How far back messages of the client refer, as a
                power of two: 8 to 15.
            names_server_window: True to write `server_window_bits` even if it
                is 15.
        """
        self.server_no_context_takeover = server_no_context_takeover
        self.client_no_context_takeover = client_no_context_takeover
        self.server_window_bits = server_window_bits
        self.client_window_bits = client_window_bits
        self.names_server_window = names_server_window

    def __eq__(self, other: Self) -> Bool:
        """Compares what is agreed on, however it is written.

        Args:
            other: An agreement.

        Returns:
            True if both sides may do the same.
        """
        return (
            self.server_no_context_takeover == other.server_no_context_takeover
            and self.client_no_context_takeover
            == other.client_no_context_takeover
            and self.server_window_bits == other.server_window_bits
            and self.client_window_bits == other.client_window_bits
        )

    @staticmethod
    def widest() -> Self:
        """Makes what there is without any parameter.

        Returns:
            Context taken over both ways, windows of 32 KiB.
        """
        return Self(False, False, _WINDOW_BITS_MAX, _WINDOW_BITS_MAX)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the value of a field that states the agreement.

        Args:
            writer: Where to.
        """
        writer.write(PERMESSAGE_DEFLATE)
        if self.server_no_context_takeover:
            writer.write("; ", _SERVER_NO_TAKEOVER)
        if self.client_no_context_takeover:
            writer.write("; ", _CLIENT_NO_TAKEOVER)
        if (
            self.names_server_window
            or self.server_window_bits < _WINDOW_BITS_MAX
        ):
            writer.write("; ", _SERVER_BITS, "=", self.server_window_bits)
        if self.client_window_bits < _WINDOW_BITS_MAX:
            writer.write("; ", _CLIENT_BITS, "=", self.client_window_bits)

    def offer(self) -> String:
        """Writes what a client offers.

        Source: RFC 7692 section 7.1.2.2: without a value, the parameter tells
        that the client can keep to a smaller window if the server asks.

        Returns:
            The value of a Sec-WebSocket-Extensions field.
        """
        var text = String(self)
        if self.client_window_bits == _WINDOW_BITS_MAX:
            text.write("; ", _CLIENT_BITS)
        return text^

    def accepts(self, other: Self) -> Bool:
        """Tells whether an answer keeps to what was asked for.

        Args:
            other: What the server has answered.

        Returns:
            False if the server may do what the client asked it not to do, or
            passes over a parameter that it has to answer (RFC 7692 section
            7.1.2.1).
        """
        if self.names_server_window and not other.names_server_window:
            return False
        if self.server_no_context_takeover:
            if not other.server_no_context_takeover:
                return False
        return other.server_window_bits <= self.server_window_bits


struct _Parameters(TrivialRegisterPassable):
    """The parameters of one extension, each at most once."""

    var agreement: DeflateAgreement
    var has_client_bits: Bool
    var client_bits_have_value: Bool
    var _seen: UInt8

    def __init__(out self):
        self.agreement = DeflateAgreement.widest()
        self.has_client_bits = False
        self.client_bits_have_value = False
        self._seen = 0

    def add(mut self, parameter: ExtensionParameter) -> Bool:
        """Takes a parameter; False if it is unknown, twice there or wrong."""
        var bit = _parameter_bit(parameter.name)
        if bit == 0 or (self._seen & bit) != 0:
            return False
        self._seen |= bit
        if bit <= 2:
            if bit == 1:
                self.agreement.server_no_context_takeover = True
            else:
                self.agreement.client_no_context_takeover = True
            return not parameter.has_value
        if bit == 8:
            self.has_client_bits = True
            self.client_bits_have_value = parameter.has_value
            if not parameter.has_value:
                return True
        var bits = _window_bits(parameter.value)
        if bits == 0:
            return False
        if bit == 4:
            self.agreement.server_window_bits = bits
            self.agreement.names_server_window = True
        else:
            self.agreement.client_window_bits = bits
        return True


def _parameter_bit(name: String) -> UInt8:
    if name == _SERVER_NO_TAKEOVER:
        return 1
    if name == _CLIENT_NO_TAKEOVER:
        return 2
    if name == _SERVER_BITS:
        return 4
    return 8 if name == _CLIENT_BITS else 0


def _window_bits(value: String) -> Int:
    """Reads 8 to 15 without leading zeros (RFC 7692 section 7.1.2); else 0."""
    var digits = value.as_bytes()
    if len(digits) == 1 and (digits[0] == 56 or digits[0] == 57):
        return Int(digits[0]) - 48
    if len(digits) == 2 and digits[0] == 49:
        if digits[1] >= 48 and digits[1] <= 53:
            return Int(digits[1]) - 38
    return 0


def _read(extension: Extension) -> Optional[_Parameters]:
    var parameters = _Parameters()
    for parameter in extension.parameters:
        if not parameters.add(parameter):
            return None
    return parameters


def choose_deflate(
    offers: List[Extension], wish: DeflateAgreement
) -> Optional[DeflateAgreement]:
    """Chooses among a client's offers.

    Source: RFC 7692 sections 5.1 and 7.1. An offer with a parameter that is
    unknown or wrong is declined; the first good one is taken. A parameter that
    binds the server is accepted by stating it, whatever its value.

    Args:
        offers: What the client offers, in the order of its preference.
        wish: What the server would have: it may ask the client for less, and
            restrict itself.

    Returns:
        What to answer, or nothing to go without compression.
    """
    for offer in offers:
        if offer.name != PERMESSAGE_DEFLATE:
            continue
        var read = _read(offer)
        if not read:
            continue
        var asked = read.value()
        var answer = asked.agreement
        answer.server_no_context_takeover |= wish.server_no_context_takeover
        answer.client_no_context_takeover |= wish.client_no_context_takeover
        answer.server_window_bits = min(
            answer.server_window_bits, wish.server_window_bits
        )
        # A client that does not offer the parameter cannot be asked for it.
        if asked.has_client_bits:
            answer.client_window_bits = min(
                answer.client_window_bits, wish.client_window_bits
            )
        return answer
    return None


def read_deflate_answer(
    extensions: List[Extension], offered: Optional[DeflateAgreement]
) -> Tuple[Bool, Optional[DeflateAgreement]]:
    """Reads what a server has agreed to.

    Source: RFC 7692 sections 5.1 and 7.1; RFC 6455 section 4.1: what was not
    offered must not be answered.

    Args:
        extensions: The extensions of the response.
        offered: What was offered, if anything was.

    Returns:
        False if the answer is none that may be given; and the agreement, if
        the server agreed to one.
    """
    if len(extensions) == 0:
        return (True, Optional[DeflateAgreement]())
    var refusal = (False, Optional[DeflateAgreement]())
    if not offered or len(extensions) > 1:
        return refusal
    if extensions[0].name != PERMESSAGE_DEFLATE:
        return refusal
    var read = _read(extensions[0])
    if not read:
        return refusal
    var answer = read.value()
    if answer.has_client_bits and not answer.client_bits_have_value:
        return refusal
    if not offered.value().accepts(answer.agreement):
        return refusal
    # What the client has announced it keeps to, answered or not.
    answer.agreement.client_window_bits = min(
        answer.agreement.client_window_bits, offered.value().client_window_bits
    )
    answer.agreement.client_no_context_takeover |= (
        offered.value().client_no_context_takeover
    )
    return (True, Optional(answer.agreement))
