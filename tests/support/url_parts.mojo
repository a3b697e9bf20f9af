"""A URL as its standard's tests see it: a text at a base, and the members of the
URL class."""

from flare.url.parts import UrlParseError
from flare.url.url import Url


def url_at(text: String, base: String) raises UrlParseError -> Url:
    """Parses a text at a base; at none if that is empty."""
    if base.byte_length() > 0:
        return Url.parse(text, Url.parse(base))
    return Url.parse(text)


def url_members(url: Url) -> List[String]:
    """Lists the members, from `href` to `hash`."""
    return [
        String(url.href()),
        String(url.protocol()),
        String(url.username()),
        String(url.password()),
        String(url.host()),
        String(url.hostname()),
        String(url.port()),
        String(url.pathname()),
        String(url.search()),
        String(url.hash()),
    ]
