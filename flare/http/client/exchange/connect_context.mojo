"""What the connections of one client share: contexts of TLS with their tickets,
where hosts are, and challenges."""

from flare.bytes.checked import *
from flare.http.client.connect.addresses import HostAddresses
from flare.http.client.connect.error import ClientError, Phase, bad_request
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.proxy import Proxy
from flare.http.h1.field_section import HeadLimits
from flare.tls.config import TlsConfig
from flare.tls.context import TlsClientContext
from flare.tls.error import TlsError
from flare.tls.session import TlsSession
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.bytes.ascii import hex_text
from flare.http.client.connect.auth import BasicAuth
from flare.http.client.connect.digest import (
    CNONCE_LEN,
    DigestChallenge,
    DigestSession,
    DigestStore,
)
from flare.http.client.exchange.prepared_request import (
    PreparedRequest,
    set_authorization,
)
from flare.http.client.message.response import (
    ClientResponse,
    url_without_credentials,
)
from flare.sys.random import fill_random


struct ConnectContext(Movable):

    var tls_config: TlsConfig
    """Whom to trust, and what to show and offer to servers."""
    var head_limits: HeadLimits
    """Bounds of the head with which a proxy answers."""
    var common: Optional[CommonTls]
    """Where several clients have their TLS contexts from."""
    var addresses: HostAddresses
    """Where hosts are to be found, if the system is not asked."""
    var challenges: Challenges
    # Made for the first connection with TLS; the second one offers HTTP/2.
    var _tls: Optional[TlsClientContext]
    var _tls_http2: Optional[TlsClientContext]
    # Of proxies to which TLS is spoken.
    var _proxies: List[_ProxyTls]

    def __init__(out self, var tls_config: TlsConfig, head_limits: HeadLimits):
        """Takes the settings; nothing is loaded yet."""
        self.tls_config = tls_config^
        self.head_limits = head_limits
        self.common = None
        self.addresses = HostAddresses()
        self.challenges = Challenges()
        self._tls = None
        self._tls_http2 = None
        self._proxies = []

    def proxy_session(mut self, proxy: Proxy) raises ClientError -> TlsSession:
        """Begins a TLS session with a proxy; its handshake is still to come.
        Two proxies at one place have each its own trust. Raises if OpenSSL is
        missing or the proxy's configuration does not work."""
        var name = proxy.name()
        try:
            for index in range(len(self._proxies)):
                ref known = self._proxies.at(index)
                if known.name == name and known.config == proxy.tls:
                    return known.context.session(proxy.host)
            var config = proxy.tls.copy()
            # What a proxy is spoken to in, whatever goes through it.
            config.alpn = ["http/1.1"]
            var made = TlsClientContext(config)
            var session = made.session(proxy.host)
            self._proxies.append(_ProxyTls(name^, proxy.tls.copy(), made))
            return session^
        except error:
            raise ClientError(Phase.PROXY, error)

    def session(mut self, endpoint: Endpoint) raises ClientError -> TlsSession:
        """Begins a TLS session, resuming an earlier one if there is a ticket;
        its handshake is still to come. Raises if OpenSSL is missing or the
        configuration does not work."""
        try:
            ref own = self._tls_http2 if endpoint.offers_http2 else self._tls
            if not own:
                own = self._make_context(endpoint.offers_http2)
            ref context = own.value()
            var session = context.session(endpoint.host)
            var ticket = context.tickets.take(endpoint.name())
            _ = session.resume(Span(ticket))
            return session^
        except error:
            raise ClientError(Phase.TLS, error)

    def _make_context(
        self, offers_http2: Bool
    ) raises TlsError -> TlsClientContext:
        var config = self.tls_config.copy()
        config.alpn = offered_protocols(config.alpn, offers_http2)
        if self.common:
            return self.common.value().context(config, offers_http2)
        return TlsClientContext(config)

    def keep_ticket(self, connection: ClientConnection):
        """Keeps what the next session with the same server begins with."""
        var offers_http2 = connection.endpoint.offers_http2
        ref own = self._tls_http2 if offers_http2 else self._tls
        if own:
            own.value().tickets.put(
                connection.endpoint.name(), connection.transport.ticket()
            )


@fieldwise_init
struct _ProxyTls(Copyable, Movable):
    """Trust of a proxy, by its name and what it was made of."""

    var name: String
    var config: TlsConfig
    var context: TlsClientContext


def offered_protocols(
    configured: List[String], offers_http2: Bool
) -> List[String]:
    """Chooses what a TLS session offers, best first (RFC 7301, RFC 9113 section
    3.2). The configuration may name nothing."""
    var offered = List[String]()
    for protocol in configured:
        if offers_http2 or protocol != "h2":
            offered.append(protocol)
    if len(offered) == 0 and offers_http2:
        offered.append("h2")
    if len(configured) == 0 or len(offered) == 0:
        offered.append("http/1.1")
    return offered^


