"""What a client keeps between requests: its configuration, idle connections,
cookies, and buffers."""

from flare.bytes.checked import *
from flare.http.client.exchange.attempt import Attempt
from flare.http.client.exchange.connect_context import (
    Challenges,
    CommonTls,
    ConnectContext,
)
from flare.http.client.message.config import ClientConfig, accept_codings
from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.connect.connection import (
    ClientConnection,
    Endpoint,
    Http1Endpoints,
)
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.client.exchange.shared_connections import (
    ConnectionClaim,
    IdleConnection,
    SharedConnections,
    SharedPlace,
)
from flare.http.client.exchange.link_crowd import Crowd
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.message.response import ClientResponse
from flare.http.client.connect.shared_pool import ConnectionLimits
from flare.http.cookie.jar import CookieJar
from flare.http.exchange.idle_pool import IdlePool, PoolLimits, keep_alive_ms
from flare.net.error import NetworkError
from flare.runtime.event import Waker
from flare.sys.clock import coarse_monotonic_ms, unix_seconds
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.sys.signal import process_id
from std.memory import ArcPointer, OwnedPointer

comptime SPARE_COUNT_MAX = 4
"""Most buffers kept for the next requests; each has about 64 KiB."""


struct ClientState(Movable):

    var config: ClientConfig
    var pool: IdlePool[Endpoint, IdleConnection]
    var links: List[ArcPointer[Http2Link]]
    """Connections that speak HTTP/2 and have requests under way."""
    var woken: List[Int]
    """The owners of requests that need not wait any longer for a connection
    that another one has opened; the driver empties it."""
    var context: ConnectContext
    var jar: Optional[CookieJar]
    var shared: Optional[SharedParts]
    """What it has in common with the states of other threads, in place of
    `pool` and `jar`."""
    var place: Optional[OwnedPointer[SharedPlace]]
    """After `take_any`, the request's part in a connection that other threads
    have, too; the request takes it."""
    # What wakes a request on such a connection; of the one that waits.
    var _bell: Optional[Waker]
    var _bell_process: Int
    # Connections that are being opened and may turn out to speak HTTP/2.
    var _dials: List[_Dial]
    var _http1: Http1Endpoints
    # Buffers of requests that are over, for the next ones.
    var _spare: List[OwnedPointer[Attempt]]
    # The process whose connections these are.
    var _process: Int

    def __init__(out self, var config: ClientConfig):
        """Starts without connections, by a configuration whose `problem` is
        empty."""
        self.pool = IdlePool[Endpoint, IdleConnection](config.pool)
        self.links = []
        self.woken = []
        self._dials = []
        self._http1 = Http1Endpoints()
        self.config = config^
        accept_codings(self.config)
        self.context = ConnectContext(
            self.config.tls.copy(), self.config.head_limits
        )
        self.context.addresses = self.config.addresses.copy()
        self.jar = None
        self.shared = None
        self.place = None
        self._bell = None
        self._bell_process = 0
        self._spare = []
        self._process = process_id()

    def share(mut self, var parts: SharedParts):
        """Uses what it has in common with the states of other threads, the same
        for all of them."""
        self.context.common = parts.contexts
        self.context.challenges = parts.challenges
        self.shared = parts^

    def leave_to_parent(mut self):
        """Forgets the connections of the process that this one was forked from:
        of two that send on one, each would read what the other has asked for.
        Nothing is sent on them."""
        if self._process == process_id():
            return
        self._process = process_id()
        self.pool.clear()
        self.links.clear()
        self._dials.clear()
        self.woken.clear()

    def take_attempt(mut self) -> OwnedPointer[Attempt]:
        """Gives the buffers of a request that is over, or new ones."""
        if len(self._spare) > 0:
            return self._spare.pop()
        return OwnedPointer(Attempt())

    def give_attempt(mut self, var attempt: OwnedPointer[Attempt]):
        if len(self._spare) < SPARE_COUNT_MAX:
            self._spare.append(attempt^)

    def take_any(
        mut self,
        mut claim: Optional[OwnedPointer[ConnectionClaim]],
        endpoint: Endpoint,
        may_reuse: Bool,
        *,
        joins: Bool,
        queues: Bool = True,
    ) raises ClientError -> Optional[IdleConnection]:
        """Takes a connection of the pool, its own or the one that threads
        share, or nothing; unless it `may_reuse`, one that was not used before.
        Those that the server has closed, or on which it has sent what nobody
        asked for, are closed on the way. Who `joins` may share one over HTTP/2
        with other threads, in which its part is then the `place`.

        The claim is the request's, of the pool that threads share: made when
        there is none, and gone when it has a connection. Without a connection,
        it may have the slot to open one, or wait; unless the request `queues`,
        a claim that would wait is gone, too. Raises if the request has waited
        too long, or too many wait.
        """
        if self.shared:
            return self._claim(claim, endpoint, may_reuse, joins, queues)
        self.leave_to_parent()
        if not may_reuse:
            return None
        while True:
            var found = self.pool.take(endpoint, coarse_monotonic_ms())
            if not found:
                return None
            var idle = found.take()
            if idle.link:
                if idle.link.value()[].wake_up():
                    self.links.append(idle.link.value())
                    return idle^
            elif idle.connection.value()[].is_quiet():
                return idle^

    def find_shared(
        mut self,
        mut claim: Optional[OwnedPointer[ConnectionClaim]],
        endpoint: Endpoint,
        may_reuse: Bool,
        *,
        waits: Bool,
    ) raises ClientError -> Optional[IdleConnection]:
        """Finds a connection for a request that may go over HTTP/2: one in use
        that takes one more, or else of the pool; of that, unless it
        `may_reuse`, one that was not used before. Nothing means to open one, or
        to wait with the claim, as `take_any` has it.

        Who `waits` may wait for a stream of a connection, if there may be no
        other, and does not share one with other threads. Raises if the request
        has waited too long, or too many wait.
        """
        self.leave_to_parent()
        var link = self.find_link(endpoint, is_full=False)
        if link:
            return IdleConnection(link.take())
        if waits:
            link = self.find_link(endpoint, is_full=True)
        if not link:
            if not may_reuse:
                return None
            return self.take_any(claim, endpoint, may_reuse, joins=not waits)
        var other = self.take_any(
            claim, endpoint, may_reuse, joins=False, queues=False
        )
        if other or claim or (not self.shared and self.may_dial(endpoint)):
            return other^
        return IdleConnection(link.take())

    def _claim(
        mut self,
        mut claim: Optional[OwnedPointer[ConnectionClaim]],
        endpoint: Endpoint,
        may_reuse: Bool,
        joins: Bool,
        queues: Bool,
    ) raises ClientError -> Optional[IdleConnection]:
        ref shared = self.shared.value()
        if joins:
            self._have_bell()
        if not claim:
            claim = OwnedPointer(
                ConnectionClaim(
                    shared.connections, endpoint, shared.queue_timeout_ms, joins
                )
            )
        var idle = claim.value()[].take(may_reuse, queues)
        if not idle:
            if not queues and not claim.value()[].slot:
                claim = None
            return None
        if claim.value()[].place:
            self.place = OwnedPointer(claim.value()[].place.take())
        elif idle.value().link:
            self.links.append(idle.value().link.value())
        claim = None
        return idle^

    def _have_bell(mut self) raises ClientError:
        """Makes the bell, and another one in a process that was forked since: both
        would be rung, and silenced, for each other."""
        if self._bell and self._bell_process == process_id():
            return
        try:
            self._bell = Waker()
            self._bell_process = process_id()
        except error:
            raise ClientError(Phase.QUEUE, NetworkError(error))

    def bell(self) -> Optional[Waker]:
        """Lends what wakes the one request that shares a connection with other
        threads; nothing if no such request was begun."""
        return self._bell.copy()

    def find_link(
        self, endpoint: Endpoint, *, is_full: Bool
    ) -> Optional[ArcPointer[Http2Link]]:
        """Finds a connection in use that takes one more request, now or soon,
        or nothing; if it `is_full`, one whose few streams are all in use."""
        for index in range(len(self.links)):
            ref link = self.links.at(index)[]
            if (
                not link.is_closing()
                and link.wants_another() == is_full
                and link.connection[].endpoint == endpoint
            ):
                return self.links.at(index)
        return None

    def may_dial(self, endpoint: Endpoint) -> Bool:
        """Tells whether one more connection may be opened for requests that
        could also wait for a stream: not if there are as many as may wait there
        later (`PoolLimits.max_idle_per_host`), or as `ConnectionLimits`
        allow."""
        if self.shared:
            return self.shared.value().connections.hold()[].has_some(endpoint)
        var count = 0
        for index in range(len(self.links)):
            ref link = self.links.at(index)[]
            count += Int(
                not link.is_closing() and link.connection[].endpoint == endpoint
            )
        for index in range(len(self._dials)):
            count += Int(self._dials.at(index).endpoint == endpoint)
        return count < max(self.pool.limits.max_idle_per_host, 1)

    def offers_another(self, endpoint: Endpoint) -> Bool:
        """Tells whether a request that waits for a stream is better off
        elsewhere now: there is another connection to be had."""
        for index in range(len(self.links)):
            ref link = self.links.at(index)[]
            if link.room() > 0 and link.connection[].endpoint == endpoint:
                return True
        if not self.shared and self.pool.has(endpoint):
            return True
        return self.may_dial(endpoint)

    def add_link(
        mut self,
        var connection: OwnedPointer[ClientConnection],
        mut claim: Optional[OwnedPointer[ConnectionClaim]],
    ) -> ArcPointer[Http2Link]:
        """Begins to speak HTTP/2 on a new connection. With a claim, which has
        the slot, other threads share it, and the request's part in it is the
        `place`; there is none if the system has no more locks, so that nobody
        shares it."""
        self._http1.remove(connection[].endpoint)
        var link = ArcPointer(Http2Link(connection^, self.config))
        if self.shared:
            try:
                link[].crowd = Mutex(Crowd())
            except:
                # Then each has one of its own.
                pass
        if claim and link[].crowd and claim.value()[].joins:
            self.place = OwnedPointer(claim.value()[].lend(link))
            return link^
        if claim:
            link[].connection[].slot = claim.value()[].take_slot(is_http1=False)
        self.links.append(link)
        return link^

    def settle_link(mut self, link: ArcPointer[Http2Link]):
        """Keeps one of the `links` that has no more requests, or lets go of
        it."""
        # Other threads may have it once it is retired.
        if len(self.links) > 1 and not link[].has_waiting():
            self._wake_elsewhere(link)
        if link[].is_in_use():
            return
        for index in range(len(self.links)):
            if self.links.at(index)[].fd() == link[].fd():
                _ = self.links.pop(index)
                break
        if link[].is_closing():
            return
        link[].forget_buffers()
        self._put(link[].connection[].endpoint.copy(), IdleConnection(link), -1)

    def _wake_elsewhere(mut self, link: ArcPointer[Http2Link]):
        """Wakes a request that waits for a stream of another connection to the
        same host, where nobody waits for what has come free here."""
        for index in range(len(self.links)):
            var other = self.links.at(index)
            if (
                not (other is link)
                and other[].has_waiting()
                and other[].connection[].endpoint
                == link[].connection[].endpoint
            ):
                other[].wake_first()
                return

    def _put(
        mut self,
        var endpoint: Endpoint,
        var idle: IdleConnection,
        server_ms: Int,
    ):
        if self.shared:
            self.shared.value().connections.put(idle^, server_ms)
            return
        self.pool.put(endpoint^, idle^, coarse_monotonic_ms(), server_ms)

    def has_left(self, link: ArcPointer[Http2Link]) -> Bool:
        """Tells whether a connection that was among the `links` may be another
        thread's by now, and must not be touched."""
        if not self.shared:
            return False
        for index in range(len(self.links)):
            if self.links.at(index) is link:
                return False
        return True

    def serve_link(mut self, link: ArcPointer[Http2Link]) -> Bool:
        """Sends what waits on a connection that requests share, and was among
        the `links`, and notes who of them can go on. After it its driver
        watches for what comes next; no more if this is False."""
        if self.has_left(link):
            return False
        ref shared = link[]
        if shared.wants_write():
            shared.flush()
        self.woken.extend(shared.woken.copy())
        shared.woken.clear()
        return not shared.failure and (
            not shared.is_closing() or shared.is_in_use()
        )

    def give_up_links(mut self, error: ClientError):
        """Closes the connections that requests share, and forgets who waits.
        The error says why nobody drives them any more."""
        for index in range(len(self.links)):
            self.links.at(index)[].fail(error)
        self.links.clear()
        self.woken.clear()
        self._dials.clear()

    def count_request(self, mut connection: ClientConnection):
        connection.request_count += 1
        if connection.endpoint.is_tls and connection.request_count == 1:
            # By now a server of TLS 1.3 has sent its ticket.
            self.context.keep_ticket(connection)

    def joins_dial(mut self, endpoint: Endpoint, owner: Int) -> Bool:
        """Decides between waiting for a connection that another request opens,
        which may speak HTTP/2, and opening one, which is noted; True to wait.
        The owner is woken when it is open, or could not be; negative for who
        does not wait."""
        if owner >= 0 and endpoint not in self._http1:
            for index in range(len(self._dials)):
                if self._dials.at(index).endpoint == endpoint:
                    self._dials.at(index).waiting.append(owner)
                    return True
        self._dials.append(_Dial(endpoint.copy()))
        return False

    def end_dial(mut self, endpoint: Endpoint, is_http1: Bool):
        """Lets those go on that wait for a connection to an endpoint.
        `is_http1` if it is open and speaks HTTP/1.1."""
        for index in range(len(self._dials)):
            if self._dials.at(index).endpoint == endpoint:
                var dial = self._dials.pop(index)
                self.woken.extend(dial.waiting.copy())
                break
        if is_http1:
            self._http1.add(endpoint)

    def end_exchange(
        mut self,
        var connection: OwnedPointer[ClientConnection],
        is_reusable: Bool,
        response: ClientResponse,
    ):
        """Keeps what the next request can use of a connection whose last
        exchange, with this response, is over: the connection if it
        `is_reusable`, or at least a ticket for the next one."""
        self.count_request(connection[])
        if not is_reusable or connection[].transport.has_ended():
            # It is closed at once (RFC 8446 section 6), not when it is wanted.
            return
        var endpoint = connection[].endpoint.copy()
        var server_ms = keep_alive_ms(response.headers.lines_fields())
        self._put(endpoint^, IdleConnection(connection^), server_ms)

    def add_cookies(mut self, mut request: PreparedRequest):
        if self.shared and self.shared.value().jar:
            var guard = self.shared.value().jar.value().lock()
            request.cookie = guard[].header_for(request.url, unix_seconds())
        elif self.jar:
            request.cookie = self.jar.value().header_for(
                request.url, unix_seconds()
            )

    def keep_cookies(mut self, response: ClientResponse):
        if self.shared and self.shared.value().jar:
            var guard = self.shared.value().jar.value().lock()
            _keep_cookies(guard[], response)
        elif self.jar:
            _keep_cookies(self.jar.value(), response)


