"""Sessions in signed cookies, and tokens against cross-site requests."""

from flare.bytes.base64 import base64url_decode, base64url_text
from flare.bytes.checked import *
from flare.bytes.hash import SHA256_LEN
from flare.bytes.ranges import range_problem
from flare.http.message.cookie import (
    Cookie,
    CookieError,
    SameSite,
    parse_cookie_header,
)
from flare.http.message.fields import Fields
from flare.http.message.form import FormData
from flare.http.session.signing_keys import OpenedText, SigningKeys

comptime SESSION_AGE_S = 14 * 86_400
"""How long a session lasts by default, in seconds: two weeks."""
comptime SESSION_AGE_S_MAX = 100 * 366 * 86_400
"""Longest that a session lasts, in seconds: a century. Stores count on from
now, and no further than their numbers go."""


struct SessionConfig(Copyable, Movable):
    """How sessions are kept."""

    var cookie_name: String
    """The cookie's name. Default `session`."""
    var max_age_s: Int
    """How long a session lasts after it was last saved, in seconds, 1 to
    3,162,240,000 (a century). Default two weeks."""
    var is_secure: Bool
    """Whether the cookie goes over TLS alone; switch it off for tests without
    TLS only. Default True."""

    def __init__(
        out self,
        var cookie_name: String = String("session"),
        max_age_s: Int = SESSION_AGE_S,
        is_secure: Bool = True,
    ):
        """Chooses."""
        self.cookie_name = cookie_name^
        self.max_age_s = max_age_s
        self.is_secure = is_secure

    def problem(self) -> String:
        """Tells why no session can be kept so: a time is out of range, or
        browsers would not take the cookie (RFC 6265bis section 4.1); empty if
        all is well. `Sessions` is asked before a server starts."""
        var range = range_problem(
            "max_age_s", self.max_age_s, 1, SESSION_AGE_S_MAX
        )
        if range.byte_length() > 0:
            return String("SessionConfig: ", range)
        try:
            _ = _cookie(self, String())
        except error:
            return String("SessionConfig: ", error)
        return String()