struct CommonTls(ImplicitlyCopyable):
    """Contexts that are made once, whoever asks first; copies are the same.

    A context reads the files of its configuration, and holds the tickets that
    sessions go on from.
    """

    # Without and with HTTP/2.
    var _made: Mutex[_Contexts]

    def __init__(out self) raises OsError:
        """Makes none yet. Raises if the system has no more locks."""
        self._made = Mutex(_Contexts())

    def context(
        self, config: TlsConfig, offers_http2: Bool
    ) raises TlsError -> TlsClientContext:
        """Lends one of the two contexts; others wait while the first one is
        made. All who ask have the same configuration; raises if none can be
        made from it."""
        var guard = self._made.lock()
        if offers_http2:
            if not guard[].http2:
                guard[].http2 = TlsClientContext(config)
            return guard[].http2.value()
        if not guard[].http1:
            guard[].http1 = TlsClientContext(config)
        return guard[].http1.value()


struct _Contexts(Defaultable, Movable):
    var http1: Optional[TlsClientContext]
    var http2: Optional[TlsClientContext]


struct Challenges(Defaultable, ImplicitlyCopyable):
    """Challenges that were answered; copies are the same, once there is one."""

    # Made when something is to be kept, or when threads begin to share it.
    var _store: Optional[Mutex[DigestStore]]

    def share(mut self) raises OsError:
        """Makes that copies of it are the same from now on. Raises if the
        system has no more locks."""
        if not self._store:
            self._store = Mutex(DigestStore())

    def answer(
        self,
        space: String,
        login: BasicAuth,
        method: StringSpan,
        target: StringSpan,
        *,
        is_asked: Bool,
    ) -> String:
        """Answers a challenge that was kept; see `DigestStore.answer`."""
        if not self._store:
            return String()
        var guard = self._store.value().lock()
        return guard[].answer(space, login, method, target, is_asked=is_asked)

    def keep(
        mut self,
        var space: String,
        login: BasicAuth,
        var challenge: DigestChallenge,
        method: StringSpan = "",
        target: StringSpan = "",
    ) raises ClientError -> String:
        """Keeps a challenge in place of the last one of its space, and answers
        it for the request that is sent again; without one, the method is empty.

        The answer is to this very challenge: by the time that the request
        starts, another thread may have kept another one. Raises if there are no
        random octets, or locks.
        """
        try:
            self.share()
            var cnonce = Array[UInt8, CNONCE_LEN](fill=0)
            fill_random(Span(cnonce))
            var session = DigestSession(
                space, login.user, challenge^, hex_text(Span(cnonce))
            )
            var guard = self._store.value().lock()
            guard[].keep(session^)
            if method.byte_length() == 0:
                return String()
            return guard[].answer(space, login, method, target, is_asked=True)
        except error:
            raise bad_request(String("a challenge cannot be answered: ", error))

    def refuse(self, space: StringSpan, user: StringSpan):
        if self._store:
            self._store.value().lock()[].refuse(space, user)

    def answer_request(self, mut request: PreparedRequest) raises ClientError:
        """Gives a request, which has a turn, its answers to what was asked
        before. Raises if one cannot stand in a field."""
        ref turn = request.turn()
        if turn.login:
            var field = String()
            swap(field, turn.field)
            if field.byte_length() == 0:
                field = self.answer(
                    request.endpoint.origin(),
                    turn.login.value(),
                    request.method,
                    request.url.request_target(),
                    is_asked=turn.answer_count > 0,
                )
            _ = request.headers.remove("authorization")
            if field.byte_length() > 0:
                set_authorization(request.headers, field)
        if turn.proxy_login:
            turn.proxy_field = String()
            swap(turn.proxy_field, turn.next_proxy_field)
            if turn.proxy_field.byte_length() > 0:
                return
            turn.proxy_field = self.answer(
                request.proxy.value()[].name(),
                turn.proxy_login.value(),
                request.method,
                url_without_credentials(request.url),
                is_asked=turn.proxy_answer_count > 0,
            )

    def take(
        mut self,
        mut request: PreparedRequest,
        response: ClientResponse,
        sent_len: Int,
    ) raises ClientError -> Bool:
        """Learns from a response what it says of answers, and tells whether the
        request, which has a turn, goes out again with one.

        `sent_len` is how much of the content the attempt has taken, in bytes.
        Raises if there is no memory for a challenge, or no random octets for
        its answer.
        """
        ref turn = request.turn()
        var is_proxy = response.status == 407
        var login: BasicAuth
        var space: String
        var target: String
        if is_proxy and turn.proxy_login:
            login = turn.proxy_login.value().copy()
            space = request.proxy.value()[].name()
            target = url_without_credentials(request.url)
        elif turn.login and not is_proxy:
            login = turn.login.value().copy()
            space = request.endpoint.origin()
            target = String(request.url.request_target())
        else:
            return False
        var found = turn.challenge(response.status.code, response.headers)
        if found:
            var is_last = request.has_lost_content(sent_len)
            var method = String() if is_last else request.method
            var field = self.keep(space^, login, found.take(), method, target)
            if is_proxy:
                turn.proxy_answer_count += 1
                turn.next_proxy_field = field^
            else:
                turn.answer_count += 1
                turn.field = field^
            return not is_last
        if is_proxy or response.status == 401:
            self.refuse(space, login.user)
            return False
        var info = response.headers.get("authentication-info")
        if info and self._store:
            self._store.value().lock()[].take_next_nonce(
                space, login.user, info.value()
            )
        return False
