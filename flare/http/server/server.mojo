"""The HTTP server, and the handles that reach it while it serves."""

from flare.bytes.checked import *
from flare.http.handler.ready_switch import ReadySwitch
from flare.http.handler.metric_source import MetricSource
from flare.http.handler.any_handler import (
    AnyHandler,
    NoHandler,
    SharedHandler,
    share_handler,
)
from flare.http.handler.handler import (
    FixedHandler,
    Handler,
    can_be_fixed,
)
from flare.http.server.config import (
    ServerConfig,
    ServerContext,
    prepare_descriptors,
)
from flare.http.server.connection.dispatch import check_handler
from flare.http.server.listen import (
    check_inherited,
    check_protocols,
    listen_ip,
    listen_path,
    take_listeners,
)
from flare.http.server.shutdown import ShutdownSignal
from flare.http.server.workers import (
    ServerProgram,
    ThreadPlan,
    check_worker_count,
    run_worker,
    run_workers,
)
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.dev_handover import is_dev_build
from flare.runtime.event import Waker
from flare.runtime.prefork.config import PreforkConfig
from flare.runtime.prefork.prefork import Prefork
from flare.runtime.prefork.program import (
    AnyPreforkHooks,
    NoHooks,
    PreforkHooks,
)
from flare.runtime.service_manager import close_unclaimed
from flare.runtime.stats_board import SharedStats, WorkerStats
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.signal import let_writes_fail
from flare.sys.socket_file import SocketFile
from flare.tls.config import TlsServerConfig
from flare.tls.context import TlsServerContext
from flare.unix.unix_addr import UnixAddr
from std.memory import ArcPointer


@fieldwise_init
struct ShutdownHandle(Copyable, Movable):
    """Stops a server from another thread, or from a handler."""

    var _waker: Waker

    def shutdown(self):
        """Stops the server in good order; a second call stops it at once."""
        self._waker.wake()


@fieldwise_init
struct ReloadHandle(Copyable, Movable):
    """Reads a server's certificates anew, from another thread or a handler."""

    var _tls: Optional[TlsServerContext]

    def reload_tls(self) raises:
        """Reads certificates, keys and lists anew, for new connections.

        Connections that exist go on undisturbed. In a worker process it is for
        that one alone; SIGHUP to the supervisor is for all.

        Raises:
            Error: If a file does not work; all stays as it was then. Or if
                the server speaks plain HTTP.
        """
        if not self._tls:
            raise Error(
                "this server speaks plain HTTP, so there is no certificate to"
                " read anew; make it with HttpServer.bind_tls"
            )
        self._tls.held().reload()


@fieldwise_init
struct StatsHandle(Copyable, MetricSource):
    """Reads a server's figures, from any thread and any worker process."""

    var _board: ArcPointer[SharedStats]

    def total(self) -> WorkerStats:
        """Counts over all workers."""
        return self._board[].total()

    def worker(self, index: Int) raises -> WorkerStats:
        """Reads the figures of one worker; all are 0 if there is no such
        worker.

        Args:
            index: Counted from 0.

        Raises:
            Error: If the index is not 0 to 255.
        """
        if index < 0 or index >= WORKER_COUNT_MAX:
            raise Error("there is no worker ", index, "; workers are 0 to 255")
        return self._board[].worker(index)

    def write_metrics(self, mut text: String):
        """Writes the sums for Prometheus."""
        var total = self.total()
        text.write("# HELP http_connections_total Connections accepted.\n")
        text.write("# TYPE http_connections_total counter\n")
        text.write("http_connections_total ", total.connections, "\n")
        text.write("# HELP http_connections_open Connections open now.\n")
        text.write("# TYPE http_connections_open gauge\n")
        text.write("http_connections_open ", total.open_connections, "\n")
        text.write("# HELP worker_restarts_total Crashed workers replaced.\n")
        text.write("# TYPE worker_restarts_total counter\n")
        text.write("worker_restarts_total ", total.restarts, "\n")