struct Session(Movable):
    """Names and values in a signed cookie.

    The client can read them and send an old state again, but cannot make one:
    keep ids in it, not secrets. All of it must fit into a cookie of 4 KiB.

        var session = Session.read(req.headers, keys, config, now_s)
        session.set("user", "7")
        response.set_cookie(session.cookie(keys, config, now_s))
    """

    var id: String
    """What a `SessionStore` keeps it by; empty for one that lives in its cookie,
    and for one that was not kept yet."""
    var _values: FormData
    var _is_changed: Bool
    var _is_renewed: Bool

    def __init__(out self):
        """Starts an empty session."""
        self.id = String()
        self._values = FormData()
        self._is_changed = False
        self._is_renewed = False

    @staticmethod
    def read(
        fields: Fields, keys: SigningKeys, config: SessionConfig, now_s: Int
    ) -> Self:
        """Reads the session of a request; an empty one if there is none that is
        good.

        Args:
            fields: The request's header fields.
            keys: What has signed it.
            config: How it is kept.
            now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.
        """
        var session = Self()
        for ref opened in _opened_cookies(
            fields, keys, config.cookie_name, config, now_s
        ):
            if session._take(opened.text):
                session._is_changed = not opened.is_by_newest
                return session^
        return session^

    @staticmethod
    def read_id(
        fields: Fields, keys: SigningKeys, config: SessionConfig, now_s: Int
    ) -> Self:
        """Reads the id of a session whose values are kept elsewhere; a session
        without values, and without an id if there is none that is good."""
        var session = Self()
        for ref opened in _opened_cookies(
            fields, keys, _id_purpose(config), config, now_s
        ):
            session.id = opened.text.copy()
            session._is_changed = not opened.is_by_newest
            break
        return session^

    def fill(mut self, values: String):
        """Takes the values that a store has kept.

        Args:
            values: What `values_text` gave.
        """
        if not self._take(values):
            self.id = String()

    def values_text(self) -> String:
        """Gives the values, as an encoded form, for a store."""
        return String(self._values)

    def is_empty(self) -> Bool:
        """Tells whether there are no values, and so nothing to keep."""
        return len(self._values) == 0

    def renew(mut self):
        """Gives the session another id with the next response, and ends it under
        the old one.

        Do so when somebody gains rights, as at a log-in, so that an id that was
        planted on him before is worth nothing, and neither are its tokens for
        forms. A session that lives in its cookie has no id, but such tokens.
        """
        self.remove(CSRF_NAME)
        self._is_renewed = True
        self._is_changed = True

    def is_renewed(self) -> Bool:
        """Tells whether `renew` was called."""
        return self._is_renewed

    def get(self, name: StringSpan) -> Optional[String]:
        """Finds a value; nothing if there is none.

        Args:
            name: Its name.
        """
        return self._values.get(name)

    def set(mut self, var name: String, var value: String):
        """Sets a value.

        Args:
            value: The value.
        """
        self.remove(name)
        self._values.add(name^, value^)
        self._is_changed = True

    def remove(mut self, name: StringSpan):
        """Drops a value, if it is there."""
        var kept = FormData()
        for index in range(len(self._values)):
            ref pair = self._values.pairs.at(index)
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
        """Tells whether the client's copy is out of date, and a cookie should
        be set: a value was, or an older key has signed what the client sent."""
        return self._is_changed

    def note_saved(mut self):
        """Notes that what is here now is kept."""
        self._is_changed = False
        self._is_renewed = False

    def cookie(
        self, keys: SigningKeys, config: SessionConfig, now_s: Int
    ) raises CookieError -> Cookie:
        """Gives the cookie that keeps the session, or that ends an empty one,
        for `Response.set_cookie`.

        Args:
            keys: What signs it.

        Raises:
            CookieError: If the values do not fit into a cookie.
        """
        var value = String()
        if not self.is_empty():
            value = keys.sign(config.cookie_name, String(self._values), now_s)
        return _cookie(config, value^)

    def id_cookie(
        self, keys: SigningKeys, config: SessionConfig, now_s: Int
    ) raises CookieError -> Cookie:
        """Gives the cookie of a session whose values are kept elsewhere, or
        that ends an empty one; the rest is as for `cookie`.

        Raises:
            CookieError: If the name of the cookie is none.
        """
        var value = String()
        if not self.is_empty():
            value = keys.sign(_id_purpose(config), self.id, now_s)
        return _cookie(config, value^)

    def _take(mut self, text: String) -> Bool:
        try:
            self._values = FormData.parse(text)
            return True
        except:
            return False


def _id_purpose(config: SessionConfig) -> String:
    """Names what ids are signed for; the values of a session can never be taken
    for an id."""
    return String(config.cookie_name, " id")


def _opened_cookies(
    fields: Fields,
    keys: SigningKeys,
    purpose: String,
    config: SessionConfig,
    now_s: Int,
) -> List[OpenedText]:
    """Reads the cookies of the session's name that are signed and not too old."""
    var found = List[OpenedText]()
    var index = fields.find("cookie")
    while index >= 0:
        var value = fields.value_bytes(index)
        index = fields.find("cookie", index + 1)
        for ref cookie in parse_cookie_header(value):
            if cookie.name != config.cookie_name:
                continue
            var opened = keys.open(
                purpose,
                cookie.value.as_bytes(),
                now_s,
                config.max_age_s,
            )
            if opened:
                found.append(opened.take())
    return found^


def _cookie(
    config: SessionConfig, var value: String
) raises CookieError -> Cookie:
    return Cookie(
        config.cookie_name,
        value.copy(),
        path="/",
        max_age=0 if value.byte_length() == 0 else config.max_age_s,
        secure=config.is_secure,
        http_only=True,
        same_site=SameSite.LAX,
    )


comptime CSRF_NAME = StaticString("csrf")
"""The session's value to which its CSRF tokens are bound."""
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
    return base64url_text(octets)


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
    var random = Span(octets.value()).before(CSRF_RANDOM_LEN)
    return keys.has_code(
        _PURPOSE,
        _bound(random, session),
        Span(octets.value()).after(CSRF_RANDOM_LEN),
    )


def _bound(random: Span[UInt8, _], session: StringSpan) -> List[UInt8]:
    var octets = List[UInt8](capacity=len(random) + session.byte_length())
    octets.extend(random)
    octets.extend(session.as_bytes())
    return octets^
