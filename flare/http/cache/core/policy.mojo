"""What a cache may do beyond what responses say, and how long it keeps them."""

from flare.bytes.ranges import range_problem


struct CachePolicy(Copyable, Movable):
    """The choices that RFC 9111 leaves to a cache.

    By default a response is kept if it says itself how long it is fresh, or can
    be validated; nothing is guessed. What a response says outranks all numbers
    here.
    """

    var is_shared: Bool
    """True for a cache of many users, False for one of a single user (RFC 9111
    section 1). Default True."""
    var default_ttl_s: Int
    """How long a response is fresh that says nothing of it, in seconds; 0 for
    not at all. For statuses of `is_heuristic` alone. Default 0."""
    var heuristic_percent: Int
    """How much of the time since its Last-Modified a response is fresh that
    says nothing (RFC 9111 section 4.2.2), 0 to 100. Default 0."""
    var heuristic_max_s: Int
    """Most that `heuristic_percent` gives, in seconds. Default a day."""
    var stale_while_revalidate_s: Int
    """How long a stale response is given while a newer one is fetched, where it
    does not say itself, in seconds. Default 0."""
    var stale_if_error_s: Int
    """How long a stale response is given in place of an error, where it does
    not say itself, in seconds. Default 0."""
    var obeys_clients: Bool
    """Whether Cache-Control of requests counts. Without it clients cannot make
    a cache ask its origin. Default True."""
    var keeps_cookies: Bool
    """Whether a shared cache keeps responses that set cookies, also if they are
    neither `public` nor have `s-maxage`. Default False."""
    var targets: List[String]
    """Fields that outrank Cache-Control and Expires, the first that is there
    (RFC 9213). Default `cdn-cache-control` in a shared cache, none in another.
    """
    var content_len_max: Int
    """Longest content that is kept, in bytes. Default 1 MiB."""
    var collapse_timeout_ms: Int
    """How long a request on a handler thread, or one that is answered later,
    waits for the response to the same request of another client before it is sent
    itself, in milliseconds; 0 for not at all. Default 5 s."""
    var cache_name: String
    """Who speaks in Cache-Status (RFC 9211), a token; empty for no such field.
    Default `flare`."""

    def __init__(
        out self,
        *,
        is_shared: Bool = True,
        default_ttl_s: Int = 0,
        heuristic_percent: Int = 0,
        heuristic_max_s: Int = 86_400,
        stale_while_revalidate_s: Int = 0,
        stale_if_error_s: Int = 0,
        obeys_clients: Bool = True,
        keeps_cookies: Bool = False,
        content_len_max: Int = 1 << 20,
        collapse_timeout_ms: Int = 5_000,
        var cache_name: String = "flare",
    ):
        """Makes a policy."""
        self.is_shared = is_shared
        self.default_ttl_s = default_ttl_s
        self.heuristic_percent = heuristic_percent
        self.heuristic_max_s = heuristic_max_s
        self.stale_while_revalidate_s = stale_while_revalidate_s
        self.stale_if_error_s = stale_if_error_s
        self.obeys_clients = obeys_clients
        self.keeps_cookies = keeps_cookies
        self.targets = ["cdn-cache-control"] if is_shared else List[String]()
        self.content_len_max = content_len_max
        self.collapse_timeout_ms = collapse_timeout_ms
        self.cache_name = cache_name^

    @no_inline
    def __deinit__(deinit self):
        return

    def check(self) raises:
        """Refuses what cannot work.

        Raises:
            Error: Which field, what it is, and what is allowed.
        """
        _check("default_ttl_s", self.default_ttl_s, _SECONDS_MAX)
        _check("heuristic_percent", self.heuristic_percent, 100)
        _check("heuristic_max_s", self.heuristic_max_s, _SECONDS_MAX)
        _check(
            "stale_while_revalidate_s",
            self.stale_while_revalidate_s,
            _SECONDS_MAX,
        )
        _check("stale_if_error_s", self.stale_if_error_s, _SECONDS_MAX)
        _check("content_len_max", self.content_len_max, 1 << 40)
        _check("collapse_timeout_ms", self.collapse_timeout_ms, 3_600_000)
        if not _is_token(self.cache_name):
            raise Error(
                "CachePolicy: cache_name is '",
                self.cache_name,
                "'; allowed are letters, digits and -_.*, with a letter first",
            )


comptime _SECONDS_MAX = 2_147_483_648


def _check(name: StaticString, value: Int, limit: Int) raises:
    var problem = range_problem(name, value, 0, limit)
    if problem.byte_length() > 0:
        raise Error("CachePolicy: ", problem)


def _is_token(name: String) -> Bool:
    """RFC 9651 section 3.3.4, as far as names need it."""
    var is_first = True
    for octet in name.as_bytes():
        var is_letter = (octet | 32) >= 97 and (octet | 32) <= 122
        var is_digit = octet >= 48 and octet <= 57
        var is_mark = octet == 45 or octet == 95 or octet == 46
        if is_first and not is_letter and octet != 42:
            return False
        if not is_letter and not is_digit and not is_mark and octet != 42:
            return False
        is_first = False
    return True
