"""Credentials for the Authorization field."""

from flare.bytes.ascii import trim_whitespace, write_escaped
from flare.bytes.checked import *
from flare.http.client.connect.error import ClientError, bad_request
from std.base64 import b64decode, b64encode

comptime _BASIC = StaticString("Basic ")

comptime _AS_FIELD = UInt8(0)
comptime _HAS_COLON = UInt8(1)
comptime _DIGEST = UInt8(2)


@fieldwise_init
struct BasicAuth(Copyable, Movable):
    """A user name and a password (RFC 7617), sent as UTF-8."""

    var user: String
    """The user name; with a colon, requests are refused."""
    var password: String
    """The password."""


@fieldwise_init
struct BearerAuth(Copyable, Movable):
    """A token (RFC 6750)."""

    var token: String
    """The token."""


@fieldwise_init
struct DigestAuth(Copyable, Movable):
    """A user name and a password that are not sent, but proven (RFC 7616).

    The first request to a server is repeated after its challenge; what can be
    sent once alone, such as streamed content, is not, and the response is the
    401 then. Later requests have an answer with them from the start. SHA-256,
    SHA-512-256 and MD5 are known, also as sessions (`-sess`), and `qop=auth`.
    """

    var user: String
    """The user name."""
    var password: String
    """The password."""


struct Credentials(Boolable, Copyable, Defaultable, Movable):
    """The value of an Authorization field, or none; it does not print.

    `BasicAuth`, `BearerAuth` and `DigestAuth` convert to it.
    """

    # For Digest: the length of the user name, a colon, user name, password.
    var _field: String
    var _kind: UInt8

    def __init__(out self):
        """Makes no credentials."""
        self._field = String()
        self._kind = _AS_FIELD

    @implicit
    def __init__(out self, auth: BasicAuth):
        """Encodes user name and password.

        Source: RFC 7617 section 2.

        Args:
            auth: What to encode.
        """
        # The first colon ends the name, so that the server would read another
        # name and another password.
        self._kind = _HAS_COLON if ":" in auth.user else _AS_FIELD
        var pair = String(auth.user, ":", auth.password)
        self._field = String(_BASIC, b64encode(pair.as_bytes()))

    @implicit
    def __init__(out self, auth: BearerAuth):
        """Takes a token.

        Source: RFC 6750 section 2.1.

        Args:
            auth: The token.
        """
        self._kind = _AS_FIELD
        self._field = String("Bearer ", auth.token)

    @implicit
    def __init__(out self, auth: DigestAuth):
        """Keeps user name and password for answers to challenges.

        Source: RFC 7616.

        Args:
            auth: Both.
        """
        self._kind = _DIGEST
        self._field = String(auth.user.byte_length(), ":")
        self._field += auth.user
        self._field += auth.password

    def __bool__(self) -> Bool:
        """Tells whether there are credentials."""
        return self._field.byte_length() > 0

    def check(self) raises ClientError:
        """Refuses credentials that say something else to the server.

        Source: RFC 7617 section 2.

        Raises:
            ClientError: If there is a colon in the user name; the error does
                not show it.
        """
        if self._kind == _HAS_COLON:
            raise bad_request(
                "BasicAuth: a colon in the user name would end it, and the"
                " rest be a part of the password; use a name without one"
            )

    def login(self) -> Optional[BasicAuth]:
        """Gives user name and password apart again; nothing for other
        credentials, or none."""
        if self._kind == _DIGEST:
            return self._digest_login()
        if not self._field.startswith(_BASIC):
            return None
        try:
            var pair = String(
                from_utf8=b64decode(self._field.removeprefix(_BASIC))
            )
            var colon = pair.find(":")
            return BasicAuth(
                String(pair[byte=0:colon]), String(pair[byte = colon + 1 :])
            )
        except:
            # What was encoded here can be decoded.
            return None

    def _digest_login(self) -> Optional[BasicAuth]:
        var colon = self._field.find(":")
        try:
            var start = colon + 1
            var end = start + Int(self._field[byte=0:colon])
            return BasicAuth(
                String(self._field[byte=start:end]),
                String(self._field[byte=end:]),
            )
        except:
            # A length that was written here can be read.
            return None

    def is_digest(self) -> Bool:
        """Tells whether they answer challenges (`DigestAuth`), and are no field
        by themselves."""
        return self._kind == _DIGEST

    def field_value(self) -> StringSpan[origin_of(self._field)]:
        """Lends the value of the field, scheme and credentials; empty if there
        are none, or they are `DigestAuth`."""
        if self._kind == _DIGEST:
            return StringSpan(self._field)[byte=0:0]
        return StringSpan(self._field)


def challenge_schemes(value: StringSpan) -> String:
    """Names the schemes of a WWW-Authenticate field, such as `Digest, Basic`,
    for error messages.

    Source: RFC 9110 section 11.6.1. Commas part challenges, and the parameters
    of one too; a parameter has an equals sign in its first word.
    """
    var names = String()
    var octets = value.as_bytes().as_imm()
    var start = 0
    while start < len(octets):
        var end = next_comma(octets, start)
        var word = _first_word(trim_whitespace(octets.between(start, end)))
        start = end + 1
        if len(word) == 0:
            continue
        if names.byte_length() > 0:
            names.write(", ")
        write_escaped(word, names)
    return names^


def next_comma(value: Span[UInt8, _], start: Int) -> Int:
    """Finds the comma that ends an element of a list, and none within quotes,
    where a backslash takes away what the octet after it means (RFC 9110
    section 5.6.4); the length of the value if there is none."""
    var at = start
    var is_quoted = False
    while at < len(value) and (is_quoted or value.at(at) != 44):
        if value.at(at) == 34:
            is_quoted = not is_quoted
        elif is_quoted and value.at(at) == 92:
            at += 1
        at += 1
    return min(at, len(value))


def _first_word[o: ImmOrigin](element: Span[UInt8, o]) -> Span[UInt8, o]:
    """Gives a scheme; nothing if the word is a parameter."""
    var end = 0
    while end < len(element) and element.at(end) != 32:
        if element.at(end) == 61:
            return element.before(0)
        end += 1
    return element.before(end)
