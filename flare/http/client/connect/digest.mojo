"""Digest authentication (RFC 7616) as a client does it, on texts alone.

A challenge that was answered is kept: later requests to the same server are
answered before it asks, with the next nonce count.
"""

from flare.bytes.ascii import (
    equals_ignore_case,
    hex_text,
    is_whitespace,
    skip_whitespace,
    write_hex_octet,
)
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.hash import sha256
from flare.bytes.md5 import md5
from flare.bytes.scan import TCHAR
from flare.bytes.sha512 import sha512_256
from flare.http.client.connect.auth import BasicAuth, next_comma
from flare.http.message.header_map import HeaderMap
from flare.url.percent import EncodeSet, percent_encode
from flare.url.url import Url

comptime SESSION_COUNT_MAX = 64
"""Most challenges that a client keeps."""
comptime ANSWER_COUNT_MAX = 2
"""Most answers of one request: the second because its nonce was stale."""
comptime CNONCE_LEN = 16
"""Length of what the client adds to a nonce, in bytes, before it is text."""
comptime _PARAMETER_COUNT_MAX = 32
# What is no attr-char (RFC 8187 section 3.2.1).
comptime _NO_ATTR_CHAR = EncodeSet(" \"%'()*,/:;<=>?@[\\]{}")


@fieldwise_init
struct DigestAlgorithm(Defaultable, Equatable, TrivialRegisterPassable):
    """A hash that challenges name (RFC 7616 section 6.1)."""

    var number: UInt8
    """Its number here; 0 for that of a challenge that names none."""

    comptime MD5 = DigestAlgorithm(0)
    comptime SHA256 = DigestAlgorithm(1)
    comptime SHA512_256 = DigestAlgorithm(2)
    comptime UNKNOWN = DigestAlgorithm(3)

    def is_better_than(self, other: Self) -> Bool:
        """Tells whether it is to be chosen whatever the server prefers: both
        kinds of SHA before MD5."""
        return self != Self.MD5 and other == Self.MD5

    def hash(self, text: StringSpan) -> String:
        """Hashes a text to hexadecimal digits (RFC 7616 section 3.1.2)."""
        if self == Self.MD5:
            var digest = md5(text.as_bytes())
            return hex_text(Span(digest))
        if self == Self.SHA512_256:
            var digest = sha512_256(text.as_bytes())
            return hex_text(Span(digest))
        var digest = sha256(text.as_bytes())
        return hex_text(Span(digest))


struct DigestChallenge(Copyable, Defaultable, Movable):
    """What a server asks for (RFC 7616 section 3.3)."""

    var realm: String
    """What stands between the quotes, without escapes; so are the others."""
    var nonce: String
    """What the server knows its challenge by."""
    var opaque: String
    """What it wants back."""
    var domain: String
    """URIs that the answer is good for, with spaces between; empty for all."""
    var algorithm: DigestAlgorithm
    var algorithm_name: String
    """Its name as the server writes it; empty if it names none."""
    var is_session: Bool
    """True for a `-sess` variant (RFC 7616 section 3.4.2)."""
    var has_qop: Bool
    """True if `qop` holds `auth`; False if there is none (RFC 2069)."""
    var is_stale: Bool
    """True if the last answer was good but for its nonce."""
    var hashes_user: Bool
    """True to send the hash of the user name (RFC 7616 section 3.4.4)."""
    var is_utf8: Bool
    """True if the server says that names are UTF-8 (`charset`)."""
    var next_nonce: String
    """Of what is no challenge, but an Authentication-Info field."""
    # What makes it useless: a parameter twice, or a qop that is not known.
    var _is_broken: Bool
    var _has_opaque: Bool
    var _has_nonce: Bool
    var _has_realm: Bool

    def is_usable(self) -> Bool:
        """Tells whether it can be answered here."""
        return (
            self._has_realm
            and self._has_nonce
            and not self._is_broken
            and self.algorithm != DigestAlgorithm.UNKNOWN
        )

    def _take(mut self, name: Span[UInt8, _], var value: String):
        if equals_ignore_case(name, "realm".as_bytes()):
            self._is_broken |= self._has_realm
            self._has_realm = True
            self.realm = value^
        elif equals_ignore_case(name, "nonce".as_bytes()):
            self._is_broken |= self._has_nonce
            self._has_nonce = True
            self.nonce = value^
        elif equals_ignore_case(name, "opaque".as_bytes()):
            self._is_broken |= self._has_opaque
            self._has_opaque = True
            self.opaque = value^
        elif equals_ignore_case(name, "domain".as_bytes()):
            self.domain = value^
        elif equals_ignore_case(name, "nextnonce".as_bytes()):
            self.next_nonce = value^
        elif equals_ignore_case(name, "stale".as_bytes()):
            self.is_stale = _is_true(value)
        elif equals_ignore_case(name, "userhash".as_bytes()):
            self.hashes_user = _is_true(value)
        elif equals_ignore_case(name, "charset".as_bytes()):
            self.is_utf8 = equals_ignore_case(
                value.as_bytes(), "UTF-8".as_bytes()
            )
        elif equals_ignore_case(name, "qop".as_bytes()):
            self._take_qop(value)
        elif equals_ignore_case(name, "algorithm".as_bytes()):
            self._is_broken |= self.algorithm_name.byte_length() > 0
            self._take_algorithm(value^)

    def _take_qop(mut self, value: String):
        self.has_qop = False
        for choice in value.split(","):
            if equals_ignore_case(choice.strip().as_bytes(), "auth".as_bytes()):
                self.has_qop = True
        self._is_broken |= not self.has_qop

    def _take_algorithm(mut self, var value: String):
        var name = value.as_bytes()
        var end = len(name)
        if end > 5 and equals_ignore_case(
            name.after(end - 5), "-sess".as_bytes()
        ):
            self.is_session = True
            end -= 5
        self.algorithm = DigestAlgorithm.UNKNOWN
        if equals_ignore_case(name.before(end), "MD5".as_bytes()):
            self.algorithm = DigestAlgorithm.MD5
        elif equals_ignore_case(name.before(end), "SHA-256".as_bytes()):
            self.algorithm = DigestAlgorithm.SHA256
        elif equals_ignore_case(name.before(end), "SHA-512-256".as_bytes()):
            self.algorithm = DigestAlgorithm.SHA512_256
        self.algorithm_name = value^


