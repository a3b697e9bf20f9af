"""Cache-Status (RFC 9211): what a cache did with a request."""

from flare.bytes.text import Text
from flare.http.message.header_map import HeaderError, HeaderMap


@fieldwise_init
struct Forward(Equatable, TrivialRegisterPassable):
    """Why a request went to the origin (RFC 9211 section 2.2)."""

    var code: UInt8

    comptime NONE = Self(0)
    """It did not."""
    comptime BYPASS = Self(1)
    """The cache is not to handle it."""
    comptime METHOD = Self(2)
    """Its method asks for it."""
    comptime URI_MISS = Self(3)
    """Nothing is stored for its URI."""
    comptime VARY_MISS = Self(4)
    """What is stored was selected by other fields."""
    comptime REQUEST = Self(5)
    """Its Cache-Control asks for it."""
    comptime STALE = Self(6)
    """What is stored is stale."""

    def name(self) -> StaticString:
        """Gives the value of `fwd`; empty for `NONE`."""
        if self == Self.BYPASS:
            return "bypass"
        if self == Self.METHOD:
            return "method"
        if self == Self.URI_MISS:
            return "uri-miss"
        if self == Self.VARY_MISS:
            return "vary-miss"
        if self == Self.REQUEST:
            return "request"
        return "stale" if self == Self.STALE else ""


struct CacheStatus(Copyable, Movable):
    """What a cache did with one request."""

    var forward: Forward
    """Why the request went on; `NONE` for a hit."""
    var forward_status: Int
    """The status that came back, if another one is sent; else 0."""
    var is_stored: Bool
    """Whether what came back is kept."""
    var is_collapsed: Bool
    """Whether the answer was fetched for another request."""
    var is_shared: Bool
    """Whether it was found in the store that many processes share."""
    var ttl_s: Optional[Int]
    """How long the response is fresh still, in seconds; negative if it is stale.
    """

    def __init__(
        out self,
        forward: Forward,
        *,
        forward_status: Int = 0,
        is_stored: Bool = False,
        is_collapsed: Bool = False,
        is_shared: Bool = False,
        ttl_s: Optional[Int] = None,
    ):
        """Describes what a cache did.

        `forward` is why the request went on, `NONE` for a hit; `forward_status`
        the status that came back, if another one is sent. `is_stored` says that
        what came back is kept, `is_collapsed` that the answer was fetched for
        another request, `is_shared` that it was found where many processes
        look. For `ttl_s` more seconds it is fresh.
        """
        self.forward = forward
        self.forward_status = forward_status
        self.is_stored = is_stored
        self.is_collapsed = is_collapsed
        self.is_shared = is_shared
        self.ttl_s = ttl_s

    def add_to(
        self, mut headers: HeaderMap, cache_name: StringSpan
    ) raises HeaderError:
        """Adds the cache's member after those of caches nearer to the origin;
        says nothing if the name is empty. Raises if the name is none."""
        if cache_name.byte_length() == 0:
            return
        var text = Text().add(cache_name)
        if self.forward == Forward.NONE:
            text = text^.add("; hit")
        else:
            text = text^.add("; fwd=").add(self.forward.name())
        if self.forward_status > 0:
            text = text^.add("; fwd-status=").add(self.forward_status)
        if self.ttl_s:
            text = text^.add("; ttl=").add(self.ttl_s.value())
        if self.is_stored:
            text = text^.add("; stored")
        if self.is_collapsed:
            text = text^.add("; collapsed")
        if self.is_shared:
            text = text^.add("; detail=shared")
        var value = text^.end()
        var known = headers.get("cache-status")
        if known:
            value = Text().add(known.value()).add(", ").add(value).end()
            headers.set("Cache-Status", value)
        else:
            headers.append("Cache-Status", value)
