"""The router by host: which handler answers for the host that a request names."""

from flare.bytes.ascii import ascii_lower
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.dns.host_name import (
    HOST_NAME_LEN_MAX,
    LABEL_LEN_MAX,
    check_host_name,
    is_name_octet,
)
from flare.http.handler.any_handler import AnyHandler, find_problem
from flare.http.handler.handler import Handler, HandlerClaims, RequestPolicy
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import Surroundings
from flare.http.message.request import Request
from flare.http.message.response import Response, TEXT_PLAIN
from flare.http.routing.route_tree import RouteError
from flare.net.ip import IpAddr, is_ip_address
from std.memory import OwnedPointer

comptime _DOT = UInt8(46)
comptime _COLON = UInt8(58)
comptime _OPEN_BRACKET = UInt8(91)

comptime _NONE = -1
# No handler.


struct HostRouter(Handler):
    """Chooses a handler by the host that a request is for.

        var hosts = HostRouter()
        hosts.add("example.org", router^)
        hosts.add("*.example.org", ReverseProxy("http://127.0.0.1:9000"))
        hosts.fallback(Admin())
        server.serve(hosts^)

    The host is that of an absolute target or of `:authority`, or else of the
    Host field (RFC 9112 section 3.2.2, RFC 9113 section 8.3.1), without its
    port and in any case; a dot at its end does not count. A pattern is a name,
    an IP address (IPv6 in brackets), or `*.` and a name. That stands for one
    label or more in front of the name, and not for the name itself. An exact
    pattern comes before one with `*`, and of those the longest is taken,
    whatever the order of registration.

    A host with other octets than letters, digits, `-`, `_` and dots, such as
    `%67ate.example.org` or `a,b.example.org`, matches no pattern. RFC 3986
    section 3.2.2 allows these, so they are no 400, but they are no name of the
    DNS; nothing is decoded.

    A request whose host nothing matches is answered with 421 (Misdirected
    Request, RFC 9110 section 15.5.20), unless there is a fallback; so is one of
    HTTP/1.0 that names no host.

    Handlers are routers, reverse proxies, or any others. Middleware goes around
    the whole, or around single ones.
    """

    # In a box, since a handler that is a word costs least to call.
    var _table: OwnedPointer[_HostTable]

    def __init__(out self):
        """Makes a router without hosts."""
        self._table = OwnedPointer(_HostTable())

    @no_inline
    def __deinit__(deinit self):
        return

    def add(
        mut self, pattern: StringSpan, var handler: AnyHandler
    ) raises RouteError:
        """Registers what answers for a host, or for those below a name.

        Args:
            pattern: `example.org`, `*.example.org`, `192.0.2.1` or `[::1]`,
                without a port. A name in another script stands in its ASCII
                form (`xn--...`).
            handler: A plain function or any `Handler`.

        Raises:
            RouteError: If the pattern is malformed, or another one stands for
                the same hosts; the error names both.
        """
        self._table[].add(pattern, handler^)

    def fallback(mut self, var handler: AnyHandler):
        """Sets what answers for all other hosts, in place of 421."""
        ref table = self._table[]
        if table.fallback != _NONE:
            table.handlers.at(table.fallback) = handler^
            return
        table.fallback = len(table.handlers)
        table.handlers.append(handler^)

    def serve(self, req: Request) raises -> Response:
        """Lets the handler of the request's host answer it; without one the
        answer is 421."""
        ref table = self._table[]
        var index = table.find(req.host())
        if index == _NONE:
            return Response(
                421, "this server has no such host\n", content_type=TEXT_PLAIN
            )
        return table.handlers.at(index).serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the handler of the request's host says; a host that is not
        known needs no content."""
        ref table = self._table[]
        var index = table.find(req.host())
        if index == _NONE:
            return RequestPolicy.by_head()
        return table.handlers.at(index).policy_for(req)

    def claims(self) -> HandlerClaims:
        """Tells what requests of some host may need."""
        ref handlers = self._table[].handlers
        var claims = HandlerClaims()
        for index in range(len(handlers)):
            claims = claims | handlers.at(index).claims()
        return claims

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lets the handler of the request's host finish an answer that the
        server makes, which stays as it is if there is none.

        Args:
            req: What is known of the request; a host that was not read is none.
        """
        ref table = self._table[]
        var index = table.find(req.host())
        if index == _NONE:
            return response^
        return table.handlers.at(index).refuse(req, response^)

    def problem(self, around: Surroundings) -> String:
        """Tells what is wrong with the first handler that is not put together
        as it should; empty if all are."""
        ref handlers = self._table[].handlers
        for index in range(len(handlers)):
            var problem = find_problem(
                handlers.at(index), Operation("*", ""), around
            )
            if problem.byte_length() > 0:
                return problem^
        return String()

    def drained(self):
        """Lets all handlers finish what goes beyond single requests."""
        ref handlers = self._table[].handlers
        for index in range(len(handlers)):
            handlers.at(index).drained()


