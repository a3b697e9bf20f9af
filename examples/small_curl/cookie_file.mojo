"""Cookies from a file."""

from flare.http import CookieJar, Url
from flare.sys.clock import unix_seconds


def keep_cookie(mut jar: CookieJar, line: StringSpan) raises:
    """Reads a line of Netscape's format: domain, whether it is for hosts below
    it too, path, whether it is for TLS alone, end, name and value."""
    var parts = line.removeprefix("#HttpOnly_").split("\t")
    if len(parts) != 7 or parts[0].startswith("#"):
        return
    var host = parts[0].removeprefix(".")
    var cookie = String(parts[5], "=", parts[6], "; Path=", parts[2])
    if parts[1] == "TRUE":
        cookie.write("; Domain=", host)
    if not (parts[4] == "0"):
        cookie.write("; Max-Age=", Int(parts[4]) - unix_seconds())
    if parts[3] == "TRUE":
        cookie.write("; Secure")
    var scheme = "https://" if parts[3] == "TRUE" else "http://"
    var url = Url.parse(String(scheme, host, parts[2]))
    _ = jar.store(url, cookie, unix_seconds())
