"""The network interface at which a socket speaks to groups."""

from flare.net.ip import IpAddr


struct MulticastInterface(ImplicitlyCopyable):
    """An interface, named by one of its addresses or by its index."""

    var address: IpAddr
    """An IPv4 address of the interface; 0.0.0.0 if it is not named so."""
    var index: Int
    """The interface's index; 0 if it is not named so."""

    def __init__(out self):
        """Lets the system choose."""
        self.address = IpAddr.v4(0, 0, 0, 0)
        self.index = 0

    @staticmethod
    def at(address: IpAddr) -> Self:
        """Names an interface by an address; for IPv4 groups only.

        Args:
            address: An IPv4 address of the interface.

        Returns:
            The interface.
        """
        var interface = Self()
        interface.address = address
        return interface

    @staticmethod
    def numbered(index: Int) -> Self:
        """Names an interface by its index, as `ip link` lists it.

        Args:
            index: The index.

        Returns:
            The interface.
        """
        var interface = Self()
        interface.index = index
        return interface
