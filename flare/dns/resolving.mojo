"""From host names to addresses without waiting, for a reactor."""

from flare.dns.resolve import addresses_of, numeric_address
from flare.net.error import NetworkError
from flare.net.ip import IpAddr
from flare.sys.clock import Deadline
from flare.sys.name_lookup import Lookup, LookupStatus, PendingLookup


struct Resolving(Movable):
    """A lookup that goes on while its caller does other things."""

    var _host: String
    var _deadline: Deadline
    var _addresses: List[IpAddr]
    var _pending: Optional[PendingLookup]

    def __init__(
        out self, host: StringSpan, family: Int, deadline: Deadline
    ) raises NetworkError:
        """Asks for the addresses of a host; nobody is asked for an address.

        Args:
            host: A host name, or an address without brackets.
            family: `AF_INET`, `AF_INET6`, or 0 for both.
            deadline: When to give up.

        Raises:
            NetworkError: If the name must not be looked up, or there is no
                descriptor or no thread to be had.
        """
        self._host = String(host)
        self._deadline = deadline
        self._addresses = []
        self._pending = None
        var numeric = numeric_address(host, family)
        if numeric:
            self._addresses.append(numeric.value())
        else:
            self._pending = _ask(self._host, family)

    def fd(self) -> Int32:
        """Lends the descriptor that can be read once `advance` has news.

        Returns:
            The number; -1 if nobody was asked.
        """
        return self._pending.value().fd() if self._pending else -1

    def advance(mut self) raises NetworkError -> Bool:
        """Looks whether the answer is there; does not wait.

        Returns:
            True if it is, and `take` gives it.

        Raises:
            NetworkError: As `resolve`, also when the deadline is over.
        """
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
        """Gives the addresses.

        Returns:
            The addresses in the order in which to try them; at least one if
            `advance` has answered True.
        """
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
