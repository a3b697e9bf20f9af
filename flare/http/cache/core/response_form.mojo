"""A stored response as octets, for stores outside of the process.

    form = "flarec1\\n" 5number key fields selecting content
    number = 8OCTET            ; signed, big-endian: status, StoredAges
    key = content = length *OCTET
    length = 4OCTET            ; unsigned, big-endian
    fields = selecting = count *(length name length value)

What is read may have been written by anybody: no length is believed before what
it counts is there.
"""

from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.bytes.utf8 import is_valid_utf8
from flare.http.cache.core.cache_control import DELTA_SECONDS_MAX
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredAges, StoredResponse
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import ReplacedFields

comptime _MAGIC: StaticString = "flarec1\n"
comptime FIELD_COUNT_MAX = 1_000
"""Most fields of a response, and most that its Vary names."""
comptime VARY_LEN_MAX = 1_024
"""Longest list of names in the Vary of a response that is kept elsewhere, in
bytes."""


def write_stored(
    key: StringSpan, response: StoredResponse
) raises -> List[UInt8]:
    """Writes what `read_stored` reads. Raises if the Vary is longer than
    `VARY_LEN_MAX`, or a field is no UTF-8."""
    if response.vary.names().byte_length() > VARY_LEN_MAX:
        raise Error("the Vary of a response is too long to be kept elsewhere")
    var octets = List[UInt8](capacity=response.octet_count())
    octets.extend(_MAGIC.as_bytes())
    var ages = response.ages()
    _add_number(octets, response.status.code, 8)
    _add_number(octets, ages.date_s, 8)
    _add_number(octets, ages.response_s, 8)
    _add_number(octets, ages.initial_age_s, 8)
    _add_number(octets, ages.lifetime_s, 8)
    _add_octets(octets, key.as_bytes())
    _add_fields(octets, response.headers)
    _add_fields(octets, response.vary.selecting_fields())
    _add_octets(octets, response.body.as_bytes())
    return octets^


def _add_number(mut octets: List[UInt8], number: Int, width: Int):
    for index in range(width):
        octets.append(UInt8((number >> (8 * (width - 1 - index))) & 0xFF))


def _add_octets(mut octets: List[UInt8], part: Span[UInt8, _]):
    _add_number(octets, len(part), 4)
    octets.extend(part)


def _add_fields(mut octets: List[UInt8], fields: HeaderMap) raises:
    _add_number(octets, len(fields), 4)
    for index in range(len(fields)):
        _check(is_valid_utf8(fields.value(index).as_bytes()))
        _add_octets(octets, fields.name(index).as_bytes())
        _add_octets(octets, fields.value(index).as_bytes())


def read_stored(
    octets: Span[UInt8, _],
    key: StringSpan,
    policy: CachePolicy,
    now_s: Int,
) -> Optional[StoredResponse]:
    """Reads a response that was kept elsewhere. Returns nothing if the octets
    are of no response to this key, or of one that a shared cache must not keep.
    """
    try:
        return _read(octets, key, policy, now_s)
    except:
        return None


def _read(
    octets: Span[UInt8, _],
    key: StringSpan,
    policy: CachePolicy,
    now_s: Int,
) raises -> StoredResponse:
    var reader = _Reader(octets)
    _check(reader.take(_MAGIC.byte_length()) == _MAGIC.as_bytes())
    var status = reader.number(8)
    _check(status >= 200 and status <= 599)
    _check(status != 206 and status != 304)
    var date_s = reader.number(8)
    var response_s = reader.number(8)
    var initial_age_s = reader.number(8)
    var lifetime_s = reader.number(8)
    _check(date_s >= 0 and date_s <= _SECONDS_MAX)
    _check(response_s >= 0 and response_s <= _SECONDS_MAX)
    _check(initial_age_s >= 0 and initial_age_s <= DELTA_SECONDS_MAX)
    _check(lifetime_s >= 0 and lifetime_s <= DELTA_SECONDS_MAX)
    _check(reader.sized() == key.as_bytes())
    var headers = reader.fields()
    var selecting = ReplacedFields(reader.fields())
    var content = reader.sized()
    _check(reader.is_at_end())
    _check_vary(headers)
    var response = StoredResponse(
        status,
        headers^,
        Body(list_of(content)),
        selecting.lend(),
        policy=policy,
        # A clock that is ahead must not make it younger than new.
        ages=StoredAges(
            date_s, min(response_s, now_s), initial_age_s, lifetime_s
        ),
    )
    _ = selecting^
    _check(not response.vary.is_any)
    _check(not response.control.is_private)
    _check(not response.control.no_store or response.control.must_understand)
    return response^


comptime _SECONDS_MAX = 1 << 40
# Beyond any date; sums of it do not overflow.


def _check_vary(headers: HeaderMap) raises:
    var length = 0
    var index = headers.find("vary")
    while index >= 0:
        length += headers.value(index).byte_length()
        index = headers.find("vary", index + 1)
    _check(length <= 2 * VARY_LEN_MAX)


def _check(is_right: Bool) raises:
    if not is_right:
        raise Error("malformed")


@fieldwise_init
struct _Reader[o: ImmOrigin]:
    """Takes parts, as far as they are there."""

    var _octets: Span[UInt8, Self.o]

    def is_at_end(self) -> Bool:
        return len(self._octets) == 0

    def take(mut self, count: Int) raises -> Span[UInt8, Self.o]:
        _check(count >= 0 and count <= len(self._octets))
        var part = self._octets.before(count)
        self._octets = self._octets.after(count)
        return part

    def number(mut self, width: Int) raises -> Int:
        var number = UInt64(0)
        for octet in self.take(width):
            number = number << 8 | UInt64(octet)
        return Int(number)

    def sized(mut self) raises -> Span[UInt8, Self.o]:
        return self.take(self.number(4))

    def text(mut self) raises -> StringSpan[Self.o]:
        var part = self.sized()
        _check(is_valid_utf8(part))
        return StringSpan(unsafe_from_utf8=part)

    def fields(mut self) raises -> HeaderMap:
        var count = self.number(4)
        _check(count <= FIELD_COUNT_MAX)
        var headers = HeaderMap()
        for _ in range(count):
            var name = self.text()
            headers.append(name, self.text())
        return headers^
