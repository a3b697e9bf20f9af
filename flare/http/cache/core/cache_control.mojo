"""Cache-Control as values: what requests ask of caches, and responses tell them.

Source: RFC 9111 section 5.2, RFC 5861 (stale-while-revalidate, stale-if-error)
and RFC 8246 (immutable).
"""

from flare.bytes.ascii import lower_text, trim_whitespace
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.digits import read_saturated
from flare.bytes.scan import TCHAR
from flare.bytes.text import Text
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderMap

comptime DELTA_SECONDS_MAX = 2_147_483_648
"""What a greater number of seconds is taken for (RFC 9111 section 1.2.2)."""

comptime _QUOTE: UInt8 = 34
comptime _COMMA: UInt8 = 44
comptime _EQUALS: UInt8 = 61
comptime _BACKSLASH: UInt8 = 92


struct CacheControl(Copyable, Defaultable, Equatable, Movable, Writable):
    """The directives of Cache-Control fields (RFC 9111 section 5.2).

    Prints as the value of such a field. Directives that nobody has registered
    are left out. A number of seconds that is none, such as `max-age=soon`,
    counts as 0: what is kept is then stale (section 4.2.1). Of two numbers the
    smaller counts, since the stricter directive is to be obeyed.
    """

    var max_age_s: Optional[Int]
    """`max-age`, in seconds; of requests: how old a response may be, of
    responses: how long they are fresh."""
    var s_maxage_s: Optional[Int]
    """`s-maxage`, in seconds: in place of `max_age_s`, in shared caches."""
    var max_stale_s: Optional[Int]
    """`max-stale`, in seconds: how long stale responses are welcome; without a
    number `DELTA_SECONDS_MAX`."""
    var min_fresh_s: Optional[Int]
    """`min-fresh`, in seconds: how long a response is to be fresh still."""
    var stale_while_revalidate_s: Optional[Int]
    """`stale-while-revalidate`, in seconds: how long a stale response may be
    given while a newer one is fetched (RFC 5861 section 3)."""
    var stale_if_error_s: Optional[Int]
    """`stale-if-error`, in seconds: how long a stale response may be given in
    place of an error (RFC 5861 section 4)."""
    var no_cache: Bool
    """`no-cache` without field names: nothing may be used without asking the
    origin."""
    var no_store: Bool
    """`no-store`: nothing may be kept."""
    var no_transform: Bool
    """`no-transform`: content stays as it is."""
    var only_if_cached: Bool
    """`only-if-cached`: the origin is not to be asked."""
    var must_revalidate: Bool
    """`must-revalidate`: nothing may be used stale."""
    var proxy_revalidate: Bool
    """`proxy-revalidate`: the same for shared caches."""
    var must_understand: Bool
    """`must-understand`: `no_store` is void for caches that know the status."""
    var is_private: Bool
    """`private` without field names: for a single user's cache alone."""
    var is_public: Bool
    """`public`: may be kept even where it could not be otherwise."""
    var immutable: Bool
    """`immutable`: does not change while it is fresh (RFC 8246)."""
    var no_cache_fields: List[String]
    """The fields that `no-cache` names, in lower case."""
    var private_fields: List[String]
    """The fields that `private` names, in lower case."""

    def __init__(
        out self,
        *,
        max_age_s: Optional[Int] = None,
        s_maxage_s: Optional[Int] = None,
        stale_while_revalidate_s: Optional[Int] = None,
        stale_if_error_s: Optional[Int] = None,
        is_public: Bool = False,
        is_private: Bool = False,
        no_cache: Bool = False,
        no_store: Bool = False,
        must_revalidate: Bool = False,
        immutable: Bool = False,
    ):
        """Makes the directives that responses usually have; other ones are
        fields.

            var control = CacheControl(is_public=True, max_age_s=60)
            var response = ok("hi").with_header("Cache-Control", String(control))
        """
        self.max_age_s = max_age_s
        self.s_maxage_s = s_maxage_s
        self.max_stale_s = None
        self.min_fresh_s = None
        self.stale_while_revalidate_s = stale_while_revalidate_s
        self.stale_if_error_s = stale_if_error_s
        self.no_cache = no_cache
        self.no_store = no_store
        self.no_transform = False
        self.only_if_cached = False
        self.must_revalidate = must_revalidate
        self.proxy_revalidate = False
        self.must_understand = False
        self.is_private = is_private
        self.is_public = is_public
        self.immutable = immutable
        self.no_cache_fields = []
        self.private_fields = []

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Self:
        """Reads the directives of one field line.

        Args:
            value: The value. What is no directive is skipped.
        """
        var control = Self()
        control.add_line(value)
        return control^

    @staticmethod
    def of_request(fields: Fields) -> Self:
        """Reads what a request asks of caches, in all lines.

        `Pragma: no-cache` counts if there is no Cache-Control (RFC 9111 section
        5.4).

        Args:
            fields: The request's header fields.
        """
        var control = Self()
        var index = fields.find("cache-control")
        if index < 0:
            index = fields.find("pragma")
            if index >= 0:
                control.no_cache = Self.parse(
                    fields.value_bytes(index)
                ).no_cache
            return control^
        while index >= 0:
            control.add_line(fields.value_bytes(index))
            index = fields.find("cache-control", index + 1)
        return control^

    @staticmethod
    def of_response(headers: HeaderMap) -> Self:
        """Reads what a response tells caches, in all lines.

        Args:
            headers: The response's header fields.
        """
        var control = Self()
        var index = headers.find("cache-control")
        while index >= 0:
            control.add_line(headers.value(index).as_bytes())
            index = headers.find("cache-control", index + 1)
        return control^

    def add_line(mut self, value: Span[UInt8, _]):
        """Adds the directives of one more field line.

        Args:
            value: The line's value.
        """
        var start = 0
        while start < len(value):
            var end = element_end(value, start)
            self._add(trim_whitespace(value.between(start, end).as_imm()))
            start = end + 1

    def _add(mut self, element: Span[UInt8, _]):
        """Adds one directive: `token [ "=" ( token / quoted-string ) ]`."""
        var equals = 0
        while equals < len(element) and element.at(equals) != _EQUALS:
            if not TCHAR.contains(element.at(equals)):
                return
            equals += 1
        if equals == 0:
            return
        var name = lower_text(element.before(equals))
        if equals == len(element):
            self.set(name, None)
            return
        var argument = _unquoted(element.after(equals + 1))
        self.set(name, argument)

    def set(mut self, name: String, argument: Optional[String]):
        """Adds one directive; one that is not known changes nothing.

        Args:
            name: Its name, in lower case.
            argument: What stands after the equals sign, if there is one.
        """
        if name == "max-age":
            _note(self.max_age_s, argument)
        elif name == "s-maxage":
            _note(self.s_maxage_s, argument)
        elif name == "min-fresh":
            _note(self.min_fresh_s, argument)
        elif name == "stale-while-revalidate":
            _note(self.stale_while_revalidate_s, argument)
        elif name == "stale-if-error":
            _note(self.stale_if_error_s, argument)
        elif name == "max-stale":
            if argument:
                _note(self.max_stale_s, argument)
            elif not self.max_stale_s:
                self.max_stale_s = DELTA_SECONDS_MAX
        elif name == "no-cache":
            if not argument:
                self.no_cache = True
            else:
                _note_fields(self.no_cache_fields, argument.held())
        elif name == "private":
            if not argument:
                self.is_private = True
            else:
                _note_fields(self.private_fields, argument.held())
        else:
            self._set_flag(name)

    def _set_flag(mut self, name: String):
        """Adds a directive that has no argument; one that it has is ignored."""
        if name == "no-store":
            self.no_store = True
        elif name == "no-transform":
            self.no_transform = True
        elif name == "only-if-cached":
            self.only_if_cached = True
        elif name == "must-revalidate":
            self.must_revalidate = True
        elif name == "proxy-revalidate":
            self.proxy_revalidate = True
        elif name == "must-understand":
            self.must_understand = True
        elif name == "public":
            self.is_public = True
        elif name == "immutable":
            self.immutable = True

    def write_to(self, mut writer: Some[Writer]):
        """Writes the directives as the value of a field."""
        writer.write_string(self._value())

    @no_inline
    def _value(self) -> String:
        # Not generic: it would be generated for each kind of writer.
        var text = _Directives()
        text.flag(self.is_public, "public")
        text.flag(self.is_private, "private")
        text.fields("private", self.private_fields)
        text.flag(self.no_cache, "no-cache")
        text.fields("no-cache", self.no_cache_fields)
        text.flag(self.no_store, "no-store")
        text.flag(self.no_transform, "no-transform")
        text.flag(self.only_if_cached, "only-if-cached")
        text.flag(self.must_revalidate, "must-revalidate")
        text.flag(self.proxy_revalidate, "proxy-revalidate")
        text.flag(self.must_understand, "must-understand")
        text.flag(self.immutable, "immutable")
        text.seconds("max-age", self.max_age_s)
        text.seconds("s-maxage", self.s_maxage_s)
        text.seconds("max-stale", self.max_stale_s)
        text.seconds("min-fresh", self.min_fresh_s)
        text.seconds("stale-while-revalidate", self.stale_while_revalidate_s)
        text.seconds("stale-if-error", self.stale_if_error_s)
        return text.text.copy()


