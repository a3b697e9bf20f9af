"""SOCKS5 (RFC 1928) with user name and password (RFC 1929), on octets alone.

    METHOD --none needed--> REPLY --> BOUND --> done
       |                      ^
       +--user and password--> LOGIN

Who holds the socket sends `output`, reads no more than `wanted_len` octets and
gives them to `receive`: what follows the last reply belongs to the host behind
the proxy.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.connect.error import (
    BadRequest,
    ClientError,
    MalformedResponse,
    Phase,
    ProxyRefused,
)
from flare.net.error import NetworkErrorKind
from flare.net.ip import IpAddr
from std.builtin.globals import global_constant

comptime SOCKS_VERSION = UInt8(5)
"""The only version that is spoken (RFC 1928 section 3)."""
comptime NAME_LEN_MAX = 255
"""Longest host name, user name and password, in bytes: their lengths are one
octet (RFC 1928 section 5, RFC 1929 section 2)."""

comptime SOCKS_STEP_LEN_MAX = NAME_LEN_MAX + 2
"""Most octets that a step takes: a name with its port, in bytes."""

# RFC 1928 section 3.
comptime _NO_LOGIN = UInt8(0)
comptime _LOGIN = UInt8(2)
comptime _NOTHING_ACCEPTED = UInt8(255)
# RFC 1928 section 4.
comptime _CONNECT = UInt8(1)
# RFC 1928 section 5.
comptime _IPV4 = UInt8(1)
comptime _NAME = UInt8(3)
comptime _IPV6 = UInt8(4)
# RFC 1929 section 2.
comptime _LOGIN_VERSION = UInt8(1)

comptime _METHOD_STAGE = UInt8(0)
comptime _LOGIN_STAGE = UInt8(1)
comptime _REPLY_STAGE = UInt8(2)
comptime _NAME_LEN_STAGE = UInt8(3)
comptime _BOUND_STAGE = UInt8(4)
comptime _DONE = UInt8(5)


struct SocksHandshake(Movable):
    """What is said with a SOCKS5 proxy before it passes octets on."""

    var output: Buffer
    """Octets to the proxy; whoever sends some consumes them."""
    var refused_with: UInt8
    """The code of the reply that said no (RFC 1928 section 6); 0 for none."""
    var _stage: UInt8
    # How many octets the next step takes, and those that are here.
    var _step_len: Int
    var _input: List[UInt8]
    var _destination: List[UInt8]
    # The message of RFC 1929; empty if there is nothing to log in with.
    var _login: List[UInt8]

    def __init__(
        out self, var destination: List[UInt8], var login: List[UInt8]
    ):
        """Writes the first message. The destination is what `socks_destination`
        writes, the login what `socks_login` writes; empty to offer no login."""
        self.output = Buffer()
        self.refused_with = 0
        self._stage = _METHOD_STAGE
        self._step_len = 2
        self._input = []
        self._destination = destination^
        self._login = login^
        self.output.append_octet(SOCKS_VERSION)
        if len(self._login) > 0:
            self.output.append_octet(2)
            self.output.append_octet(_NO_LOGIN)
            self.output.append_octet(_LOGIN)
        else:
            self.output.append_octet(1)
            self.output.append_octet(_NO_LOGIN)

    def is_done(self) -> Bool:
        """Tells whether the proxy passes octets on from now on."""
        return self._stage == _DONE

    def wanted_len(self) -> Int:
        """Counts the octets that may be read at once; 0 when it is done."""
        return self._step_len - len(self._input)

    def receive(mut self, octets: Span[UInt8, _]) raises ClientError -> Int:
        """Goes on with what the proxy has sent, however it was cut. Returns how
        many octets were taken; fewer only after the last reply.

        Raises in the phase `PROXY`: `ProxyRefused` if the proxy says no,
        `MalformedResponse` if it breaks the rules.
        """
        var taken = 0
        while self._stage != _DONE and taken < len(octets):
            var count = min(self.wanted_len(), len(octets) - taken)
            self._input.extend(octets.between(taken, taken + count))
            taken += count
            if len(self._input) == self._step_len:
                self._take_step()
        return taken

    def end_input(self) -> ClientError:
        """Makes the error for a proxy that closes before it is done."""
        var reason = String("the proxy closed the connection ")
        if self._stage == _METHOD_STAGE:
            reason += "before it answered; is it a SOCKS5 proxy?"
        elif self._stage == _LOGIN_STAGE:
            reason += "when it was told user name and password"
        else:
            reason += "before it said whether it reaches the host"
        return _error(MalformedResponse, reason^)

    def _take_step(mut self) raises ClientError:
        var input = List[UInt8]()
        swap(input, self._input)
        if self._stage == _METHOD_STAGE:
            self._take_method(input)
        elif self._stage == _LOGIN_STAGE:
            self._take_login(input)
        elif self._stage == _REPLY_STAGE:
            self._take_reply(input)
        elif self._stage == _NAME_LEN_STAGE:
            self._go(_BOUND_STAGE, Int(input.at(0)) + 2)
        else:
            self._go(_DONE, 0)

    def _go(mut self, stage: UInt8, step_len: Int):
        self._stage = stage
        self._step_len = step_len

    def _take_method(mut self, input: List[UInt8]) raises ClientError:
        """RFC 1928 section 3."""
        _check_version(input.at(0))
        if input.at(1) == _NO_LOGIN:
            self._ask()
        elif input.at(1) == _LOGIN and len(self._login) > 0:
            self.output.append(self._login)
            self._go(_LOGIN_STAGE, 2)
        elif input.at(1) == _NOTHING_ACCEPTED:
            raise _error(
                ProxyRefused,
                (
                    "the proxy accepts neither our user name and password nor"
                    " a client without any" if len(self._login)
                    > 0 else "the proxy wants its clients to log in; give user"
                    " name and password in its URL"
                ),
            )
        else:
            raise _error(
                MalformedResponse,
                String(
                    "the proxy chose method ",
                    input.at(1),
                    ", which was not offered (RFC 1928 section 3)",
                ),
            )

    def _take_login(mut self, input: List[UInt8]) raises ClientError:
        """RFC 1929 section 2."""
        if input.at(0) != _LOGIN_VERSION:
            raise _error(
                MalformedResponse,
                String(
                    "the proxy answered the login with version ",
                    input.at(0),
                    ", not 1 (RFC 1929 section 2)",
                ),
            )
        if input.at(1) != 0:
            raise _error(
                ProxyRefused,
                String(
                    "the proxy refused user name and password (status ",
                    input.at(1),
                    ")",
                ),
            )
        self._ask()

    def _ask(mut self):
        """RFC 1928 section 4."""
        self.output.append_octet(SOCKS_VERSION)
        self.output.append_octet(_CONNECT)
        self.output.append_octet(0)
        self.output.append(self._destination)
        self._go(_REPLY_STAGE, 4)

    def _take_reply(mut self, input: List[UInt8]) raises ClientError:
        """RFC 1928 section 6; the address that the proxy uses tells nothing."""
        _check_version(input.at(0))
        if input.at(1) != 0:
            self.refused_with = input.at(1)
            raise _error(
                ProxyRefused,
                String(
                    "the proxy did not connect: ",
                    socks_reply(input.at(1)),
                    " (reply ",
                    input.at(1),
                    ")",
                ),
            )
        if input.at(3) == _IPV4:
            self._go(_BOUND_STAGE, 4 + 2)
        elif input.at(3) == _IPV6:
            self._go(_BOUND_STAGE, 16 + 2)
        elif input.at(3) == _NAME:
            self._go(_NAME_LEN_STAGE, 1)
        else:
            raise _error(
                MalformedResponse,
                String(
                    "the proxy's reply has an address of type ",
                    input.at(3),
                    "; 1, 3 and 4 are known (RFC 1928 section 5)",
                ),
            )


def _check_version(octet: UInt8) raises ClientError:
    if octet == SOCKS_VERSION:
        return
    var reason = String("the proxy answered with version ", octet, ", not 5")
    if octet == 0 or octet == 4:
        reason += ": it speaks SOCKS4"
    elif octet == 72:
        reason += ": it speaks HTTP; write http:// in its URL"
    elif octet == 21 or octet == 22:
        reason += ": it speaks TLS; write https:// in its URL"
    raise _error(MalformedResponse, reason^)


def socks_reply(code: UInt8) -> StaticString:
    """Says in words what a reply means (RFC 1928 section 6)."""
    if code > 8:
        return "for a reason without a name"
    return global_constant[_REPLIES]().at(Int(code))


comptime _REPLIES: Array[StaticString, 9] = [
    "succeeded",
    "general failure",
    "its rules do not allow it",
    "the network cannot be reached",
    "the host cannot be reached",
    "connection refused",
    "TTL expired",
    "it does not know CONNECT",
    "it does not know this type of address",
]


def is_about_address(code: UInt8) -> Bool:
    """Tells whether another address of the host may be reached; if not, the
    proxy would say the same of any address."""
    return code >= 3 and code <= 8 and code != 7 or code == 1


def socks_destination(
    host: StringSpan, port: UInt16
) raises ClientError -> List[UInt8]:
    """Writes type, address and port of where a connection is to lead, by a host
    name, or an address without brackets (RFC 1928 section 5). Raises if the
    name is too long for one octet to count it."""
    var octets = List[UInt8]()
    try:
        var ip = IpAddr.parse(host)
        return socks_address(ip, port)
    except:
        pass
    var length = host.byte_length()
    if length < 1 or length > NAME_LEN_MAX:
        raise ClientError(
            Phase.PROXY,
            BadRequest,
            String(
                "a SOCKS5 proxy takes host names of 1 to 255 bytes, and this"
                " one has ",
                length,
            ),
        )
    octets.append(_NAME)
    octets.append(UInt8(length))
    octets.extend(host.as_bytes())
    _append_port(octets, port)
    return octets^


def socks_address(ip: IpAddr, port: UInt16) -> List[UInt8]:
    """Writes type, address and port of where a connection is to lead (RFC 1928
    section 5)."""
    var octets = List[UInt8]()
    if ip.is_v4():
        octets.append(_IPV4)
        var address = ip.v4_octets()
        octets.extend(Span(address))
    else:
        octets.append(_IPV6)
        var address = ip.v6_octets()
        octets.extend(Span(address))
    _append_port(octets, port)
    return octets^


def _append_port(mut octets: List[UInt8], port: UInt16):
    octets.append(UInt8(port >> 8))
    octets.append(UInt8(port & 255))


def socks_login(
    user: StringSpan, password: StringSpan
) raises ClientError -> List[UInt8]:
    """Writes user name and password (RFC 1929 section 2). Raises if one is
    longer than 255 bytes; the error shows neither."""
    if user.byte_length() > NAME_LEN_MAX or (
        password.byte_length() > NAME_LEN_MAX
    ):
        raise ClientError(
            Phase.PROXY,
            BadRequest,
            (
                "a SOCKS5 proxy takes a user name and a password of at most"
                " 255 bytes each"
            ),
        )
    var octets = List[UInt8]()
    octets.append(_LOGIN_VERSION)
    octets.append(UInt8(user.byte_length()))
    octets.extend(user.as_bytes())
    octets.append(UInt8(password.byte_length()))
    octets.extend(password.as_bytes())
    return octets^


def _error(kind: NetworkErrorKind, var reason: String) -> ClientError:
    return ClientError(Phase.PROXY, kind, reason^)