struct _HostTable(Movable):
    """Which handler answers for which hosts."""

    var handlers: List[AnyHandler]
    var patterns: List[String]
    """The patterns of `hosts` and `suffixes`, as registered."""
    var hosts: Dict[String, _Entry]
    """Handlers of single hosts."""
    var suffixes: Dict[String, _Entry]
    """Handlers of what ends with a dot and a name, by these."""
    var fallback: Int
    """The handler of all others, or `_NONE`."""

    def __init__(out self):
        self.handlers = []
        self.patterns = []
        self.hosts = {}
        self.suffixes = {}
        self.fallback = _NONE

    def add(
        mut self, pattern: StringSpan, var handler: AnyHandler
    ) raises RouteError:
        var is_wild = pattern.startswith("*.")
        var key: String
        if is_wild:
            _check_name(pattern, pattern[byte=2:])
            key = plain_host(pattern[byte=1:])
        else:
            key = _host_key(pattern)
        ref known = self.suffixes if is_wild else self.hosts
        var other = known.get(key)
        if other:
            ref first = self.patterns.at(other.value().pattern)
            raise RouteError(
                String(
                    "the host '",
                    pattern,
                    "' is the same as '",
                    first,
                    "', which has a handler; mount both routers into one",
                )
            )
        var entry = _Entry(len(self.patterns), len(self.handlers))
        if is_wild:
            self.suffixes[key^] = entry
        else:
            self.hosts[key^] = entry
        self.patterns.append(String(pattern))
        self.handlers.append(handler^)

    def find(self, authority: StringSpan) -> Int:
        """Finds the handler of a host, or the fallback."""
        var host = plain_host(authority)
        if host.byte_length() == 0 or host.startswith("."):
            return self.fallback
        var exact = self.hosts.get(host)
        if exact:
            return exact.value().handler
        if len(self.suffixes) > 0:
            # From the left, so that the longest is found first.
            var octets = host.as_bytes()
            for index in range(1, len(octets)):
                if octets.at(index) != _DOT:
                    continue
                var found = self.suffixes.get(String(host[byte=index:]))
                if found:
                    return found.value().handler
        return self.fallback


@fieldwise_init
struct _Entry(TrivialRegisterPassable):
    var pattern: Int
    var handler: Int


def _host_key(pattern: StringSpan) raises RouteError -> String:
    """Checks a pattern without `*`, and gives the host as `plain_host` does."""
    if pattern.startswith("["):
        var key = plain_host(pattern)
        if key.byte_length() == 0 or not pattern.endswith("]"):
            raise RouteError(
                String("the host '", pattern, "' is no IPv6 address")
            )
        return key^
    if ":" in pattern and is_ip_address(pattern):
        raise RouteError(
            String("the host '", pattern, "': write it as '[", pattern, "]'")
        )
    if not is_ip_address(pattern):
        _check_name(pattern, pattern)
    return plain_host(pattern)


def _check_name(pattern: StringSpan, name: StringSpan) raises RouteError:
    try:
        check_host_name(name.as_bytes())
    except error:
        raise RouteError(
            String(
                "the host '",
                pattern,
                "': ",
                error.reason,
                " (byte ",
                error.offset,
                " of '",
                name,
                "'); a pattern is a name or '*.' and a name, without a port,"
                " and other scripts are written as xn--...",
            )
        )


def plain_host(authority: StringSpan) -> String:
    """Gives the host of an authority in the form in which hosts are compared:
    in lower case, without port and without a dot at its end, an IPv6 address in
    its shortest form.

    Empty if a label is empty or too long, it is longer than any name, or has an
    octet that no name of the DNS has (RFC 3986 section 3.2.2 allows more, and
    encoded ones).
    """
    var octets = authority.as_bytes()
    if len(octets) > 0 and octets.at(0) == _OPEN_BRACKET:
        return _plain_address(authority)
    var end = len(octets)
    for index in range(len(octets)):
        if octets.at(index) == _COLON:
            end = index
            break
    if end > 0 and octets.at(end - 1) == _DOT:
        end -= 1
    # The suffix of a pattern begins with its dot.
    var is_suffix = end > 0 and octets.at(0) == _DOT
    if end > HOST_NAME_LEN_MAX + Int(is_suffix):
        return String()
    var plain = List[UInt8](capacity=end)
    var label_start = 0
    for index in range(end + 1):
        if index == end or octets.at(index) == _DOT:
            var label_len = index - label_start
            if index > 0 and (label_len == 0 or label_len > LABEL_LEN_MAX):
                return String()
            label_start = index + 1
        elif not is_name_octet(octets.at(index)):
            return String()
        if index < end:
            plain.append(ascii_lower(octets.at(index)))
    # SAFETY: octets of ASCII alone.
    return text_of(plain)


def _plain_address(authority: StringSpan) -> String:
    var end = authority.find("]")
    if end < 0:
        return String()
    try:
        var address = IpAddr.parse(authority[byte=1:end])
        if address.is_v4():
            return String()
        return String("[", address, "]")
    except:
        return String()
