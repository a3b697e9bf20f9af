"""Which hosts and paths a cookie is for."""

from flare.net.ip import IpAddr


def is_ip_host(host: StringSpan) -> Bool:
    """Tells whether a URL's host is an IP address.

    Args:
        host: The host of a parsed URL.

    Returns:
        True for IPv4 and for IPv6 in brackets.
    """
    var octets = host.as_bytes()
    if len(octets) > 0 and octets[0] == 91:
        return True
    try:
        _ = IpAddr.parse(host)
        return True
    except:
        return False


def is_top_level(domain: StringSpan) -> Bool:
    """Tells whether a domain is one label, such as `com` or `localhost`.

    flare has no list of public suffixes: `co.uk` is not known to be one.

    Args:
        domain: The domain; a dot at its end does not count.

    Returns:
        True if there is no dot within.
    """
    var octets = domain.as_bytes()
    for index in range(len(octets) - 1):
        if octets[index] == 46:
            return False
    return True


def domain_matches(host: StringSpan, domain: StringSpan) -> Bool:
    """Tells whether a host is in a domain.

    Source: RFC 6265 section 5.1.3. A top level holds no host but itself.

    Args:
        host: The host of a URL, in lower case.
        domain: The domain, in lower case.

    Returns:
        True if they are equal, or the host is a name that ends with the domain
        behind a dot.
    """
    if host == domain:
        return True
    var longer = host.as_bytes()
    var shorter = domain.as_bytes()
    var start = len(longer) - len(shorter)
    if len(shorter) == 0 or start < 2 or longer[start - 1] != 46:
        return False
    for index in range(len(shorter)):
        if longer[start + index] != shorter[index]:
            return False
    return not is_top_level(domain) and not is_ip_host(host)


def default_path(path: StringSpan) -> String:
    """Finds the folder of a URL's path.

    Source: RFC 6265 section 5.1.4.

    Args:
        path: The path of a URL.

    Returns:
        The path up to its last slash without that; at least `/`.
    """
    var octets = path.as_bytes()
    var end = len(octets) - 1
    while end > 0 and octets[end] != 47:
        end -= 1
    if end <= 0 or octets[0] != 47:
        return "/"
    return String(unsafe_from_utf8=octets[:end])


def path_matches(path: StringSpan, cookie_path: StringSpan) -> Bool:
    """Tells whether a request's path is below a cookie's.

    Source: RFC 6265 section 5.1.4.

    Args:
        path: The path of a URL.
        cookie_path: The path of a cookie.

    Returns:
        True if they are equal, or the first goes on behind a slash.
    """
    var longer = path.as_bytes()
    var shorter = cookie_path.as_bytes()
    if len(longer) < len(shorter) or len(shorter) == 0:
        return False
    for index in range(len(shorter)):
        if longer[index] != shorter[index]:
            return False
    if len(longer) == len(shorter) or shorter[len(shorter) - 1] == 47:
        return True
    return longer[len(shorter)] == 47
