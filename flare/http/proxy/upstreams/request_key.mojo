"""What requests have in common that one upstream shall answer."""

from flare.bytes.checked import *
from flare.http.message.request import Request
from flare.http.proxy.upstreams.member import hash_key


@fieldwise_init
struct RequestKey(Copyable, Movable):
    """What `Balance.CONSISTENT_HASH` looks at."""

    var _kind: UInt8
    var _name: String

    comptime _CLIENT: UInt8 = 0
    comptime _PATH: UInt8 = 1
    comptime _FIELD: UInt8 = 2
    comptime _COOKIE: UInt8 = 3

    @staticmethod
    def client() -> Self:
        """Gives the rule that keeps the requests of one address together;
        behind `TrustedProxies` it is the client's address."""
        return Self(Self._CLIENT, String())

    @staticmethod
    def path() -> Self:
        """Gives the rule that keeps the requests of one path and query
        together, as caches like it."""
        return Self(Self._PATH, String())

    @staticmethod
    def field(var name: String) -> Self:
        """Gives the rule that keeps the requests together that have one value
        of a field; those without it go by the client's address.

        Args:
            name: The field's name.
        """
        return Self(Self._FIELD, name^)

    @staticmethod
    def cookie(var name: String) -> Self:
        """Gives the rule that keeps the requests together that have one value
        of a cookie; those without it go by the client's address.

        Args:
            name: The cookie's name.
        """
        return Self(Self._COOKIE, name^)

    def of(self, req: Request) -> UInt64:
        """Gives the key of a request.

        Args:
            req: The request.
        """
        if self._kind == Self._PATH:
            return hash_key(req.url.as_bytes())
        if self._kind == Self._FIELD:
            var index = req.headers.find(self._name)
            if index >= 0:
                return hash_key(req.headers.value_bytes(index))
        if self._kind == Self._COOKIE:
            var value = req.opt_cookie(self._name)
            if value:
                return hash_key(value.held().as_bytes())
        var address = SIMD[DType.uint64, 2](
            req.peer.ip.bits_high(), req.peer.ip.bits_low()
        )
        var octets = Array[UInt8, 16](uninitialized=True)
        for index in range(16):
            octets[index] = UInt8(
                (address[index // 8] >> UInt64(index % 8 * 8)) & 0xFF
            )
        return hash_key(Span(octets))