def _keep_cookies(mut jar: CookieJar, response: ClientResponse):
    var index = response.headers.find("set-cookie")
    while index >= 0:
        _ = jar.store(
            response.url, response.headers.value(index), unix_seconds()
        )
        index = response.headers.find("set-cookie", index + 1)


struct SharedParts(Copyable, Movable):
    """What the states of one client, one for each thread, have in common."""

    var connections: SharedConnections
    var contexts: CommonTls
    var challenges: Challenges
    var jar: Optional[Mutex[CookieJar]]
    var queue_timeout_ms: Int
    """Longest wait of a request for a connection; -1 for ever."""

    def __init__(
        out self, limits: ConnectionLimits, idle_limits: PoolLimits
    ) raises OsError:
        """Makes them, without connections and cookies. Raises if the system has
        no more locks."""
        self.connections = SharedConnections(limits, idle_limits)
        self.contexts = CommonTls()
        self.challenges = Challenges()
        self.challenges.share()
        self.jar = None
        self.queue_timeout_ms = limits.queue_timeout_ms


struct _Dial(Movable):
    """A connection that is being opened, and who waits for it."""

    var endpoint: Endpoint
    var waiting: List[Int]

    def __init__(out self, var endpoint: Endpoint):
        self.endpoint = endpoint^
        self.waiting = []
