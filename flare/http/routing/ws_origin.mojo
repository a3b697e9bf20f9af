"""Which pages may open a WebSocket connection (RFC 6455 section 10.2)."""

from flare.bytes.ascii import equals_ignore_case


def is_same_origin(
    origin: StringSpan, scheme: StringSpan, host: StringSpan
) -> Bool:
    """Tells whether a page comes from where its request goes.

    Source: RFC 6454 section 5: scheme, host and port are the same. A page that
    came by plain HTTP may be anybody's who sits on the way, so it is another
    origin than the same host over TLS.

    Args:
        origin: The value of Origin.
        scheme: How the request came: `http` or `https`.
        host: The authority that it is for, with or without a port.

    Returns:
        True if it does; False for `null` and for what is no origin.
    """
    var end = origin.find("://")
    if end < 0 or host.byte_length() == 0:
        return False
    var octets = origin.as_bytes()
    if not equals_ignore_case(octets[:end], scheme.as_bytes()):
        return False
    return equals_ignore_case(
        _without_default_port(octets[end + 3 :], scheme),
        _without_default_port(host.as_bytes(), scheme),
    )


def _without_default_port[
    o: ImmOrigin
](authority: Span[UInt8, o], scheme: StringSpan) -> Span[UInt8, o]:
    """Takes a port off that says nothing (RFC 9110 section 4.2.3)."""
    var port = StaticString(":443") if scheme == "https" else ":80"
    var length = len(authority) - port.byte_length()
    if length > 0 and equals_ignore_case(authority[length:], port.as_bytes()):
        return authority[:length]
    return authority