def _is_true(value: String) -> Bool:
    return equals_ignore_case(value.as_bytes(), "true".as_bytes())


def best_challenge(
    headers: HeaderMap, name: StaticString
) -> Optional[DigestChallenge]:
    """Chooses among the challenges of a response, in `www-authenticate` or
    `proxy-authenticate`; nothing if none can be answered.

    Source: RFC 7616 section 3.7: the first one that is understood, unless one
    with a better hash follows.
    """
    var best = Optional[DigestChallenge](None)
    var index = headers.find(name)
    while index >= 0:
        for ref challenge in parse_challenges(
            headers.value(index).as_bytes().as_imm()
        ):
            if not challenge.is_usable():
                continue
            if not best or challenge.algorithm.is_better_than(
                best.value().algorithm
            ):
                best = challenge.copy()
        index = headers.find(name, index + 1)
    return best^


def parse_challenges(value: Span[UInt8, _]) -> List[DigestChallenge]:
    """Reads the challenges of the scheme Digest in one field line, usable or
    not; what is malformed is passed over.

    Source: RFC 9110 section 11.6.1: commas part challenges and the parameters
    of one; a word that no equals sign follows is a scheme.
    """
    var found = List[DigestChallenge]()
    var at = 0
    var count = 0
    var is_digest = False
    while at < len(value):
        if value.at(at) == 44 or is_whitespace(value.at(at)):
            at += 1
            continue
        var start = at
        while at < len(value) and TCHAR.contains(value.at(at)):
            at += 1
        var end = at
        at = skip_whitespace(value, at)
        if end > start and (at == len(value) or value.at(at) != 61):
            is_digest = equals_ignore_case(
                value.between(start, end), "digest".as_bytes()
            )
            # A scheme is followed by a space, or by the next challenge.
            if at < len(value) and at == end and value.at(at) != 44:
                is_digest = False
                at = next_comma(value, at)
            if is_digest:
                found.append(DigestChallenge())
                count = 0
            continue
        at += 1
        at = skip_whitespace(value, at)
        var text = String()
        at = _parse_value(value, at, text)
        count += 1
        if is_digest and end > start:
            ref last = found.at(len(found) - 1)
            # Without what follows it would be another one, as of MD5.
            last._is_broken |= count > _PARAMETER_COUNT_MAX
            last._take(value.between(start, end), text^)
    return found^


def _parse_value(value: Span[UInt8, _], start: Int, mut text: String) -> Int:
    """Takes what stands after an equals sign; gives where the next element
    begins."""
    var at = start
    if at < len(value) and value.at(at) == 34:
        at += 1
        var octets = List[UInt8]()
        while at < len(value) and value.at(at) != 34:
            if value.at(at) == 92 and at + 1 < len(value):
                at += 1
            octets.append(value.at(at))
            at += 1
        text = String(from_utf8_lossy=octets)
        return next_comma(value, min(at + 1, len(value)))
    while at < len(value) and TCHAR.contains(value.at(at)):
        at += 1
    text = String(from_utf8_lossy=value.between(start, at))
    return next_comma(value, at)


