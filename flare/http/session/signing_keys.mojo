"""Signed text: what a client keeps for us and cannot change."""

from flare.bytes.ascii import find_octet
from flare.bytes.base64 import base64url_decode, base64url_encode
from flare.bytes.checked import *
from flare.bytes.copy import list_of, text_of
from flare.bytes.digits import read_digits
from flare.bytes.hash import (
    HmacSha256,
    SHA256_LEN,
    Sha256Digest,
    equals_in_constant_time,
)

comptime SIGNING_KEY_LEN_MIN = 32
"""Shortest signing key, in bytes: as long as the code (RFC 2104 section 3)."""

# Length of a code in base64url digits.
comptime _CODE_LEN = 43
comptime _DOT: UInt8 = 46
# A count of seconds has at most so many digits until the year 5138.
comptime _TIME_DIGITS_MAX = 11


@fieldwise_init
struct SigningKeyError(Copyable, Movable, Writable):
    """A set of keys cannot be used."""

    var index: Int
    """Which key is wrong; -1 if there is none at all."""
    var length: Int
    """Its length in bytes."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message."""
        writer.write_string(self._message())

    def _message(self) -> String:
        var text = String()
        if self.index < 0:
            text.write("signing keys: there is none; give at least one")
        else:
            text.write("signing key ", self.index, " has ", self.length)
            text.write(" bytes, and 32 are the least")
        text.write("; make one with `openssl rand -hex 32`")
        return text^


@fieldwise_init
struct OpenedText(Copyable, Movable):
    """A signed text that one of our keys has signed."""

    var text: String
    var is_by_newest: Bool
    """False if an older key has signed it, which will be dropped one day: sign
    it again."""


struct SigningKeys(Copyable, Movable):
    """Secrets that sign, and check what they have signed.

    The first key signs; all of them are tried when a text is read. To replace
    a key put the new one in front, and drop the old one when the last text
    that it signed has run out.
    """

    var _keys: List[List[UInt8]]

    def __init__(out self, *keys: String) raises SigningKeyError:
        """Takes the secrets.

        Args:
            keys: From the newest to the oldest, each of at least
                `SIGNING_KEY_LEN_MIN` bytes.

        Raises:
            SigningKeyError: If there is none, or one is too short.
        """
        self._keys = List[List[UInt8]]()
        for index in range(len(keys)):
            var octets = keys[index].as_bytes()
            if len(octets) < SIGNING_KEY_LEN_MIN:
                raise SigningKeyError(index, len(octets))
            self._keys.append(list_of(octets))
        if len(self._keys) == 0:
            raise SigningKeyError(-1, 0)

    def sign(self, purpose: StringSpan, text: StringSpan, now_s: Int) -> String:
        """Signs a text, and gives text, time and code, with digits that any
        cookie or URL takes; the text stays readable for whoever has it.

        Args:
            purpose: What it is for, such as a cookie's name: a text signed for
                one purpose is refused for every other.
            text: Any text.
            now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.
        """
        var signed = List[UInt8]()
        base64url_encode(text.as_bytes(), signed)
        signed.append(_DOT)
        signed.extend(String(max(now_s, 0)).as_bytes())
        var code = self._code(0, purpose, signed)
        signed.append(_DOT)
        base64url_encode(Span(code), signed)
        return text_of(signed)

    def verify(
        self,
        purpose: StringSpan,
        signed: Span[UInt8, _],
        now_s: Int,
        max_age_s: Int,
    ) -> Optional[String]:
        """Reads a signed text; nothing if none of the keys has signed it, or it
        was changed, was signed for something else, or is too old. The client is
        told no more, so neither are you.

        Args:
            purpose: As it was signed for.
            signed: What `sign` gave, as the client sent it.
            max_age_s: How long a text is good, in seconds.
        """
        var opened = self.open(purpose, signed, now_s, max_age_s)
        if not opened:
            return None
        return opened.take().text

    def open(
        self,
        purpose: StringSpan,
        signed: Span[UInt8, _],
        now_s: Int,
        max_age_s: Int,
    ) -> Optional[OpenedText]:
        """Reads a signed text, and tells whether it should be signed again; the
        rest is as for `verify`."""
        var code_start = len(signed) - _CODE_LEN
        if code_start < 2 or signed.at(code_start - 1) != _DOT:
            return None
        var code = base64url_decode(signed.after(code_start))
        if not code or len(code.value()) != SHA256_LEN:
            return None
        var payload = signed.before(code_start - 1)
        var signer = self._signer(purpose, payload, Span(code.value()))
        if signer < 0:
            return None
        var text = _text_of(payload, now_s, max_age_s)
        if not text:
            return None
        return OpenedText(text.take(), signer == 0)

    def code(self, purpose: StringSpan, text: Span[UInt8, _]) -> Sha256Digest:
        """Gives the code of a text with the newest key.

        Args:
            purpose: What it is for.
            text: Any octets.
        """
        return self._code(0, purpose, text)

    def has_code(
        self, purpose: StringSpan, text: Span[UInt8, _], code: Span[UInt8, _]
    ) -> Bool:
        """Tells whether one of the keys gives a code, in a time that does not
        depend on the code; the rest is as for `code`.

        Args:
            code: What the client sent.
        """
        return self._signer(purpose, text, code) >= 0

    def _signer(
        self, purpose: StringSpan, text: Span[UInt8, _], code: Span[UInt8, _]
    ) -> Int:
        """Finds the newest key that gives a code, or -1. All are tried, so that
        the time does not tell which one it was."""
        var signer = -1
        for index in range(len(self._keys)):
            var expected = self._code(index, purpose, text)
            if equals_in_constant_time(Span(expected), code):
                signer = index if signer < 0 else signer
        return signer

    def _code(
        self, index: Int, purpose: StringSpan, text: Span[UInt8, _]
    ) -> Sha256Digest:
        var code = HmacSha256(Span(self._keys.at(index)))
        # With its length in front no purpose and text read as another pair.
        code.update(String(purpose.byte_length(), ":").as_bytes())
        code.update(purpose.as_bytes())
        code.update(text)
        return code^.finish()


def _text_of(
    payload: Span[UInt8, _], now_s: Int, max_age_s: Int
) -> Optional[String]:
    """Takes text and time apart; the code was right."""
    var dot = find_octet(payload, _DOT)
    var digits = payload.after(min(dot + 1, len(payload)))
    var signed_s = read_digits(digits, _TIME_DIGITS_MAX)
    if signed_s < 0:
        return None
    if now_s - signed_s > max_age_s:
        return None
    var octets = base64url_decode(payload.before(dot))
    if not octets:
        return None
    try:
        return String(from_utf8=octets.value())
    except:
        return None
