"""Fields that both sides of the opening handshake look at."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.base64 import base64_encode
from flare.bytes.octet_class import TCHAR
from flare.bytes.sha1 import sha1
from flare.http.message.fields import Fields, ListElements
from flare.ws.core.deflate_agreement import DeflateAgreement
from flare.ws.core.extension_list import Extension, parse_extensions

comptime KEY_LEN = 16
"""Length of the random value in Sec-WebSocket-Key, in bytes (RFC 6455
section 4.1)."""

comptime WS_VERSION = StaticString("13")
"""The version of the protocol (RFC 6455 section 4.1)."""

# RFC 6455 section 1.3.
comptime _GUID = StaticString("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")


@fieldwise_init
struct WsAgreement(Copyable, Movable):
    """What both sides agreed on in the opening handshake."""

    var subprotocol: String
    """The subprotocol; empty for none."""
    var deflate: Optional[DeflateAgreement]
    """The parameters of compression, if both sides can."""


def accept_value(key: Span[UInt8, _]) -> String:
    """Computes the value of Sec-WebSocket-Accept.

    Source: RFC 6455 section 4.2.2.

    Args:
        key: The value of Sec-WebSocket-Key.

    Returns:
        28 octets of base64.
    """
    var text = List[UInt8](key)
    text.extend(_GUID.as_bytes())
    var digest = sha1(Span(text))
    return base64_encode(Span(digest))


def has_token(fields: Fields, name: StringSpan, token: StringSpan) -> Bool:
    """Tells whether a list of tokens has one of them.

    Args:
        fields: The fields of a message.
        name: A field name.
        token: The token; case does not matter.

    Returns:
        True if so.
    """
    var index = fields.find(name)
    while index >= 0:
        for element in ListElements(fields.value_bytes(index)):
            if equals_ignore_case(element, token.as_bytes()):
                return True
        index = fields.find(name, index + 1)
    return False


def only_value[
    o: ImmOrigin
](fields: Fields[o], name: StringSpan) -> Span[UInt8, o]:
    """Lends the value of a field that has to stand once.

    Parameters:
        o: Where the octets live.

    Args:
        fields: The fields of a message.
        name: A field name.

    Returns:
        The value; empty if the field stands not once.
    """
    var index = fields.find(name)
    if index < 0 or fields.find(name, index + 1) >= 0:
        return Span[UInt8, o]()
    return fields.value_bytes(index)


def read_extensions(fields: Fields) -> Optional[List[Extension]]:
    """Reads all Sec-WebSocket-Extensions fields as one list.

    Args:
        fields: The fields of a message.

    Returns:
        The extensions, or nothing if a field is malformed.
    """
    var extensions = List[Extension]()
    var index = fields.find("sec-websocket-extensions")
    while index >= 0:
        if not parse_extensions(fields.value_bytes(index), extensions):
            return None
        index = fields.find("sec-websocket-extensions", index + 1)
    return extensions^


def is_token(octets: Span[UInt8, _]) -> Bool:
    """Tells whether octets are a token (RFC 9110 section 5.6.2).

    Args:
        octets: Any octets.

    Returns:
        True if so.
    """
    for octet in octets:
        if not materialize[TCHAR]().contains(octet):
            return False
    return len(octets) > 0
