"""Sessions in signed cookies, and tokens against cross-site requests."""

from flare.bytes.base64 import base64url_decode, base64url_encode
from flare.bytes.hash import SHA256_LEN
from flare.http.message.cookie import (
    Cookie,
    CookieError,
    SameSite,
    parse_cookie_header,
)
from flare.http.message.fields import Fields
from flare.http.message.form import FormData
from flare.http.session.signing_keys import SigningKeys

comptime SESSION_AGE_S = 14 * 86_400
"""How long a session lasts by default, in seconds: two weeks."""


struct SessionConfig(Copyable, Movable):
    """How sessions are kept."""

    var cookie_name: String
    """The cookie's name."""
    var max_age_s: Int
    """How long a session lasts after it was last saved, in seconds."""
    var is_secure: Bool
    """Whether the cookie goes over TLS alone; switch it off for tests without
    TLS only."""

    def __init__(
        out self,
        var cookie_name: String = String("session"),
        max_age_s: Int = SESSION_AGE_S,
        is_secure: Bool = True,
    ):
        """Chooses.

        Args:
            cookie_name: The cookie's name.
            max_age_s: How long a session lasts, in seconds.
            is_secure: Whether the cookie goes over TLS alone.
        """
        self.cookie_name = cookie_name^
        self.max_age_s = max_age_s
        self.is_secure = is_secure


struct Session(Movable):
    """Names and values in a signed cookie.

    The client can read them and send an old state again, but cannot make one:
    keep ids in it, not secrets. All of it must fit into a cookie of 4 KiB.

        var session = Session.read(req.headers, keys, config, now_s)
        session.set("user", "7")
        response.set_cookie(session.cookie(keys, config, now_s))
    """

    var _values: FormData
    var _is_changed: Bool

    def __init__(out self):
        """Starts an empty session."""
        self._values = FormData()
        self._is_changed = False

    @staticmethod
    def read(
        fields: Fields, keys: SigningKeys, config: SessionConfig, now_s: Int
    ) -> Self:
        """Reads the session of a request.

        Args:
            fields: The request's header fields.
            keys: What has signed it.
            config: How it is kept.
            now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.

        Returns:
            The session; an empty one if there is none that is good.
        """
        var session = Self()
        var index = fields.find("cookie")
        while index >= 0:
            var value = fields.value_bytes(index)
            index = fields.find("cookie", index + 1)
            for ref cookie in parse_cookie_header(value):
                if cookie.name != config.cookie_name:
                    continue
                var opened = keys.open(
                    config.cookie_name,
                    cookie.value.as_bytes(),
                    now_s,
                    config.max_age_s,
                )
                if opened and session._take(opened.value().text):
                    session._is_changed = not opened.value().is_by_newest
                    return session^
        return session^

    def get(self, name: StringSpan) -> Optional[String]:
        """Looks a value up.

        Args:
            name: Its name.

        Returns:
            The value, or nothing.
        """
        return self._values.get(name)

    def set(mut self, var name: String, var value: String):
        """Sets a value.

        Args:
            name: Its name.
            value: The value.
        """
        self.remove(name)
        self._values.add(name^, value^)
        self._is_changed = True

    def remove(mut self, name: StringSpan):
        """Drops a value, if it is there.

        Args:
            name: Its name.
        """
        var kept = FormData()
        for index in range(len(self._values)):
            ref pair = self._values.pairs[index]
            if pair.name == name:
                self._is_changed = True
            else:
                kept.add(pair.name, pair.value)
        swap(self._values, kept)

    def clear(mut self):
        """Drops all values, as for a log-out."""
        self._is_changed = self._is_changed or len(self._values) > 0
        self._values = FormData()

    def is_changed(self) -> Bool:
        """Tells whether the client's copy is out of date.

        Returns:
            True if a cookie should be set: a value was, or an older key has
            signed what the client sent.
        """
        return self._is_changed

    def cookie(
        self, keys: SigningKeys, config: SessionConfig, now_s: Int
    ) raises CookieError -> Cookie:
        """Makes the cookie that keeps the session, or that ends an empty one.

        Args:
            keys: What signs it.
            config: How it is kept.
            now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.

        Returns:
            A cookie for `Response.set_cookie`.

        Raises:
            CookieError: If the values do not fit into a cookie.
        """
        var is_empty = len(self._values) == 0
        var value = String()
        if not is_empty:
            value = keys.sign(config.cookie_name, String(self._values), now_s)
        return Cookie(
            config.cookie_name,
            value^,
            path="/",
            max_age=0 if is_empty else config.max_age_s,
            secure=config.is_secure,
            http_only=True,
            same_site=SameSite.LAX,
        )

    def _take(mut self, text: String) -> Bool:
        try:
            self._values = FormData.parse(text)
            return True
        except:
            return False


comptime CSRF_RANDOM_LEN = 16
"""Random octets of a token.

They make each token look new, so that a compressed page does not give its
session's token away piece by piece.
"""

comptime _PURPOSE = StaticString("csrf token")


def issue_csrf_token(
    keys: SigningKeys,
    session: StringSpan,
    random: Array[UInt8, CSRF_RANDOM_LEN],
) -> String:
    """Makes a token for a form, or for a header that scripts set.

    Args:
        keys: What signs it.
        session: What tells the session from all others: its id, or the value
            of its cookie. A token is good for that session alone.
        random: Octets from a cryptographic random source.

    Returns:
        The token, in digits that need no quoting.
    """
    var octets = List[UInt8](capacity=CSRF_RANDOM_LEN + SHA256_LEN)
    octets.extend(Span(random))
    var code = keys.code(_PURPOSE, _bound(Span(random), session))
    octets.extend(Span(code))
    var token = List[UInt8]()
    base64url_encode(octets, token)
    return String(unsafe_from_utf8=token)


def has_csrf_token(
    keys: SigningKeys, session: StringSpan, token: Span[UInt8, _]
) -> Bool:
    """Tells whether a token was made for a session.

    Args:
        keys: What may have signed it.
        session: As it was made for.
        token: What the client sent.

    Returns:
        True if so. Answer 403 otherwise.
    """
    # Four digits for each three of 48 octets.
    if len(token) != (CSRF_RANDOM_LEN + SHA256_LEN) // 3 * 4:
        return False
    var octets = base64url_decode(token)
    if not octets:
        return False
    var random = Span(octets.value())[:CSRF_RANDOM_LEN]
    return keys.has_code(
        _PURPOSE,
        _bound(random, session),
        Span(octets.value())[CSRF_RANDOM_LEN:],
    )


def _bound(random: Span[UInt8, _], session: StringSpan) -> List[UInt8]:
    var octets = List[UInt8](capacity=len(random) + session.byte_length())
    octets.extend(random)
    octets.extend(session.as_bytes())
    return octets^
