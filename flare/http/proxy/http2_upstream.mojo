"""One connection of a worker to an upstream that speaks HTTP/2, for many requests
at once.

    open_upstream --> opening --> open <-- join, leave
                         |          \\--> closing --last one leaves--> closed
                         +--> refused, or the upstream speaks HTTP/1.1

Whoever has joined is called when there is news: a stream is to be had, something
has come on his own, or there is no connection. What all of them have written in
one turn is sent with one call.
"""

from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.message.config import ClientConfig
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.exchange.connector import Connector
from flare.http.client.connect.error import ClientError
from flare.http.client.exchange.http2_link import (
    Http2Link,
    LinkEnd,
)
from flare.http.proxy.upstream_link import (
    AnyLinkUser,
    LinkUser,
    UpstreamLink,
    open_link,
    start_link,
)
from flare.runtime.event import Event
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer, OwnedPointer

comptime STREAM_WINDOW_LEN = 256 << 10
"""How much content of one response may wait here, in bytes: 2 Gbit/s over 1 ms.
"""


@fieldwise_init
struct UpstreamState(Equatable, TrivialRegisterPassable):
    """What has become of a connection that was to speak HTTP/2."""

    var _number: UInt8

    comptime OPENING = UpstreamState(0)
    """Nothing yet."""
    comptime HTTP2 = UpstreamState(1)
    """It is open."""
    comptime HTTP1 = UpstreamState(2)
    """The upstream speaks HTTP/1.1."""
    comptime REFUSED = UpstreamState(3)
    """There is no connection; `failure` tells why."""
    comptime CLOSED = UpstreamState(4)
    """It was open."""


struct Http2Upstream(LinkUser):
    """A connection to an upstream, and who has a part in it."""

    var _padding: Padding[200]
    var state: UpstreamState
    var http2: Optional[OwnedPointer[Http2Link]]
    """What is spoken on it; nothing before it is open and after it is closed."""
    var failure: Optional[ClientError]
    var plain: Optional[ArcPointer[UpstreamLink]]
    """The connection if the upstream speaks HTTP/1.1, until somebody takes it."""
    var request_count: Int
    # Where the loop knows it by; the octets are those of `http2`.
    var _link: Optional[ArcPointer[UpstreamLink]]
    var _config: ArcPointer[ClientConfig]
    var _keep_idle_ms: Int
    var _age_max_ms: Int
    var _idle_since_ms: Int
    var _users: List[AnyLinkUser]
    var _user_count: Int
    var _is_settling: Bool
    var _expected_streams_max: Int
    var _had_settings: Bool

    def __init__(
        out self,
        config: ArcPointer[ClientConfig],
        keep_idle_ms: Int,
        expected_streams_max: Int,
        age_max_ms: Int,
    ):
        """Makes one that is not open; see `open_upstream`. It stays open for
        `keep_idle_ms` without requests, gets new ones for `age_max_ms` (0 for
        no bound), and lets `expected_streams_max` wait for it to open."""
        self._padding = {}
        self.state = UpstreamState.OPENING
        self.http2 = None
        self.failure = None
        self.plain = None
        self.request_count = 0
        self._link = None
        self._config = config.copy()
        self._keep_idle_ms = keep_idle_ms
        self._age_max_ms = age_max_ms
        self._idle_since_ms = coarse_monotonic_ms()
        self._users = []
        self._user_count = 0
        self._is_settling = False
        self._expected_streams_max = expected_streams_max
        self._had_settings = False

    def __deinit__(deinit self):
        """Lets all users go."""
        for index in range(len(self._users)):
            self._users.at(index).drop()

    def is_opening(self) -> Bool:
        """Tells whether it is not known yet what becomes of it."""
        return self.state == UpstreamState.OPENING

    def is_silent(self) -> Bool:
        """Tells whether it is over since PING was not answered."""
        return self.http2.__bool__() and (
            self.http2.held()[].end == LinkEnd.SILENT
        )

    def is_usable(self) -> Bool:
        """Tells whether requests may join: not once it is over, too old, or
        takes no more."""
        if self.http2:
            return not (
                self.http2.held()[].is_closing()
                or coarse_monotonic_ms()
                >= self._link.held()[].ends_ms(self._age_max_ms)
            )
        return self.is_opening()

    def has_room(self) -> Bool:
        """Tells whether one request more had better go here than elsewhere:
        there is a stream for it, or as far as it is not known yet there will
        be."""
        if self.knows_streams_max():
            return self.streams_max() > self._user_count
        return self._user_count < self._expected_streams_max

    def knows_streams_max(self) -> Bool:
        """Tells whether the upstream's SETTINGS have said how many streams it
        takes."""
        return self.http2.__bool__() and (
            self.http2.held()[].session.state.has_settings
        )

    def streams_max(self) -> Int:
        """Tells how many requests at once the upstream takes here: what its
        SETTINGS say, bounded; what was expected before they come."""
        if not self.knows_streams_max():
            return self._expected_streams_max
        return self.http2.held()[].seat_count()

    def join[U: LinkUser](mut self, user: ArcPointer[U]) -> Int:
        """Takes a part in it, until `leave`, for a user who is called when
        there is news. Returns the number by which the connection knows him."""
        var number = 0
        while number < len(self._users) and self._users.at(number):
            number += 1
        if number == len(self._users):
            self._users.append(AnyLinkUser())
        self._users.at(number) = AnyLinkUser(user)
        self._user_count += 1
        self._count_users()
        return number

    def hand_over[U: LinkUser](mut self, number: Int, user: ArcPointer[U]):
        """Lets somebody else have the part that `join` gave, under the same
        number."""
        var old = self._users.at(number)
        self._users.at(number) = AnyLinkUser(user)
        old.drop()

    def _count_users(mut self):
        if self.http2:
            self.http2.held()[].user_count = self._user_count

    @staticmethod
    def on_open(user: ArcPointer[Self]):
        ref self = user[]
        var link = self._link.held().copy()
        if link[].connection.held()[].is_http2:
            var connection = link[].connection.take()
            var is_tls = connection[].endpoint.is_tls
            self.http2 = OwnedPointer(
                Http2Link(
                    connection^,
                    self._config[],
                    stream_window=STREAM_WINDOW_LEN,
                )
            )
            # More records may be there than one read gives.
            self.http2.held()[].reads_to_end = is_tls
            self.state = UpstreamState.HTTP2
            self._count_users()
        else:
            self.state = UpstreamState.HTTP1
            self.plain = link^
            self._link = None
        _tell_all(user)
        settle(user)
        var unused = take_plain(user)
        if unused:
            unused.held()[].close()

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        user[].state = UpstreamState.REFUSED
        user[].failure = error.copy()
        user[]._link = None
        _tell_all(user)

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        """Takes what has come, and sends what waits."""
        if not user[].http2:
            return
        ref http2 = user[].http2.held()[]
        if event.is_closed:
            # The end stands after the octets, and no other event will say so.
            http2.reads_to_end = True
        if event.is_readable or event.is_closed:
            http2.pump()
        settle(user)

    @staticmethod
    def on_late(user: ArcPointer[Self]):
        """Goes on with what is left to read, asks a silent upstream whether it
        is there, and closes what nobody needs.
        """
        if not user[].http2:
            return
        if user[].http2.held()[].has_more:
            user[].http2.held()[].pump()
        user[].http2.held()[].check_time()
        var idle_ms = coarse_monotonic_ms() - user[]._idle_since_ms
        if user[]._user_count == 0 and idle_ms >= user[]._keep_idle_ms:
            close_upstream(user)
            return
        settle(user)


