"""The head of a request as HTTP/1.1 carries it (RFC 9112 section 3)."""

from flare.bytes.buffer import Buffer
from flare.http.client.config import ClientConfig
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.prepared_request import PreparedRequest
from flare.http.client.response import url_without_credentials
from flare.http.client.sent_fields import (
    leaves_out,
    sent_host,
    takes_all,
)
from flare.http.h1.serialiser import RequestStart, write_request_head
from flare.http.message.header_map import HeaderMap


def write_head(
    request: PreparedRequest, mut out: Buffer, config: ClientConfig
) raises ClientError:
    """Writes the head of the next attempt. Raises if a part of the request must
    not be sent."""
    var target = String(request.url.request_target())
    var extra = HeaderMap()
    var is_absolute = request.asks_proxy()
    if is_absolute:
        target = url_without_credentials(request.url)
    var host = sent_host(request)
    if is_absolute or request.cookie.byte_length() > 0:
        _add_extra(request, extra, is_absolute)
    if len(extra) == 0:
        _write(request, out, target, host, request.headers, config)
    else:
        _write(request, out, target, host, extra, config)


def _add_extra(
    request: PreparedRequest, mut extra: HeaderMap, is_absolute: Bool
) raises ClientError:
    extra = request.headers.copy()
    try:
        if request.cookie.byte_length() > 0 and "cookie" not in extra:
            extra.set("Cookie", request.cookie)
        if is_absolute and request.proxy.value()[].credentials:
            ref credentials = request.proxy.value()[].credentials
            if not credentials.is_digest():
                extra.set("Proxy-Authorization", credentials.field_value())
            else:
                ref turn = request.extras.value()[].digest.value()[]
                if turn.proxy_field.byte_length() > 0:
                    extra.set("Proxy-Authorization", turn.proxy_field)
    except:
        raise ClientError(
            materialize[Phase.REQUEST](),
            materialize[BadRequest](),
            "cookies or the proxy's credentials hold a control octet",
        )


def _write(
    request: PreparedRequest,
    mut out: Buffer,
    target: StringSpan,
    host: StringSpan,
    headers: HeaderMap,
    config: ClientConfig,
) raises ClientError:
    var start = RequestStart(
        StringSpan(request.method), target, host, request.minor_version
    )
    if takes_all(request, config):
        write_request_head(
            out, start, headers, config.headers, request.framing()
        )
        return
    var defaults = config.headers.copy()
    for index in range(len(config.headers)):
        var name = config.headers.name(index)
        if leaves_out(name, request, config):
            _ = defaults.remove(name)
    write_request_head(out, start, headers, defaults, request.framing())
