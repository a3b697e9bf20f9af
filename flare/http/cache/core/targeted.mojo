"""Cache-Control for one kind of caches, such as CDN-Cache-Control (RFC 9213).

Such a field is a dictionary of structured fields (RFC 9651 section 3.2): unlike
Cache-Control it counts as a whole or not at all.
"""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.policy import CachePolicy
from flare.http.message.header_map import HeaderMap

comptime _QUOTE: UInt8 = 34
comptime _COMMA: UInt8 = 44
comptime _EQUALS: UInt8 = 61
comptime _SEMICOLON: UInt8 = 59
comptime _INTEGER_DIGIT_MAX = 15


def parse_targeted(
    headers: HeaderMap, name: StringSpan
) -> Optional[CacheControl]:
    """Reads a targeted field; nothing if it is not there, malformed or empty
    (RFC 9213 section 2.1)."""
    var control = CacheControl()
    var count = 0
    var index = headers.find(name)
    while index >= 0:
        var reader = _Dictionary(headers.value(index).as_bytes())
        if not reader.read(control):
            return None
        count += reader.member_count
        index = headers.find(name, index + 1)
    if count == 0:
        return None
    return control^


def response_control(headers: HeaderMap, policy: CachePolicy) -> CacheControl:
    """Reads what a response tells a cache: by the first targeted field of the
    policy that is well-formed and not empty (RFC 9213 section 2.2), or else by
    Cache-Control."""
    for index in range(len(policy.targets)):
        var targeted = parse_targeted(headers, policy.targets.at(index))
        if targeted:
            return targeted.take()
    return CacheControl.of_response(headers)


def is_targeted(headers: HeaderMap, policy: CachePolicy) -> Bool:
    """Tells whether a well-formed field outranks Cache-Control and Expires."""
    for index in range(len(policy.targets)):
        if policy.targets.at(index) in headers:
            if parse_targeted(headers, policy.targets.at(index)):
                return True
    return False


struct _Dictionary[o: ImmOrigin](Movable):
    """Reads a dictionary (RFC 9651 section 4.2.2), strictly."""

    var _octets: Span[UInt8, Self.o]
    var _at: Int
    var member_count: Int

    def __init__(out self, octets: Span[UInt8, Self.o]):
        self._octets = octets
        self._at = 0
        self.member_count = 0

    def _peek(self) -> UInt8:
        """The octet that is next; 0, which stands in no field, at the end."""
        if self._at >= len(self._octets):
            return 0
        return self._octets.at(self._at)

    def _skip_spaces(mut self):
        while self._peek() == 32 or self._peek() == 9:
            self._at += 1

    def read(mut self, mut control: CacheControl) -> Bool:
        """Takes all members; False if the text is no dictionary."""
        self._skip_spaces()
        while self._at < len(self._octets):
            if not self._member(control):
                return False
            self.member_count += 1
            self._skip_spaces()
            if self._at == len(self._octets):
                return True
            if self._peek() != _COMMA:
                return False
            self._at += 1
            self._skip_spaces()
            # A comma at the end is none.
            if self._at == len(self._octets):
                return False
        return True

    def _member(mut self, mut control: CacheControl) -> Bool:
        var key = self._key()
        if not key:
            return False
        if self._peek() != _EQUALS:
            control.set(key.held(), None)
            return self._parameters()
        self._at += 1
        var start = self._at
        var is_number = _is_digit(self._peek())
        if self._peek() == 40:
            if not self._inner_list():
                return False
        elif not self._bare_item():
            return False
        var value = self._octets.between(start, self._at)
        # Values of another type than the directive's are passed over (RFC 9213
        # section 2.1), and so is `?0`.
        if is_number:
            control.set(key.held(), text_of(value))
        elif value == "?1".as_bytes():
            control.set(key.held(), None)
        return self._parameters()

    def _key(mut self) -> Optional[String]:
        var start = self._at
        if not _is_lower(self._peek()) and self._peek() != 42:
            return None
        while _is_key_octet(self._peek()):
            self._at += 1
        return text_of(self._octets.between(start, self._at))

    def _parameters(mut self) -> Bool:
        while self._peek() == _SEMICOLON:
            self._at += 1
            while self._peek() == 32:
                self._at += 1
            if not self._key():
                return False
            if self._peek() == _EQUALS:
                self._at += 1
                if not self._bare_item():
                    return False
        return True

    def _inner_list(mut self) -> Bool:
        self._at += 1
        while True:
            while self._peek() == 32:
                self._at += 1
            if self._peek() == 41:
                self._at += 1
                return True
            if not self._bare_item() or not self._parameters():
                return False
            if self._peek() != 32 and self._peek() != 41:
                return False

    def _bare_item(mut self) -> Bool:
        var first = self._peek()
        if first == _QUOTE:
            return self._string()
        if first == 45 or _is_digit(first):
            return self._number()
        if first == 63:
            self._at += 2
            return (
                self._at <= len(self._octets)
                and (self._octets.at(self._at - 1) | 1) == 49
            )
        if first == 58:
            return self._byte_sequence()
        if not (_is_lower(first | 32) or first == 42):
            return False
        while _is_token_octet(self._peek()):
            self._at += 1
        return True

    def _string(mut self) -> Bool:
        self._at += 1
        while self._at < len(self._octets):
            var octet = self._peek()
            self._at += 1
            if octet == _QUOTE:
                return True
            if octet == 92:
                if self._peek() != _QUOTE and self._peek() != 92:
                    return False
                self._at += 1
            elif octet < 32 or octet > 126:
                return False
        return False

    def _number(mut self) -> Bool:
        if self._peek() == 45:
            self._at += 1
        var digits = self._digits()
        if digits == 0 or digits > _INTEGER_DIGIT_MAX:
            return False
        if self._peek() != 46:
            return True
        self._at += 1
        var decimals = self._digits()
        return digits <= 12 and decimals >= 1 and decimals <= 3

    def _digits(mut self) -> Int:
        var start = self._at
        while _is_digit(self._peek()):
            self._at += 1
        return self._at - start

    def _byte_sequence(mut self) -> Bool:
        self._at += 1
        while self._at < len(self._octets):
            var octet = self._peek()
            self._at += 1
            if octet == 58:
                return True
            var is_letter = _is_lower(octet | 32) or _is_digit(octet)
            if not (is_letter or octet == 43 or octet == 47 or octet == 61):
                return False
        return False


def _is_digit(octet: UInt8) -> Bool:
    return octet >= 48 and octet <= 57


def _is_lower(octet: UInt8) -> Bool:
    return octet >= 97 and octet <= 122


def _is_key_octet(octet: UInt8) -> Bool:
    if _is_lower(octet) or _is_digit(octet):
        return True
    return octet == 95 or octet == 45 or octet == 46 or octet == 42


def _is_token_octet(octet: UInt8) -> Bool:
    if _is_lower(octet | 32) or _is_digit(octet):
        return True
    for mark in "!#$%&'*+-.^_`|~:/".as_bytes():
        if octet == mark:
            return True
    return False
