"""One connection of a worker to an upstream: opened, lent to one request after
the other, and watched by the worker's loop all the time.

    open --> connecting --> lent to a user <--> idle --> closed

Its socket is registered once. What comes while nobody has it (the end of the
stream, or octets that nobody has asked for) closes it, so that a connection
which is taken out was open a moment ago.
"""

from flare.bytes.checked import *
from flare.bytes.erased import (
    Erased,
    drop_counted,
    erase_counted,
    notify_counted,
    tell_counted,
)
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.http.client.exchange.loop_calls import interest_of
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.exchange.connector import Connector
from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.connect.connection import ClientConnection
from flare.http.exchange.outgoing_request import OctetStream
from flare.http.proxy.upstreams.upstreams import Upstream
from flare.net.error import NetworkError
from flare.runtime.event import Event, Interest
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import EAGAIN
from std.memory import ArcPointer, OwnedPointer


trait LinkUser(Deinitable, Movable):
    """Who has a connection for a while, or a part in one that others share."""

    @staticmethod
    def on_open(user: ArcPointer[Self]):
        """Goes on, since the connection is open now; not told of one that was."""
        return

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        """Goes on without the connection, which could not be opened."""
        return

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        """Goes on, since the connection is ready, or there is news of one that
        is shared or of the stream on it."""
        ...

    @staticmethod
    def on_late(user: ArcPointer[Self]):
        """Goes on, since the time is over that it has set."""
        return


def _nothing(user: Erased):
    # SAFETY: nobody looks at it.
    return


def _nothing_refused(user: Erased, error: ClientError):
    # SAFETY: nobody looks at it.
    return


def _nothing_ready(user: Erased, event: Event):
    # SAFETY: nobody looks at it.
    return


struct AnyLinkUser(Boolable, ImplicitlyCopyable, Movable):
    """A user of any type, or nobody, which hears nothing; who keeps one ends it by
    `drop`. No `Optional` of it: that would be put together octet by octet."""

    # SAFETY: owned, a counted pointer; the functions were made for its type.
    var _user: OptionalPointer[NoneType, MutUntrackedOrigin]
    var _on_open: def(Erased) thin -> None
    var _on_refused: def(Erased, ClientError) thin -> None
    var _on_ready: def(Erased, Event) thin -> None
    var _on_late: def(Erased) thin -> None
    var _drop: def(Erased) thin -> None

    def __init__(out self):
        """Makes nobody."""
        self._user = None
        self._on_open = _nothing
        self._on_refused = _nothing_refused
        self._on_ready = _nothing_ready
        self._on_late = _nothing
        self._drop = _nothing

    def __init__[U: LinkUser](out self, user: ArcPointer[U]):
        self._user = erase_counted(user.copy())
        self._on_open = notify_counted[U, U.on_open]
        self._on_refused = tell_counted[ClientError, U, U.on_refused]
        self._on_ready = tell_counted[Event, U, U.on_ready]
        self._on_late = notify_counted[U, U.on_late]
        self._drop = drop_counted[U]

    def __bool__(self) -> Bool:
        """Tells whether there is somebody."""
        return self._user.__bool__()

    def on_open(self):
        if self._user:
            self._on_open(self._user.held())

    def on_refused(self, error: ClientError):
        if self._user:
            self._on_refused(self._user.held(), error)

    def on_ready(self, event: Event):
        if self._user:
            self._on_ready(self._user.held(), event)

    def on_late(self):
        if self._user:
            self._on_late(self._user.held())

    def drop(self):
        if self._user:
            self._drop(self._user.held())