struct DigestSession(Copyable, Movable):
    """A challenge with the answers that were made to it."""

    var space: String
    """Whose challenge it is, such as `https://a.test:443`."""
    var user: String
    var challenge: DigestChallenge
    var nonce_count: Int
    """How many answers there were (RFC 7616 section 3.4)."""
    var is_refused: Bool
    """True if the last answer was refused: none is sent unasked then."""
    # Both one for all answers, as `-sess` wants it (RFC 7616 section 3.4.2).
    var _first_nonce: String
    var _cnonce: String

    def __init__(
        out self,
        var space: String,
        var user: String,
        var challenge: DigestChallenge,
        var cnonce: String,
    ):
        """Begins with a challenge of a space that nothing was answered to.
        `cnonce` is random octets as text, without quotes."""
        self.space = space^
        self.user = user^
        self._first_nonce = challenge.nonce
        self.challenge = challenge^
        self.nonce_count = 0
        self.is_refused = False
        self._cnonce = cnonce^

    def answer(
        mut self, login: BasicAuth, method: StringSpan, uri: StringSpan
    ) -> String:
        """Writes the value of an Authorization field (RFC 7616 section 3.4)."""
        self.nonce_count += 1
        ref asked = self.challenge
        var count = _count_text(self.nonce_count)
        var secret = asked.algorithm.hash(
            String(login.user, ":", asked.realm, ":", login.password)
        )
        if asked.is_session:
            secret = asked.algorithm.hash(
                String(secret, ":", self._first_nonce, ":", self._cnonce)
            )
        var what = asked.algorithm.hash(String(method, ":", uri))
        var between = asked.nonce
        if asked.has_qop:
            between = String(asked.nonce, ":", count, ":", self._cnonce)
            between += ":auth"
        var response = asked.algorithm.hash(
            String(secret, ":", between, ":", what)
        )
        var text = String("Digest ")
        _write_user(asked, login.user, text)
        text.write(', realm="', _escaped(asked.realm), '", uri="', uri, '"')
        if asked.algorithm_name.byte_length() > 0:
            text.write(", algorithm=", asked.algorithm_name)
        text.write(', nonce="', _escaped(asked.nonce), '"')
        if asked.has_qop:
            text.write(", nc=", count, ', cnonce="', self._cnonce)
            text.write('", qop=auth')
        elif asked.is_session:
            text.write(', cnonce="', self._cnonce, '"')
        text.write(', response="', response, '"')
        if asked._has_opaque:
            text.write(', opaque="', _escaped(asked.opaque), '"')
        if asked.hashes_user:
            text.write(", userhash=true")
        return text^

    def covers(self, target: StringSpan) -> Bool:
        """Tells whether the server wants answers for a target unasked: the
        challenge names no URIs, or one that it begins with (RFC 7616 section
        3.3, `domain`)."""
        if self.challenge.domain.strip().byte_length() == 0:
            return True
        try:
            var base = Url.parse(self.space)
            var asked = Url.parse(target, base)
            for uri in self.challenge.domain.split(" "):
                if uri.byte_length() > 0 and asked.href().startswith(
                    Url.parse(uri, base).href()
                ):
                    return True
        except:
            # What is no URL covers nothing; the server asks again.
            pass
        return False

    def goes_on_with(self, other: DigestChallenge) -> Bool:
        """Tells whether a challenge is the same as before, so that its answers
        are counted on (RFC 7616 section 3.4)."""
        return (
            self.challenge.nonce == other.nonce
            and self.challenge.realm == other.realm
            and self.challenge.algorithm == other.algorithm
        )


def _count_text(count: Int) -> String:
    """Writes eight hexadecimal digits (RFC 7616 section 3.4)."""
    var text = String()
    for index in range(4):
        write_hex_octet(UInt8((count >> (24 - 8 * index)) & 255), text)
    return text^


def _escaped(text: String) -> String:
    """Writes a text as it stands within quotes (RFC 9110 section 5.6.4)."""
    if "\\" not in text and '"' not in text:
        return text
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _write_user(asked: DigestChallenge, user: String, mut text: String):
    """RFC 7616 sections 3.4 and 3.4.4."""
    if asked.hashes_user:
        var name = asked.algorithm.hash(String(user, ":", asked.realm))
        text.write('username="', name, '"')
        return
    var is_plain = True
    for octet in user.as_bytes():
        is_plain &= octet < 128
    if is_plain or not asked.is_utf8:
        # Older servers know no other form, whatever the octets.
        text.write('username="', _escaped(user), '"')
        return
    # RFC 8187, which takes the place of RFC 5987.
    var encoded = List[UInt8]()
    percent_encode[_NO_ATTR_CHAR](user.as_bytes(), encoded)
    text.write("username*=UTF-8''", text_of(encoded))