struct HttpServer(Movable):
    """Listens at an address and answers HTTP/1.1 requests.

    ```mojo
    var server = HttpServer.bind(SocketAddr.localhost(8080))
    server.serve(router^)
    ```
    """

    # Shared with nobody: behind pointers, so that a server can be served that
    # has no name, as in `HttpServer.bind(address).serve(handler)`.
    var _listeners: ArcPointer[List[RawSocket]]
    var _address: SocketAddr
    var _file: SocketFile
    var _terms: ArcPointer[ServerContext]
    var _waker: Waker
    var _board: ArcPointer[SharedStats]

    def __init__(
        out self, var listeners: List[RawSocket], var config: ServerConfig
    ) raises:
        """Makes a server of sockets that listen already.

        Args:
            listeners: Sockets at one address, TCP or Unix; at least one.
            config: Limits and times.

        Raises:
            Error: If the configuration contradicts itself.
        """
        self._terms = ArcPointer(ServerContext(config^))
        self._address = listeners.at(0).local_addr()
        self._listeners = ArcPointer(listeners^)
        self._file = SocketFile()
        self._waker = Waker()
        self._board = ArcPointer(SharedStats())

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def bind(
        address: SocketAddr, var config: ServerConfig = ServerConfig()
    ) raises -> Self:
        """Makes a server that listens at an address, and gives it: clients can
        connect from now on, and are answered when `serve` is called.

        Args:
            address: Where; port 0 lets the kernel choose one.

        Raises:
            Error: If the address cannot be had, or the configuration
                contradicts itself; the text says which and why.
        """
        var listeners = listen_ip(address, config)
        return Self(listeners^, config^)

    @staticmethod
    def bind_tls(
        address: SocketAddr,
        var tls: TlsServerConfig,
        var config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Makes a server that listens at an address and speaks HTTPS, and gives
        it.

        This loads OpenSSL 3, which plain HTTP does not need.

        Args:
            tls: Certificates and rules. An empty `alpn` becomes "h2" and
                "http/1.1", or the latter alone if HTTP/2 is off.

        Raises:
            Error: If the address cannot be had, a certificate does not work,
                OpenSSL is missing, or a configuration makes no sense; the text
                says which and why.
        """
        var context = ServerContext(ServerConfig(http2=config.http2))
        context.speak_tls(tls^)
        var server = Self.bind(address, config^)
        server._terms[].tls = context.tls.take()
        return server^

    @staticmethod
    def bind_unix(
        address: UnixAddr,
        var config: ServerConfig = ServerConfig(),
        *,
        replace_stale: Bool = False,
    ) raises -> Self:
        """Makes a server that listens at a Unix socket, for a proxy in front,
        and gives it.

        Workers share its socket. `Request.peer` is 0.0.0.0:0, as of no peer
        over IP: the network "0.0.0.0" trusts all who may connect.

        Args:
            address: A path, removed when the server goes, or `@` and an
                abstract name. The rights of the file and of its folder decide
                who may connect.
            config: Limits and times; `inherits_listeners` has to be off.
            replace_stale: True to take over the path of a program that died.

        Raises:
            Error: As `bind`, or if listeners were to be inherited.
        """
        var bound = listen_path(address, config, replace_stale)
        var server = Self([bound.take_socket()], config^)
        server._file = bound.take_file()
        return server^

    def reload_handle(self) -> ReloadHandle:
        """Gives a handle that reads certificates anew, as SIGHUP does under
        `serve_prefork`; for other threads and handlers."""
        ref tls = self._terms[].tls
        if not tls:
            return ReloadHandle(None)
        return ReloadHandle(tls.held().context.copy())

    def local_addr(self) -> SocketAddr:
        """Tells at which address the server listens, with the port that the
        kernel chose; 0.0.0.0:0 for a Unix socket."""
        return self._address

    def shutdown(self):
        """Stops the server in good order, from any thread.

        It accepts no more connections, closes idle ones, finishes requests
        under way, and gives up after `shutdown_timeout_ms`. A second call stops
        it at once.
        """
        self._waker.wake()

    def shutdown_handle(self) -> ShutdownHandle:
        """Gives a handle that can be given to other threads and to handlers."""
        return ShutdownHandle(self._waker.copy())

    def ready_switch(self) -> ReadySwitch:
        """Gives the switch for `Readiness`, which is on, and which the server
        turns off when it begins to stop. Turned off by hand it says so
        beforehand: a load balancer has time to send its requests elsewhere."""
        return self._terms[].ready

    def stats(self) -> WorkerStats:
        """Counts requests and connections of all workers since the server was
        made."""
        return self._board[].total()

    def stats_handle(self) -> StatsHandle:
        """Gives a handle that can be given to other threads and to handlers; in
        worker processes it shows the figures of all."""
        return StatsHandle(self._board.copy())

    def serve(self, var handler: AnyHandler) raises:
        """Answers requests on the calling thread until the server is stopped.

        Handlers that hold its loop are moved to threads beside it, so they are
        called from several at once (`ServerConfig.handler_threads`).

        Args:
            handler: Answers requests: a `Router`, any other `Handler`, or a
                plain function.

        Raises:
            Error: If the server was served before, the handler streams and
                `handler_threads` is 0, or the system refuses what it needs.
        """
        self._serve_alone(SharedHandler(handler^))

    def serve(
        self,
        var handler: AnyHandler,
        *,
        num_workers: Int,
        pin_cores: Bool = True,
    ) raises:
        """Answers requests with several workers until the server is stopped.

        They run on threads of their own, each with its own listener, event loop
        and connections; they share the handler, which is then called by several
        threads at once: what it changes must be atomic or locked. One worker
        runs on the calling thread.

        Args:
            num_workers: 1 to 256; `default_worker_count()` suits the machine.
            pin_cores: True to keep each of several workers on a CPU, unless
                there are more workers than CPUs. Linux alone.

        Raises:
            Error: If the count is out of range, or as the other form does.
        """
        self._serve_on_threads(
            SharedHandler(handler^), ThreadPlan(num_workers, pin_cores)
        )

    def serve(self, value: NoHandler, *rest: NoHandler):
        """Refuses what is no handler, with the compiler's voice.

        Args:
            value: What is no handler.
            rest: Nothing.
        """
        _ = value

    def serve_comptime[
        H: Handler, //, HANDLER: H, CONFIG: ServerConfig
    ](self, *, num_workers: Int = 1, pin_cores: Bool = True) raises:
        """Answers requests with what is known when the program is built.

        The build fails if `CONFIG` contradicts itself, with a message that
        names the fields. Calls of a handler of fixed values, such as
        `FnHandler` or `ComptimeRouter`, are direct; any other is made once.

        Parameters:
            H: The handler's type: `Copyable`, or a `Middleware` around such.
            HANDLER: Answers requests.
            CONFIG: Limits and times, in place of those given to `bind`.

        Raises:
            Error: As `serve` does, or if `CONFIG` wants to inherit listeners
                and `bind` was not told so, or its `http2` is not that of
                `bind_tls`.
        """
        comptime assert can_be_fixed[H](), "HANDLER must be Copyable"
        comptime PROBLEM = CONFIG.problem()
        comptime assert PROBLEM.byte_length() == 0, PROBLEM
        check_inherited(self._terms[].config, CONFIG.inherits_listeners)
        if self._terms[].tls:
            check_protocols(self._terms[].config, CONFIG.http2)
        self._terms[].config = materialize[CONFIG]()
        var plan = ThreadPlan(num_workers, pin_cores)
        comptime if conforms_to(H, TrivialRegisterPassable):
            self._serve_on_threads(share_handler(FixedHandler[HANDLER]()), plan)
        else:
            self._serve_on_threads(share_handler(materialize[HANDLER]()), plan)

    def serve_prefork[
        K: PreforkHooks
    ](
        self,
        var handler: AnyHandler,
        var prefork: PreforkConfig,
        var hooks: K,
    ) raises:
        """Answers requests in several worker processes under a supervisor.

        The calling process becomes the supervisor; see `Prefork` for what it
        does at which signal. Call this before the program starts threads. In a
        worker the call does not return.

        Parameters:
            K: The hooks' type.

        Args:
            handler: Answers requests, as for `serve`; each process has a copy.
            prefork: How many workers, and how they are treated.
            hooks: Told of what happens.

        Raises:
            Error: If the configuration makes no sense, also for this handler,
                the server was served before, or workers crash too often: which
                one, and of what.
        """
        self._serve_prefork(
            SharedHandler(handler^), prefork^, AnyPreforkHooks(hooks^)
        )

    def serve_prefork(
        self, var handler: AnyHandler, var prefork: PreforkConfig
    ) raises:
        """Answers requests in several worker processes under a supervisor."""
        self.serve_prefork(handler^, prefork^, NoHooks())

    def serve_prefork(
        self, var handler: AnyHandler, *, workers: Optional[Int] = None
    ) raises:
        """Answers requests in several worker processes under a supervisor.

        Args:
            workers: 1 to 256; by default one for each usable CPU.
        """
        self.serve_prefork(handler^, PreforkConfig(workers=workers))

    # What follows knows neither the handler's type nor that of the hooks: it is
    # the same in every program.

    def _serve_alone(self, handler: SharedHandler) raises:
        check_handler(handler[], self._terms[].config)
        var listeners = self._begin_serving(1)
        run_worker(
            handler,
            listeners^,
            self._terms[],
            self._shutdown_signal(),
            self._board,
        )

    def _serve_on_threads(
        self, handler: SharedHandler, plan: ThreadPlan
    ) raises:
        check_worker_count(plan.worker_count)
        check_handler(handler[], self._terms[].config)
        var listeners = self._begin_serving(plan.worker_count)
        run_workers(
            handler,
            listeners^,
            self._terms[],
            self._shutdown_signal(),
            self._board,
            plan,
        )

    def _serve_prefork(
        self,
        var handler: SharedHandler,
        var prefork: PreforkConfig,
        var hooks: AnyPreforkHooks,
    ) raises:
        prefork.check()
        check_handler(handler[], self._terms[].config)
        prefork.inherits_listeners = self._terms[].config.inherits_listeners
        if is_dev_build():
            prefork.reuseport = False
            prefork.notifies_manager = True
            close_unclaimed()
        var listeners = self._begin_serving(1, "serve_prefork")
        var program = ServerProgram(
            handler^,
            self._terms[].copy(),
            self._board.copy(),
        )
        var supervisor = Prefork(prefork^, listeners^, self._board, self._waker)
        supervisor.run(program^, hooks^)

    def _begin_serving(
        self, worker_count: Int, called: StaticString = "serve"
    ) raises -> List[RawSocket]:
        """Takes the listeners, once; `called` names who wants them."""
        var listeners = take_listeners(self._listeners[], called)
        let_writes_fail()
        self._terms[].descriptors = prepare_descriptors(
            self._terms[].config, listeners.at(0).fd(), worker_count
        )
        return listeners^

    def _shutdown_signal(self) raises -> ShutdownSignal:
        return ShutdownSignal(
            self._waker.copy(), self._terms[].config.handles_signals
        )