struct UpstreamLink(LoopTask, OctetStream):

    var _padding: Padding[200]
    var connection: Optional[OwnedPointer[ClientConnection]]
    """The connection; nothing before it is open and after it is closed."""
    var is_readable: Bool
    """True if octets may be there."""
    var may_have_more: Bool
    """True if the end of the stream may stand after the octets, so that a
    short read does not mean that all was read."""
    var opened_ms: Int
    var token: UInt64
    """By what the loop knows the connection."""
    var _loop: ArcPointer[WorkerLoop]
    var _context: ArcPointer[ConnectContext]
    var _connector: Optional[OwnedPointer[Connector]]
    var _watched: List[Int32]
    var _user: AnyLinkUser

    def __init__(
        out self,
        loop: ArcPointer[WorkerLoop],
        context: ArcPointer[ConnectContext],
        var connector: Connector,
    ):
        """Takes what opens the connection; see `open_link`."""
        self._padding = {}
        self.connection = None
        self.is_readable = False
        self.may_have_more = False
        self.opened_ms = 0
        self._loop = loop.copy()
        self._context = context.copy()
        self.token = 0
        self._connector = OwnedPointer(connector^)
        self._watched = []
        self._user = AnyLinkUser()

    def __deinit__(deinit self):
        self._user.drop()

    def look_again(mut self):
        """Has octets looked for, and the end, which no event may say."""
        self.is_readable = True
        self.may_have_more = True

    def is_open(self) -> Bool:
        """Tells whether the connection can be used: not before it is open and
        after it is closed."""
        return self.connection.__bool__()

    def ends_ms(self, age_max_ms: Int) -> Int:
        """Tells when it is too old for one more request: at that age, for which
        0 is no bound, or up to an eighth of it before. Which part depends on the
        connection, so that those of one age do not end at once."""
        if age_max_ms == 0:
            return NEVER
        var share = Int((self.token >> 32) & 7)
        return self.opened_ms + age_max_ms - age_max_ms * share // 64

    def lend[U: LinkUser](mut self, user: ArcPointer[U]):
        """Gives the connection to a user, who gives it back with `release`."""
        self.release()
        self._user = AnyLinkUser(user)

    def release(mut self):
        """Takes the connection from its user."""
        var user = self._user
        self._user = AnyLinkUser()
        user.drop()

    def set_deadline(self, wait_ms: Int):
        """Sets the time that its user has, or the idle connection; negative for
        ever."""
        var deadline_ms = NEVER
        if wait_ms >= 0:
            deadline_ms = coarse_monotonic_ms() + wait_ms
        self._loop[].set_deadline(self.token, deadline_ms)

    def close(mut self):
        """Closes the connection, and lets its user go."""
        for number in self._watched:
            self._loop[].unwatch(number)
        self._watched = []
        self._connector = None
        self.connection = None
        self.release()
        self._loop[].remove(self.token)

    def break_off(mut self):
        """Closes the connection by a reset, which no upstream takes for the end
        of one side."""
        if self.connection:
            self.connection.held()[].transport.reset_on_close()
        self.close()

    @no_inline
    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets. Returns how many were taken, or a negative number as
        `Transport` gives it."""
        return self.connection.held()[].transport.send(octets)

    @no_inline
    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        """Writes two pieces, the first not empty, without joining them. Returns
        how many octets of both were taken, or a negative number as `Transport`
        gives it."""
        return self.connection.held()[].transport.send_two(first, second)

    def finish_sending(mut self):
        """Tells the upstream that nothing follows, behind what was taken; what
        it sends is still received."""
        self.connection.held()[].transport.finish_sending()

    def flush(mut self) -> Int:
        """Sends what was taken and has not left yet. Returns 0 if all has left,
        or a negative number."""
        return self.connection.held()[].transport.flush()

    @no_inline
    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets, if there may be some. Returns how many, 0 at the end of
        the stream, or a negative number as `Transport` gives it; -EAGAIN if
        nothing is there."""
        ref transport = self.connection.held()[].transport
        if not self.is_readable and not transport.has_buffered():
            return -EAGAIN
        var count = transport.receive(room)
        if count == -EAGAIN:
            self.is_readable = False
        elif count > 0 and count < len(room):
            var is_tls = self.connection.held()[].endpoint.is_tls
            self.is_readable = self.may_have_more or is_tls
        return count

    def wants_write(self) -> Bool:
        """Tells whether octets of TLS wait to leave."""
        return self.connection.held()[].transport.wants_write()

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Lets the user go on, or closes an idle connection."""
        if task[]._connector:
            start_link(task)
            return
        task[].is_readable = task[].is_readable or event.is_readable
        task[].may_have_more = task[].may_have_more or event.is_closed
        var user = task[]._user
        if user:
            user.on_ready(event)
        elif event.is_readable or event.is_closed:
            task[].close()

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Lets the user go on, or closes an idle connection."""
        if task[]._connector:
            start_link(task)
            return
        var user = task[]._user
        if user:
            user.on_late()
        else:
            task[].close()


def connector_to(
    upstream: Upstream, timeout_ms: Int, *, offers_http2: Bool
) -> Connector:
    """Makes what opens a connection to an upstream, over which HTTP/2 may be spoken
    if it `offers_http2`; its time has begun."""
    var endpoint = upstream.endpoint.copy()
    endpoint.offers_http2 = offers_http2
    return Connector(
        endpoint, None, timeout_ms, addresses=upstream.addresses.copy()
    )


def open_link[
    U: LinkUser
](
    loop: ArcPointer[WorkerLoop],
    context: ArcPointer[ConnectContext],
    var connector: Connector,
    user: ArcPointer[U],
) -> ArcPointer[UpstreamLink]:
    """Makes a connection that `start_link` will open, and lends it to a user."""
    var link = ArcPointer(UpstreamLink(loop, context, connector^))
    link[].token = loop[].add(link)
    link[].lend(user)
    return link^


def start_link(link: ArcPointer[UpstreamLink]):
    """Begins to open a connection that `open_link` has made, or goes on with it;
    its user hears of the end, which may be at once."""
    var user = link[]._user
    try:
        if not link[]._connector.held()[].advance(link[]._context[]):
            _watch_connector(link)
            return
        var connection = link[]._connector.held()[].take()
        _unwatch(link)
        link[]._connector = None
        _watch_stream(link, connection[].transport.fd())
        link[].connection = connection^
        link[].opened_ms = coarse_monotonic_ms()
        link[].is_readable = True
    except error:
        _refuse(link, user, error)
        return
    user.on_open()


def _watch_stream(
    link: ArcPointer[UpstreamLink], number: Int32
) raises ClientError:
    """Watches a connection from now on for all that happens."""
    try:
        link[]._loop[].watch(number, link[].token, Interest.STREAM)
    except error:
        raise ClientError(
            materialize[Phase.CONNECT](), NetworkError(error, "the upstream")
        )


def _refuse(
    link: ArcPointer[UpstreamLink],
    user: AnyLinkUser,
    error: ClientError,
):
    # What the connector has closed may be another's number from now on.
    _unwatch(link)
    user.on_refused(error)
    link[].close()


def _unwatch(link: ArcPointer[UpstreamLink]):
    for number in link[]._watched:
        link[]._loop[].unwatch(number)
    link[]._watched = []


def _watch_connector(link: ArcPointer[UpstreamLink]):
    """Watches what the connector waits for; descriptors that it has closed are
    watched no more."""
    _unwatch(link)
    ref connector = link[]._connector.held()[]
    for entry in connector.watches():
        if entry.number < 0:
            continue
        try:
            link[]._loop[].watch(entry.number, link[].token, interest_of(entry))
            link[]._watched.append(entry.number)
        except:
            # Its time will say so.
            pass
    link[].set_deadline(connector.wait_ms())