struct _Directives(Defaultable, Movable):
    """A value that is being written."""

    var text: String

    def flag(mut self, is_set: Bool, name: StaticString):
        if is_set:
            self._begin(name)

    def seconds(mut self, name: StaticString, value: Optional[Int]):
        if value:
            self._begin(name)
            self.text = Text().add(self.text).add("=").add(value.held()).end()

    def fields(mut self, name: StaticString, names: List[String]):
        if len(names) == 0:
            return
        self._begin(name)
        self.text += '="'
        for index in range(len(names)):
            if index > 0:
                self.text += ", "
            self.text += names.at(index)
        self.text += '"'

    def _begin(mut self, name: StaticString):
        if self.text.byte_length() > 0:
            self.text += ", "
        self.text += name


def parse_delta_seconds(octets: Span[UInt8, _]) -> Optional[Int]:
    """Reads a number of seconds, at most `DELTA_SECONDS_MAX` (RFC 9111 section
    1.2.2); nothing if the text is none."""
    var seconds = read_saturated(octets, DELTA_SECONDS_MAX)
    if seconds < 0:
        return None
    return seconds


def _note(mut known: Optional[Int], argument: Optional[String]):
    var seconds: Optional[Int] = None
    if argument:
        seconds = parse_delta_seconds(argument.held().as_bytes())
    var value = seconds.or_else(0)
    known = min(known.held(), value) if known else value


