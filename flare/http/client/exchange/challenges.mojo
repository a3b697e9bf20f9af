"""What a client answers to challenges of servers and proxies (RFC 7616), kept
for all of its requests."""

from flare.bytes.ascii import hex_text
from flare.http.client.connect.auth import BasicAuth
from flare.http.client.connect.digest import (
    CNONCE_LEN,
    DigestChallenge,
    DigestSession,
    DigestStore,
)
from flare.http.client.connect.error import BadRequest, ClientError, Phase
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.message.response import (
    ClientResponse,
    url_without_credentials,
)
from flare.http.message.header_map import HeaderMap
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.sys.random import fill_random


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
            raise ClientError(
                Phase.REQUEST,
                BadRequest,
                String("a challenge cannot be answered: ", error),
            )

    def refuse(self, space: StringSpan, user: StringSpan):
        """Notes that an answer was refused."""
        if self._store:
            self._store.value().lock()[].refuse(space, user)

    def answer_request(self, mut request: PreparedRequest) raises ClientError:
        """Gives a request, which has a turn, its answers to what was asked
        before. Raises if one cannot stand in a field."""
        ref turn = request.extras.value()[].digest.value()[]
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
                _set_answer(request.headers, field)
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
        ref turn = request.extras.value()[].digest.value()[]
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


def _set_answer(mut headers: HeaderMap, field: String) raises ClientError:
    try:
        headers.set("Authorization", field)
    except:
        # The error would show the credentials.
        raise ClientError(
            Phase.REQUEST,
            BadRequest,
            "credentials hold a control octet, such as a line end",
        )
