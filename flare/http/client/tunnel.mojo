"""Asking a proxy for a tunnel."""

from flare.http.client.attempt import Attempt, Step
from flare.http.client.auth import challenge_schemes
from flare.http.client.config import ClientConfig
from flare.http.client.connection import ClientConnection
from flare.http.client.error import (
    BadRequest,
    ClientError,
    MalformedResponse,
    Phase,
    ProxyRefused,
)
from flare.http.client.patience import Patience
from flare.http.client.proxy import Proxy
from flare.http.client.waiting import wait_for_attempt
from flare.http.h1.request_writer import (
    RequestFraming,
    RequestStart,
    write_request_head,
)
from flare.http.message.header_map import HeaderMap
from flare.sys.deadline import Deadline


def open_tunnel(
    mut connection: ClientConnection,
    proxy: Proxy,
    config: ClientConfig,
    deadline: Deadline,
) raises ClientError:
    """Makes a connection to a proxy one to the endpoint.

    Source: RFC 9110 section 9.3.6.

    Args:
        connection: A new connection to the proxy.
        proxy: The proxy.
        config: The client's configuration.
        deadline: When to give up.

    Raises:
        ClientError: In the phase `PROXY`.
    """
    try:
        _open(connection, proxy, config, deadline)
    except error:
        error.phase = materialize[Phase.PROXY]()
        raise error^


def _open(
    mut connection: ClientConnection,
    proxy: Proxy,
    config: ClientConfig,
    deadline: Deadline,
) raises ClientError:
    var attempt = Attempt()
    attempt.begin("CONNECT")
    _write_head(attempt, connection, proxy)
    attempt.end_content()
    var patience = Patience(
        config.read_timeout_ms, config.write_timeout_ms, deadline
    )
    while True:
        var step = attempt.step(connection, config.head_limits)
        if step == Step.WAIT:
            wait_for_attempt(attempt, connection, patience)
        elif step == Step.HEAD and attempt.exchange.head.status >= 300:
            raise _refusal(attempt)
        elif step == Step.END:
            break
    if attempt.exchange.leftover_len() > 0:
        # The host at the other end waits for our first octet.
        raise ClientError(
            materialize[Phase.PROXY](),
            materialize[MalformedResponse](),
            "the proxy sent octets of its own into the tunnel",
        )


def _write_head(
    mut attempt: Attempt, connection: ClientConnection, proxy: Proxy
) raises ClientError:
    ref endpoint = connection.endpoint
    var authority = String(endpoint.host, ":", endpoint.port)
    if ":" in endpoint.host:
        authority = String("[", endpoint.host, "]:", endpoint.port)
    var headers = HeaderMap()
    try:
        if proxy.credentials:
            headers.set("Proxy-Authorization", proxy.credentials.field_value())
    except:
        raise ClientError(
            materialize[Phase.PROXY](),
            materialize[BadRequest](),
            "the proxy's credentials hold a control octet",
        )
    write_request_head(
        attempt.output,
        RequestStart("CONNECT", StringSpan(authority), authority, 1),
        headers,
        HeaderMap(),
        RequestFraming.none(),
    )


def _refusal(attempt: Attempt) -> ClientError:
    var reason = String(
        "the proxy answered ", attempt.exchange.head.status, " to CONNECT"
    )
    var fields = attempt.exchange.fields()
    var challenge = fields.get("proxy-authenticate")
    if challenge:
        reason.write("; it accepts ", challenge_schemes(challenge.value()))
    return ClientError(
        materialize[Phase.PROXY](), materialize[ProxyRefused](), reason^
    )
