"""What a client adds to each of its requests: a base URL, and who logs in."""

from flare.bytes.checked import *
from flare.http.client.auth import Credentials
from flare.http.client.error import ClientError
from flare.http.client.proxy import credentials_of
from flare.http.client.request import parse_request_url
from flare.url.url import Url


struct ClientBase(Copyable, Movable):

    var url: Optional[Url]
    """What URLs without a scheme are appended to. Default nothing."""
    var auth: Credentials
    """Who logs in: with a base URL at its origin alone. Default nobody."""

    def __init__(out self):
        self.url = None
        self.auth = Credentials()

    def __init__(
        out self, url: StringSpan, auth: Credentials
    ) raises ClientError:
        """Takes a base URL, if it is not empty, and who logs in, or else whom
        the URL names. Raises if the URL is none, or the credentials cannot
        work."""
        auth.check()
        self.url = None
        self.auth = auth.copy()
        if url.byte_length() == 0:
            return
        var base = parse_request_url(url)
        if not auth:
            self.auth = credentials_of(base)
        self.url = base^

    @no_inline
    def __deinit__(deinit self):
        """Drops all of it, out of line."""
        return

    def auth_at(self, url: Url) -> Credentials:
        """Tells who logs in at a URL."""
        if self.url and not self.url.held().has_same_origin(url):
            return Credentials()
        return self.auth.copy()
