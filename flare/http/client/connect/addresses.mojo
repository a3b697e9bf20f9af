"""Addresses of hosts that a program gives itself, or a resolver of its own."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.dns.resolve import numeric_address
from flare.http.client.connect.error import (
    BadUrl,
    ClientError,
    Phase,
    bad_request,
)
from flare.http.client.connect.proxy import names_port
from flare.net.error import NameLookupFailed, NetworkError
from flare.net.ip import IpAddr
from flare.url.url import Url
from std.memory import ArcPointer


trait NameResolver(Deinitable, Movable):
    """Finds the addresses of hosts in place of the system.

        struct Directory(NameResolver):
            var services: Dict[String, IpAddr]

            def resolve(self, host: StringSpan) raises -> List[IpAddr]:
                return [self.services[String(host)]]

    The client is not ready for anything else until it returns, so it asks a
    table or a server nearby. Threads that share a client call it at the same
    time.
    """

    def resolve(self, host: StringSpan) raises -> List[IpAddr]:
        """Finds the addresses of a host.

        Args:
            host: Its name, in lower case and as DNS has it (`xn--`).

        Returns:
            The addresses in the order in which to try them. Without any, the
            system is asked.

        Raises:
            Error: If there is no such host, and the system is not to be asked.
        """
        ...


@fieldwise_init
struct _Pinned(Copyable, Movable):
    var host: String
    # 0 for any.
    var port: UInt16
    var addresses: List[IpAddr]


struct HostAddresses(Copyable, Defaultable, Movable):
    """Where hosts are to be found; the system is asked for all others.

    Only the address is another one: the name stays in the URL, in Host, in SNI,
    and in what the certificate is checked for.
    """

    var _pinned: List[_Pinned]
    var _resolver: Optional[ArcPointer[_AnyResolver]]

    def __init__(out self):
        """Leaves all to the system."""
        self._pinned = []
        self._resolver = None

    def pin(
        mut self, host: StringSpan, addresses: List[String]
    ) raises ClientError:
        """Gives the addresses of a host.

            var choices = ClientConfig()
            choices.addresses.pin("api.example.com:443", ["10.0.0.7"])
            var api = HttpClient(config=choices^)

        Args:
            host: Its name; with a port after a colon for that port alone.
            addresses: The addresses in the order in which to try them. They
                take the place of those that were given before.

        Raises:
            ClientError: If the host is none, there is no address, or one is
                none.
        """
        var text = String("http://", host)
        var url: Url
        try:
            url = Url.parse(text)
        except error:
            raise _bad_host(host, error.reason)
        if url.hostname().byte_length() == 0 or not (url.pathname() == "/"):
            raise _bad_host(host, "a name, or name:port, is wanted")
        var port = UInt16(0)
        if names_port(text):
            port = url.port_number()
        var parsed = List[IpAddr]()
        for address in addresses:
            try:
                parsed.append(IpAddr.parse(address))
            except error:
                raise bad_request(
                    String("ClientConfig.addresses, ", host, ": ", error)
                )
        if len(parsed) == 0:
            raise _bad_host(host, "at least one address is wanted")
        var name = _name(url.hostname())
        for index in range(len(self._pinned)):
            ref old = self._pinned.at(index)
            if old.host == name and old.port == port:
                old.addresses = parsed^
                return
        self._pinned.append(_Pinned(name^, port, parsed^))

    def resolve_with[R: NameResolver](mut self, var resolver: R):
        """Asks a resolver for hosts that have no addresses here.

        Parameters:
            R: Its type.

        Args:
            resolver: The resolver; all copies of the configuration share it.
        """
        self._resolver = ArcPointer(_AnyResolver(resolver^))

    def find(
        self, host: StringSpan, port: UInt16
    ) raises NetworkError -> List[IpAddr]:
        """Finds the addresses of a host.

        Args:
            host: The host of a URL, or an address without brackets.
            port: The port.

        Returns:
            The addresses; none to ask the system.

        Raises:
            NetworkError: If the program's resolver fails.
        """
        var name = _name(host)
        var any = -1
        for index in range(len(self._pinned)):
            ref entry = self._pinned.at(index)
            if entry.host != name:
                continue
            if entry.port == port:
                return entry.addresses.copy()
            if entry.port == 0:
                any = index
        if any >= 0:
            return self._pinned.at(any).addresses.copy()
        if not self._resolver or numeric_address(host, 0):
            return []
        try:
            return self._resolver.value()[].resolve(name)
        except error:
            raise NetworkError.of_name(NameLookupFailed, name, String(error))

    def is_empty(self) -> Bool:
        """Tells whether all is left to the system."""
        return len(self._pinned) == 0 and not self._resolver


def _name(host: StringSpan) -> String:
    """A host name as it is compared: URLs have it in lower case already."""
    var bare = host.removeprefix("[").removesuffix("]").removesuffix(".")
    return String(bare)


def _bad_host(host: StringSpan, reason: StringSpan) -> ClientError:
    return ClientError(
        Phase.REQUEST,
        BadUrl,
        String("ClientConfig.addresses, '", host, "': ", reason),
    )


struct _AnyResolver(Movable):
    # SAFETY: the function was made for the type of the resolver.
    var _resolver: ErasedBox
    var _resolve: def(Erased, String) raises thin -> List[IpAddr]

    def __init__[R: NameResolver](out self, var resolver: R):
        self._resolver = ErasedBox(resolver^)
        self._resolve = _resolve_by[R]

    def resolve(self, host: String) raises -> List[IpAddr]:
        return self._resolve(self._resolver.at, host)


def _resolve_by[
    R: NameResolver
](resolver: Erased, host: String) raises -> List[IpAddr]:
    # SAFETY: it holds an R, for it was made with this function.
    return resolver.unsafe_bitcast[R]()[].resolve(host)