def open_upstream(
    upstream: ArcPointer[Http2Upstream],
    loop: ArcPointer[WorkerLoop],
    context: ArcPointer[ConnectContext],
    var connector: Connector,
):
    """Opens a connection that somebody has joined; users hear of the end,
    perhaps at once."""
    var link = open_link(loop, context, connector^, upstream)
    upstream[]._link = link.copy()
    start_link(link)


def leave(upstream: ArcPointer[Http2Upstream], number: Int):
    """Gives back the part that `join` gave."""
    ref self = upstream[]
    if not self._users.at(number):
        return
    var user = self._users.at(number)
    self._users.at(number) = AnyLinkUser()
    self._user_count -= 1
    self._count_users()
    if self._user_count == 0:
        self._idle_since_ms = coarse_monotonic_ms()
    if self.http2:
        self.http2.held()[].leave(number)
    user.drop()


def take_plain(
    upstream: ArcPointer[Http2Upstream],
) -> Optional[ArcPointer[UpstreamLink]]:
    """Takes the connection of an upstream that speaks HTTP/1.1, which nobody
    has; nothing if another one was first."""
    var plain = Optional[ArcPointer[UpstreamLink]](None)
    swap(plain, upstream[].plain)
    if plain:
        plain.held()[].release()
    return plain^


def close_upstream(upstream: ArcPointer[Http2Upstream]):
    """Closes a connection that nobody has a part in, saying goodbye."""
    upstream[].state = UpstreamState.CLOSED
    var http2 = Optional[OwnedPointer[Http2Link]](None)
    swap(http2, upstream[].http2)
    _ = http2^
    var link = Optional[ArcPointer[UpstreamLink]](None)
    swap(link, upstream[]._link)
    if link:
        link.held()[].close()


def settle(upstream: ArcPointer[Http2Upstream]):
    """Calls all that have news, sends what they have written, and sets the time
    for what follows. Within such a call it does nothing: the outer one goes on.
    """
    if upstream[]._is_settling or not upstream[].http2:
        return
    upstream[]._is_settling = True
    if not upstream[]._had_settings and upstream[].knows_streams_max():
        # Who finds no stream here goes elsewhere.
        upstream[]._had_settings = True
        _tell_all(upstream)
    while True:
        var woken = List[Int]()
        swap(woken, upstream[].http2.held()[].woken)
        if len(woken) == 0:
            upstream[].http2.held()[].flush()
            if len(upstream[].http2.held()[].woken) == 0:
                break
        for number in woken:
            _tell(upstream, number)
    upstream[]._is_settling = False
    if upstream[]._user_count == 0 and not upstream[].is_usable():
        close_upstream(upstream)
        return
    _set_time(upstream)


def _set_time(upstream: ArcPointer[Http2Upstream]):
    ref self = upstream[]
    var wait_ms = self.http2.held()[].wait_ms()
    if self._user_count == 0:
        var idle_ms = coarse_monotonic_ms() - self._idle_since_ms
        var left_ms = max(self._keep_idle_ms - idle_ms, 0)
        wait_ms = left_ms if wait_ms < 0 else min(wait_ms, left_ms)
    self._link.held()[].set_deadline(wait_ms)


def _tell_all(upstream: ArcPointer[Http2Upstream]):
    for number in range(len(upstream[]._users)):
        _tell(upstream, number)


def _tell(upstream: ArcPointer[Http2Upstream], number: Int):
    if number < len(upstream[]._users):
        var user = upstream[]._users.at(number)
        user.on_ready(Event.readable(0))
