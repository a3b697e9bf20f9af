"""Cookies, Set-Cookie and the jar of a client (RFC 6265)."""

from flare.http.cookie.jar import CookieJar
from flare.http.cookie.set_cookie import parse_set_cookie_header
from flare.http.message.cookie import (
    Cookie,
    CookieError,
    parse_cookie_header,
    SameSite,
)