def _note_fields(mut names: List[String], argument: String):
    """Takes field names; what is none is left out."""
    var octets = argument.as_bytes()
    var start = 0
    while start <= len(octets):
        var end = start
        while end < len(octets) and octets.at(end) != _COMMA:
            end += 1
        var name = trim_whitespace(octets.between(start, end).as_imm())
        if _is_token(name):
            var lower = lower_text(name)
            if lower not in names:
                names.append(lower^)
        start = end + 1


def _is_token(octets: Span[UInt8, _]) -> Bool:
    for octet in octets:
        if not TCHAR.contains(octet):
            return False
    return len(octets) > 0


def element_end(value: Span[UInt8, _], start: Int) -> Int:
    """Finds the comma after an element, or the end. A quotation that nobody
    ends is none: a directive after it must not be lost."""
    var index = start
    while index < len(value) and value.at(index) != _COMMA:
        if value.at(index) == _QUOTE:
            var end = quotation_end(value, index)
            if end > 0:
                index = end
                continue
        index += 1
    return index


def quotation_end(value: Span[UInt8, _], start: Int) -> Int:
    """Finds the offset after the quoted string that begins at `start` (RFC
    9110 section 5.6.4); -1 if it has no end."""
    var index = start + 1
    while index < len(value):
        if value.at(index) == _BACKSLASH:
            index += 2
        elif value.at(index) == _QUOTE:
            return index + 1
        else:
            index += 1
    return -1


def _unquoted(argument: Span[UInt8, _]) -> String:
    """Takes quotes away: recipients take tokens and quoted strings alike (RFC
    9111 section 5.2)."""
    if len(argument) < 2 or argument.at(0) != _QUOTE:
        return text_of(argument)
    if quotation_end(argument, 0) != len(argument):
        return text_of(argument)
    var octets = List[UInt8](capacity=len(argument))
    var index = 1
    while index < len(argument) - 1:
        if argument.at(index) == _BACKSLASH:
            index += 1
        octets.append(argument.at(index))
        index += 1
    return text_of(octets)
