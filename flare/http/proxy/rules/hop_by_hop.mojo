"""Which fields of a message are for this connection alone (RFC 9110 section 7.6.1), and which others a gateway takes off."""

from flare.bytes.ascii import ascii_lower, equals_ignore_case
from flare.bytes.checked import *
from flare.http.message.fields import Fields, ListElements


@fieldwise_init
struct ForwardedKind(Equatable, TrivialRegisterPassable):
    """What a gateway does with a field."""

    var code: UInt8

    comptime END_TO_END = ForwardedKind(0)
    comptime HOP = ForwardedKind(1)
    """It is for one connection, or is written anew for the next: framing, Host
    and credentials for a proxy."""
    comptime CONNECTION = ForwardedKind(2)
    """Connection, which names others."""
    comptime TE = ForwardedKind(3)
    """TE, of which `trailers` alone may be told to the next hop."""
    comptime UPGRADE = ForwardedKind(4)
    comptime CLIENT = ForwardedKind(5)
    """What proxies tell of the client, and anybody can make up."""
    comptime MAX_FORWARDS = ForwardedKind(6)
    comptime EXPECT = ForwardedKind(7)


@always_inline
def _folded(octet: UInt8) -> UInt8:
    """Gives an octet of a field name as names are compared.

    Case does not matter, and neither does `_` in the place of `-`: gateways
    behind this one (CGI, WSGI) make one variable of both spellings.
    """
    var lower = ascii_lower(octet)
    return 45 if lower == 95 else lower


def _folds_to(name: Span[UInt8, _], text: StaticString) -> Bool:
    """Compares a field name with one in lower case and without `_`."""
    if len(name) != text.byte_length():
        return False
    var wanted = text.as_bytes()
    for index in range(len(wanted)):
        if _folded(name.at(index)) != wanted.at(index):
            return False
    return True


def _starts_as(name: Span[UInt8, _], text: StaticString) -> Bool:
    var length = text.byte_length()
    return len(name) >= length and _folds_to(name.before(length), text)


def is_one_variable(name: Span[UInt8, _], other: Span[UInt8, _]) -> Bool:
    """Tells whether a server behind the gateway may take two field names for one:
    in any case, and with `_` in the place of `-`."""
    if len(name) != len(other):
        return False
    for index in range(len(name)):
        if _folded(name.at(index)) != _folded(other.at(index)):
            return False
    return True


def request_field_kind(name: Span[UInt8, _]) -> ForwardedKind:
    """Says what becomes of a field of a request, by the name alone; a field
    that Connection names is HOP whatever its kind is."""
    if len(name) == 0:
        return ForwardedKind.HOP
    # One look at the first letter leaves few names to compare with.
    var first = ascii_lower(name.at(0))
    if first == 99:
        if _folds_to(name, "connection"):
            return ForwardedKind.CONNECTION
        if _folds_to(name, "content-length"):
            return ForwardedKind.HOP
    elif first == 101:
        if _folds_to(name, "expect"):
            return ForwardedKind.EXPECT
    elif first == 102:
        if _folds_to(name, "forwarded"):
            return ForwardedKind.CLIENT
    elif first == 104:
        if _folds_to(name, "host") or _folds_to(name, "http2-settings"):
            return ForwardedKind.HOP
    elif first == 107:
        if _folds_to(name, "keep-alive"):
            return ForwardedKind.HOP
    elif first == 109:
        if _folds_to(name, "max-forwards"):
            return ForwardedKind.MAX_FORWARDS
    elif first == 112:
        # HTTP_PROXY is where programs look for a proxy of their own, and where
        # CGI puts a field named so.
        if (
            _folds_to(name, "proxy-connection")
            or _folds_to(name, "proxy-authorization")
            or _folds_to(name, "proxy")
        ):
            return ForwardedKind.HOP
    elif first == 116:
        if _folds_to(name, "te"):
            return ForwardedKind.TE
        if _folds_to(name, "transfer-encoding"):
            return ForwardedKind.HOP
    elif first == 117:
        if _folds_to(name, "upgrade"):
            return ForwardedKind.UPGRADE
    elif first == 120:
        if _starts_as(name, "x-forwarded-") or _folds_to(name, "x-real-ip"):
            return ForwardedKind.CLIENT
    return ForwardedKind.END_TO_END


def response_field_kind(name: Span[UInt8, _]) -> ForwardedKind:
    """Says what becomes of a field of a response: END_TO_END, CONNECTION,
    UPGRADE or HOP."""
    if len(name) == 0:
        return ForwardedKind.HOP
    var first = ascii_lower(name.at(0))
    if first == 99:
        if equals_ignore_case(name, "connection".as_bytes()):
            return ForwardedKind.CONNECTION
    elif first == 107:
        if equals_ignore_case(name, "keep-alive".as_bytes()):
            return ForwardedKind.HOP
    elif first == 112:
        if (
            equals_ignore_case(name, "proxy-connection".as_bytes())
            or equals_ignore_case(name, "proxy-authenticate".as_bytes())
            or equals_ignore_case(name, "proxy-authentication-info".as_bytes())
        ):
            return ForwardedKind.HOP
    elif first == 116:
        if equals_ignore_case(
            name, "transfer-encoding".as_bytes()
        ) or equals_ignore_case(name, "te".as_bytes()):
            return ForwardedKind.HOP
    elif first == 117:
        if equals_ignore_case(name, "upgrade".as_bytes()):
            return ForwardedKind.UPGRADE
    return ForwardedKind.END_TO_END


struct ConnectionOptions[o: ImmOrigin](Movable):
    """The options of a message's Connection fields.

    Parameters:
        o: Where the octets live.
    """

    var has_upgrade: Bool
    # Without those that no field is named by, which nearly all messages have.
    var _names: List[Span[UInt8, Self.o]]

    def __init__(out self, fields: Fields[Self.o]):
        """Reads the options; allocates nothing if none of them names a field
        that would be passed on.
        """
        self.has_upgrade = False
        self._names = []
        var index = fields.find("connection")
        while index >= 0:
            for option in ListElements(fields.value_bytes(index)):
                self._note(option)
            index = fields.find("connection", index + 1)

    def _note(mut self, option: Span[UInt8, Self.o]):
        # TE is passed on by rules of its own.
        if (
            len(option) == 0
            or equals_ignore_case(option, "te".as_bytes())
            or equals_ignore_case(option, "close".as_bytes())
            or equals_ignore_case(option, "keep-alive".as_bytes())
        ):
            return
        if equals_ignore_case(option, "upgrade".as_bytes()):
            self.has_upgrade = True
        else:
            self._names.append(option)

    def name(self, field: Span[UInt8, _]) -> Bool:
        """Tells whether an option names a field, which is for this connection
        alone."""
        for index in range(len(self._names)):
            if equals_ignore_case(self._names.at(index), field):
                return True
        return False


def names_token(fields: Fields, name: StringSpan, token: StringSpan) -> Bool:
    """Looks in a field that is a list for a token, in any case; parameters
    after `;` do not matter."""
    var index = fields.find(name)
    while index >= 0:
        for element in ListElements(fields.value_bytes(index)):
            var end = 0
            while end < len(element) and not (
                element.at(end) == 59
                or element.at(end) == 32
                or element.at(end) == 9
            ):
                end += 1
            if equals_ignore_case(element.before(end), token.as_bytes()):
                return True
        index = fields.find(name, index + 1)
    return False
