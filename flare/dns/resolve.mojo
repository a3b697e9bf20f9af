"""Names looked up: while the caller waits, or beside it."""

from flare.bytes.ascii import equals_ignore_case, write_escaped
from flare.bytes.checked import *
from flare.dns.host_name import check_host_name
from flare.net.error import (
    NameLookupFailed,
    NameNotFound,
    NameRefused,
    NetworkError,
    NetworkErrorKind,
    Timeout,
)
from flare.net.ip import IpAddr
from flare.net.raw_socket import from_kernel
from flare.sys.clock import Deadline
from flare.sys.sockets.name_lookup import (
    LOOKUP_COUNT_MAX,
    Lookup,
    LookupStatus,
    PendingLookup,
    look_up,
    look_up_until,
)
from flare.sys.sockets.sock_addr import AF_INET, AF_INET6

comptime _LOCALHOST = StaticString("localhost")

comptime RESOLVE_TIMEOUT_MS = 30_000
"""How long a lookup may take unless told otherwise, in milliseconds.

A resolver with three servers and two rounds of 5 s needs as long to give up.
"""


def resolve(
    host: StringSpan, timeout_ms: Int = RESOLVE_TIMEOUT_MS
) raises NetworkError -> List[IpAddr]:
    """Finds the addresses of a host, IPv4 and IPv6.

    An address in text form stands for itself, and `localhost` and names below
    it for the own machine (RFC 6761 section 6.3); nobody is asked for these.

    Args:
        host: A host name, or an address without brackets.
        timeout_ms: How long it may take; negative (`NO_TIMEOUT_MS`) for as long
            as the system's resolver tries, which then runs on this thread.

    Returns:
        The addresses in the order in which to try them (RFC 8305 section 4);
        at least one.

    Raises:
        NetworkError: With the kind `DnsError` and the details `NameNotFound`,
            `NameLookupFailed`, `NameRefused` or `Timeout`.
    """
    return resolve_until(host, 0, Deadline(timeout_ms))


def resolve_v4(
    host: StringSpan, timeout_ms: Int = RESOLVE_TIMEOUT_MS
) raises NetworkError -> List[IpAddr]:
    """Finds the IPv4 addresses of a host.

    Args:
        host: A host name, or an IPv4 address.
        timeout_ms: As for `resolve`.

    Returns:
        The addresses; at least one.

    Raises:
        NetworkError: As `resolve`; an IPv6 address is `NameNotFound`.
    """
    return resolve_until(host, AF_INET, Deadline(timeout_ms))


def resolve_v6(
    host: StringSpan, timeout_ms: Int = RESOLVE_TIMEOUT_MS
) raises NetworkError -> List[IpAddr]:
    """Finds the IPv6 addresses of a host.

    Args:
        host: A host name, or an IPv6 address without brackets.
        timeout_ms: As for `resolve`.

    Returns:
        The addresses; at least one.

    Raises:
        NetworkError: As `resolve`; an IPv4 address is `NameNotFound`.
    """
    return resolve_until(host, AF_INET6, Deadline(timeout_ms))


def resolve_until(
    host: StringSpan, family: Int, deadline: Deadline
) raises NetworkError -> List[IpAddr]:
    """Finds the addresses of a host, which may be an address without brackets,
    before a deadline. The family is `AF_INET`, `AF_INET6`, or 0 for both.
    Returns at least one, in the order in which to try them."""
    var known = _known_addresses(host, family)
    if len(known) > 0:
        return known^
    var lookup = _look_up(host, family, deadline)
    return addresses_of(lookup, host, deadline)


def numeric_address(
    host: StringSpan, family: Int
) raises NetworkError -> Optional[IpAddr]:
    """Takes an address as it stands; nothing if `host` is a name that may be
    looked up. Raises if it is neither."""
    var numeric = _numeric(host)
    if numeric:
        if family != 0 and numeric.value().is_v4() != (family == AF_INET):
            raise _error(
                NameNotFound, host, "the address is of the other family"
            )
        return numeric
    try:
        check_host_name(host.as_bytes())
    except error:
        var reason = String(error.reason, " (byte ", error.offset, ")")
        raise _error(NameRefused, host, reason^)
    return None


def _known_addresses(
    host: StringSpan, family: Int
) raises NetworkError -> List[IpAddr]:
    """Finds the addresses for which nobody is asked; none for other names."""
    var numeric = numeric_address(host, family)
    if numeric:
        return [numeric.value()]
    var addresses = List[IpAddr]()
    if not is_localhost(host):
        return addresses^
    if family != AF_INET6:
        addresses.append(IpAddr.v4(127, 0, 0, 1))
    if family != AF_INET:
        addresses.append(IpAddr(0, 1, False))
    return addresses^


def is_localhost(host: StringSpan) -> Bool:
    """Tells whether a name in any case is `localhost`, or below it; one dot may
    end it.

    Source: RFC 6761 section 6.3: such names mean the own machine, whatever a
    name server says.
    """
    var octets = host.as_bytes()
    var end = len(octets)
    if end > 0 and octets.at(end - 1) == UInt8(ord(".")):
        end -= 1
    var start = end - _LOCALHOST.byte_length()
    if start < 0 or (start > 0 and octets.at(start - 1) != UInt8(ord("."))):
        return False
    return equals_ignore_case(octets.between(start, end), _LOCALHOST.as_bytes())