struct DigestTurn(Defaultable, Movable):
    """What a request has answered, and with what."""

    var login: Optional[BasicAuth]
    """Who answers the server; nobody for a request that has left its origin, or
    has other credentials."""
    var answer_count: Int
    """How many challenges of the server were answered at this URL."""
    var proxy_login: Optional[BasicAuth]
    """Who answers a proxy that takes the request."""
    var proxy_answer_count: Int
    """How many challenges of the proxy were answered."""
    var proxy_field: String
    """The value of Proxy-Authorization; empty for none."""
    var field: String
    """The answer to the server that the next attempt takes; empty for none."""
    var next_proxy_field: String
    """The answer to the proxy that the next attempt takes; empty for none."""

    def go_elsewhere(mut self, keeps_origin: Bool):
        """Begins anew at the URL that a redirection leads to. Nobody answers
        there unless it `keeps_origin`."""
        self.answer_count = 0
        self.proxy_answer_count = 0
        self.proxy_login = None
        self.proxy_field = String()
        self.field = String()
        self.next_proxy_field = String()
        if not keeps_origin:
            self.login = None

    def challenge(
        self, status: Int, headers: HeaderMap
    ) -> Optional[DigestChallenge]:
        """Finds the challenge that a response asks to answer; nothing if there
        is none, or it was answered in vain.

        Source: RFC 7616 section 3.3: once, and once more if nothing was wrong
        but the nonce.
        """
        if status == 401 and self.login:
            return _unless_answered(
                best_challenge(headers, "www-authenticate"), self.answer_count
            )
        if status == 407 and self.proxy_login:
            var found = _unless_answered(
                best_challenge(headers, "proxy-authenticate"),
                self.proxy_answer_count,
            )
            if found:
                # Of a proxy it means nothing: the answer is good for all.
                found.value().domain = String()
            return found^
        return None


def _unless_answered(
    var challenge: Optional[DigestChallenge], answer_count: Int
) -> Optional[DigestChallenge]:
    if not challenge or answer_count == 0:
        return challenge^
    if answer_count < ANSWER_COUNT_MAX and challenge.value().is_stale:
        return challenge^
    return None


struct DigestStore(Defaultable, Movable):
    # In the order in which they were answered first.
    var _sessions: List[DigestSession]

    def answer(
        mut self,
        space: StringSpan,
        login: BasicAuth,
        method: StringSpan,
        target: StringSpan,
        *,
        is_asked: Bool,
    ) -> String:
        """Answers a challenge of a space that was kept, by the value of an
        Authorization field; empty if there is none for the request. `is_asked`
        if the server has asked for this very request, and not only for
        others."""
        var index = self._find(space, login.user)
        if index < 0:
            return String()
        ref session = self._sessions.at(index)
        if not is_asked and (session.is_refused or not session.covers(target)):
            return String()
        return session.answer(login, method, target)

    def keep(mut self, var session: DigestSession):
        """Keeps a challenge in place of the last one, whose answers are counted
        on if the nonce is the same.
        """
        var index = self._find(session.space, session.user)
        if index < 0:
            if len(self._sessions) >= SESSION_COUNT_MAX:
                _ = self._sessions.pop(0)
            self._sessions.append(session^)
            return
        ref last = self._sessions.at(index)
        if not last.goes_on_with(session.challenge):
            last = session^
            return
        last.challenge = session.challenge.copy()
        last.is_refused = False

    def refuse(mut self, space: StringSpan, user: StringSpan):
        """Notes that an answer was refused: none is sent unasked from then on."""
        var index = self._find(space, user)
        if index >= 0:
            self._sessions.at(index).is_refused = True

    def take_next_nonce(
        mut self, space: StringSpan, user: StringSpan, info: StringSpan
    ):
        """Takes the nonce that a server wants to see next by its
        Authentication-Info field (RFC 7616 section 3.5)."""
        var index = self._find(space, user)
        if index < 0:
            return
        var nonce = next_nonce(info)
        ref session = self._sessions.at(index)
        if nonce.byte_length() > 0 and nonce != session.challenge.nonce:
            session.challenge.nonce = nonce^
            session.nonce_count = 0

    def _find(self, space: StringSpan, user: StringSpan) -> Int:
        for index in range(len(self._sessions)):
            ref session = self._sessions.at(index)
            if session.space == space and session.user == user:
                return index
        return -1


def next_nonce(info: StringSpan) -> String:
    """Reads the next nonce of an Authentication-Info field (RFC 7616 section
    3.5), which has parameters as a challenge has; empty if there is none."""
    var text = String("Digest ", info)
    for ref found in parse_challenges(text.as_bytes().as_imm()):
        return found.next_nonce.copy()
    return String()
