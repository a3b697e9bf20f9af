"""What a server that is deployed is told from outside: address, port, workers,
and its limits."""

from flare.bytes.ranges import range_problem
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.runtime.worker_count import WORKER_COUNT_MAX, default_worker_count
from flare.settings.fields import SettingsGroup
from flare.settings.start import exit_refusing


struct ServerSettings(Copyable, Defaultable, SettingsGroup):
    """Where a server listens, with how many workers, and its limits.

        var settings = settings_or_exit[ServerSettings]("APP_").take()
        var server = settings.bind_or_exit()
        server.serve(router^, num_workers=settings.worker_count())

    reads `APP_PORT`, `APP_MAX_BODY_SIZE`, `--port` and so on. As a field of a
    struct of one's own its settings are called the same.
    """

    comptime IS_FLAT = True
    """Its fields are called the same within another struct."""
    var address: IpAddr
    """Where to listen. Default 127.0.0.1, for this machine alone; 0.0.0.0 or ::
    for all networks, as in a container."""
    var port: Int
    """The port; 0 lets the kernel choose one. Default 8080."""
    var workers: Int
    """How many workers; 0 for one for each usable CPU. Default 1."""
    var config: ServerConfig
    """Limits and times."""

    def __init__(out self):
        """Makes the defaults."""
        self.address = SocketAddr.localhost(0).ip
        self.port = 8_080
        self.workers = 1
        self.config = ServerConfig()

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Gives a line that says what a field means, for `--help`."""
        if name == "address":
            return "Where to listen; 0.0.0.0 or :: for all networks."
        if name == "port":
            return "The port; 0 for any that is free."
        return "How many workers; 0 for one for each usable CPU."

    def problem(self) -> String:
        """Gives a sentence that says what is wrong with port or workers, and
        names the fields; empty if all is well."""
        var found = range_problem("port", self.port, 0, 65_535)
        if found.byte_length() > 0:
            return found^
        return range_problem("workers", self.workers, 0, WORKER_COUNT_MAX)

    def bind(self) raises -> HttpServer:
        """Makes a server that listens there, and gives it.

        Raises:
            Error: As `HttpServer.bind`.
        """
        return HttpServer.bind(self.socket_addr(), self.config.copy())

    def bind_or_exit(self) -> HttpServer:
        """Makes a server that listens there, and gives it; if that cannot be,
        ends the program with a line on standard error and exit code 2: the
        address is not this machine's, or the port is taken, or needs rights."""
        try:
            return self.bind()
        except error:
            exit_refusing([String("cannot listen: ", error)])

    def socket_addr(self) -> SocketAddr:
        """Gives address and port, such as for `HttpServer.bind_tls`."""
        return SocketAddr(self.address, UInt16(self.port))

    def worker_count(self) -> Int:
        """Counts the workers, at least 1, for `serve` and `serve_prefork`."""
        return self.workers if self.workers > 0 else default_worker_count()
