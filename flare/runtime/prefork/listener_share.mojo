"""Which worker accepts from which listening sockets."""

from flare.bytes.checked import *
from flare.net.raw_socket import RawSocket, share_port
from flare.sys.platform import IS_MACOS


struct ListenerShare(Movable):
    """The listening sockets of a master, kept open over its workers' lives.

    Each socket belongs to the worker whose number is the socket's modulo the
    number of workers, so that none is left alone when there are fewer. As the
    master holds them too, connections that wait in a dead worker's socket
    wait for its successor, or for the others, to whom the pool lends it
    meanwhile. Without `reuseport`, and if it is a Unix socket,
    all belong to all.
    """

    var sockets: List[RawSocket]
    """The sockets."""
    var is_shared: Bool
    """True if all workers accept from all of them."""

    def __init__(out self, var sockets: List[RawSocket], reuseport: Bool):
        """Takes listening sockets.

        Args:
            sockets: For one address; none if workers do not want any.
            reuseport: Whether each worker is to have its own.
        """
        self.sockets = sockets^
        self.is_shared = IS_MACOS or not reuseport

    def provide(mut self, worker_count: Int) raises:
        """Makes sure that there is a socket for each worker.

        Args:
            worker_count: How many workers there are to be.

        Raises:
            Error: If the kernel refuses.
        """
        if self.is_shared or len(self.sockets) == 0:
            return
        if self.sockets.at(0).local_addr().port == 0:
            # No other socket can join a Unix socket.
            self.is_shared = True
            return
        while len(self.sockets) < worker_count:
            var socket = share_port(self.sockets.at(0))
            self.sockets.append(socket^)

    def of(self, worker: Int, worker_count: Int) -> List[Int]:
        """Lists the sockets of a worker.

        Args:
            worker: Counted from 0.
            worker_count: How many workers there are.

        Returns:
            Indices of `sockets`.
        """
        var own = List[Int]()
        for index in range(len(self.sockets)):
            if self.is_shared or index % worker_count == worker:
                own.append(index)
        return own^

    def heirs(self, worker_count: Int) -> List[Int]:
        """Lists the workers that have to take sockets over when there are
        fewer than sockets.

        Args:
            worker_count: How many workers are left.

        Returns:
            Workers, each once; they need new processes for it.
        """
        var heirs = List[Int]()
        if self.is_shared:
            return heirs^
        for index in range(worker_count, len(self.sockets)):
            if index % worker_count not in heirs:
                heirs.append(index % worker_count)
        return heirs^

    def fds(self) -> List[Int32]:
        """Lends the descriptors.

        Returns:
            Numbers, good while this value lives.
        """
        var numbers = List[Int32]()
        for index in range(len(self.sockets)):
            numbers.append(self.sockets[index].fd())
        return numbers^