def addresses_of(
    lookup: Lookup, host: StringSpan, deadline: Deadline
) raises NetworkError -> List[IpAddr]:
    """Reads what the resolver said: at least one address, in the order in which
    to try them."""
    _check(lookup, host, deadline)
    var addresses = List[IpAddr](capacity=len(lookup.addresses))
    for index in range(len(lookup.addresses)):
        var found = lookup.addresses.at(index).family()
        if found == AF_INET or found == AF_INET6:
            addresses.append(from_kernel(lookup.addresses.at(index)).ip)
    if len(addresses) == 0:
        raise _error(NameNotFound, host, "the host has no address")
    return interleave_families(addresses)


def _numeric(host: StringSpan) -> Optional[IpAddr]:
    try:
        return IpAddr.parse(host)
    except:
        return None


def _look_up(
    host: StringSpan, family: Int, deadline: Deadline
) raises NetworkError -> Lookup:
    if deadline.left_ms() < 0:
        return look_up(String(host), family)
    try:
        return look_up_until(String(host), family, deadline)
    except error:
        raise NetworkError(error, String(host))


def _check(
    lookup: Lookup, host: StringSpan, deadline: Deadline
) raises NetworkError:
    if lookup.status == LookupStatus.NOT_FOUND:
        raise _error(
            NameNotFound, host, "there is no such host; check the spelling"
        )
    if lookup.status == LookupStatus.TIMED_OUT:
        var reason = String("no answer within ", deadline.timeout_ms, " ms")
        raise _error(Timeout, host, reason^)
    if lookup.status == LookupStatus.TEMPORARY:
        raise _error(
            NameLookupFailed,
            host,
            String("no name server answered (code ", lookup.code, "); retry"),
        )
    if lookup.status == LookupStatus.CROWDED:
        raise _error(
            NameLookupFailed,
            host,
            String(
                LOOKUP_COUNT_MAX,
                " lookups of this process wait for the system's resolver, which",
                " is slow or hangs; retry when it answers",
            ),
        )
    if lookup.status == LookupStatus.FAILED:
        raise _error(
            NameLookupFailed,
            host,
            String("the resolver has failed (code ", lookup.code, ")"),
        )


def _error(
    detail: NetworkErrorKind, host: StringSpan, var reason: String
) -> NetworkError:
    var name = String()
    write_escaped(host.as_bytes(), name)
    return NetworkError.of_name(detail, name^, reason^)


def interleave_families(addresses: List[IpAddr]) -> List[IpAddr]:
    """Alternates between IPv6 and IPv4, so that one broken family costs little.

    Source: RFC 8305 section 4, with a First Address Family Count of 1. The
    family of the first address stays first, and each family keeps its order.
    """
    var ordered = List[IpAddr](capacity=len(addresses))
    if len(addresses) == 0:
        return ordered^
    var wants_v4 = addresses.at(0).is_v4()
    # The next address of each family: IPv6 at 0, IPv4 at 1.
    var next = Array[Int, 2](fill=0)
    while len(ordered) < len(addresses):
        var family = 1 if wants_v4 else 0
        var index = next.at(family)
        while (
            index < len(addresses) and addresses.at(index).is_v4() != wants_v4
        ):
            index += 1
        if index < len(addresses):
            ordered.append(addresses.at(index))
        next.at(family) = index + 1
        wants_v4 = not wants_v4
    return ordered^


struct Resolving(Movable):
    """A lookup that goes on while its caller does other things."""

    var _host: String
    var _deadline: Deadline
    var _addresses: List[IpAddr]
    var _pending: Optional[PendingLookup]

    def __init__(
        out self, host: StringSpan, family: Int, deadline: Deadline
    ) raises NetworkError:
        """Asks for the addresses of a host, as `resolve_until`; nobody is asked
        for an address, or for `localhost`. Raises if the name must not be
        looked up, or there is no descriptor or no thread to be had."""
        self._host = String(host)
        self._deadline = deadline
        self._pending = None
        self._addresses = _known_addresses(host, family)
        if len(self._addresses) == 0:
            self._pending = _ask(self._host, family)

    def fd(self) -> Int32:
        """Lends the descriptor that can be read once `advance` has news; -1 if
        nobody was asked."""
        return self._pending.value().fd() if self._pending else -1

    def advance(mut self) raises NetworkError -> Bool:
        """Looks whether the answer is there for `take`; does not wait. Raises
        what `resolve` raises, also when the deadline is over."""
        if not self._pending:
            return True
        if not _is_complete(self._pending.value(), self._host):
            if self._deadline.left_ms() != 0:
                return False
            var nothing = Lookup(LookupStatus.TIMED_OUT)
            self._addresses = addresses_of(nothing, self._host, self._deadline)
        var lookup = self._pending.take().take()
        self._addresses = addresses_of(lookup, self._host, self._deadline)
        return True

    def take(deinit self) -> List[IpAddr]:
        """Gives the addresses in the order in which to try them; at least one
        if `advance` has answered True."""
        return self._addresses^


def _ask(host: String, family: Int) raises NetworkError -> PendingLookup:
    try:
        return PendingLookup(host, family)
    except error:
        raise NetworkError(error, host)


def _is_complete(
    pending: PendingLookup, host: String
) raises NetworkError -> Bool:
    try:
        return pending.wait(Deadline(0))
    except error:
        raise NetworkError(error, host)
