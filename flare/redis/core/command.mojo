"""Commands as a server reads them: arrays of texts (RESP2 and RESP3)."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.digits import read_saturated
from flare.bytes.float_text import float_text
from std.math import ceil
from std.sys.intrinsics import likely

comptime KEPT_COMMAND_LEN_MAX = 65_536
"""Longest command whose memory is kept for the next, in bytes."""


struct RedisArg(Copyable, Movable):
    """An argument of a command: a text, octets or a number."""

    var text: String
    """The argument; any octets."""

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes a text.

        Args:
            text: The text.
        """
        self.text = String(text)

    @implicit
    def __init__(out self, text: String):
        """Takes a text."""
        self.text = text

    @implicit
    def __init__(out self, text: StringSpan):
        """Copies a text."""
        self.text = String(text)

    @implicit
    def __init__(out self, number: Int):
        """Takes a whole number.

        Args:
            number: The number.
        """
        self.text = String(number)

    @implicit
    def __init__(out self, number: Float64):
        """Takes a number."""
        self.text = float_text(number)

    @implicit
    def __init__(out self, octets: Span[UInt8, _]):
        """Copies octets.

        Args:
            octets: The octets.
        """
        # They are only sent, never looked at as text.
        self.text = String(StringSpan(unsafe_from_utf8=octets))

    @implicit
    def __init__(out self, octets: List[UInt8]):
        """Copies octets."""
        self.text = String(StringSpan(unsafe_from_utf8=Span(octets)))


struct Command(Movable):
    """One command or several, as they are sent.

    `begin` says how many texts follow, and each is appended once. It also keeps
    what the way to the server has to know: the key, and whether twice is harm.
    """

    var octets: Buffer
    var count: Int
    """How many commands there are."""
    var is_repeatable: Bool
    """True if nothing changes when all of them are carried out twice."""
    var extra_ms: Int
    """How long the server may wait on purpose, on top of the timeout."""
    var alters_connection: Bool
    """True if the connection may be another one after it: with another
    database, say, or in a transaction."""
    var _key_start: Int
    var _key_len: Int

    def __init__(out self):
        self.octets = Buffer(256)
        self.count = 0
        self.is_repeatable = True
        self.extra_ms = 0
        self.alters_connection = False
        self._key_start = 0
        self._key_len = -1

    @always_inline
    def clear(mut self):
        if self.octets.capacity() > KEPT_COMMAND_LEN_MAX:
            self.octets = Buffer(256)
        self.octets.clear()
        self.count = 0
        self.is_repeatable = True
        self.extra_ms = 0
        self.alters_connection = False
        self._key_len = -1

    @always_inline
    def begin[name: StaticString](mut self, argument_count: Int):
        """Begins a command, in upper case, that changes something."""
        self.is_repeatable = False
        self._begin[name](argument_count)

    @always_inline
    def begin_read[name: StaticString](mut self, argument_count: Int):
        """Begins a command, in upper case, that changes nothing."""
        self._begin[name](argument_count)

    @always_inline
    def _begin[name: StaticString](mut self, argument_count: Int):
        self.count += 1
        append_header(self.octets, 0x2A, argument_count + 1)
        append_header(self.octets, 0x24, name.byte_length())
        self.octets.append_literal[name]()
        self.octets.append_literal["\r\n"]()

    def begin_any(mut self, name: Span[UInt8, _], argument_count: Int):
        """Begins a command whose name is known when it is sent."""
        if not is_read(name):
            self.is_repeatable = False
            if alters_connection(name):
                self.alters_connection = True
        self.count += 1
        append_header(self.octets, 0x2A, argument_count + 1)
        self.add(name)

    @always_inline
    def key(mut self, key: StringSpan):
        """Appends the key that says which node of a cluster is asked."""
        self.key(key.as_bytes())

    @always_inline
    def key(mut self, key: Span[UInt8, _]):
        """Appends the key that says which node of a cluster is asked."""
        self.add(key)
        if self._key_len < 0:
            self._key_len = len(key)
            self._key_start = len(self.octets) - 2 - len(key)

    @always_inline
    def add(mut self, text: StringSpan):
        self.add(text.as_bytes())

    @always_inline
    def add(mut self, octets: Span[UInt8, _]):
        append_bulk(self.octets, octets)

    @always_inline
    def add_literal[text: StaticString](mut self):
        append_header(self.octets, 0x24, text.byte_length())
        self.octets.append_literal[text]()
        self.octets.append_literal["\r\n"]()

    @no_inline
    def add_number(mut self, number: Int):
        append_bulk(self.octets, String(number).as_bytes())

    @no_inline
    def add_fraction(mut self, number: Float64):
        append_bulk(self.octets, float_text(number).as_bytes())

    @always_inline
    def has_key(self) -> Bool:
        """Tells whether a command has a key; without one any node of a cluster
        will do."""
        return self._key_len >= 0

    def first_key(
        ref self,
    ) -> Span[UInt8, ImmOrigin(origin_of(self.octets))]:
        """Lends the first key; empty if there is none."""
        return self.octets.span().between(
            self._key_start, self._key_start + max(self._key_len, 0)
        )


@always_inline
def append_header(mut out: Buffer, mark: UInt8, count: Int):
    """Appends the mark of a type, `*` or `$`, and a count, as one line."""
    out.reserve(32)
    if likely(count < 10):
        # SAFETY: `reserve` made the room that is written.
        var at = out.spare().unsafe_ptr()
        at[unsafe_offset=0] = mark
        at[unsafe_offset=1] = UInt8(48 + count)
        at[unsafe_offset=2] = 0x0D
        at[unsafe_offset=3] = 0x0A
        out.commit(4)
        return
    if count < 100:
        # SAFETY: as above.
        var at = out.spare().unsafe_ptr()
        var tens = (count * 205) >> 11
        at[unsafe_offset=0] = mark
        at[unsafe_offset=1] = UInt8(48 + tens)
        at[unsafe_offset=2] = UInt8(48 + count - tens * 10)
        at[unsafe_offset=3] = 0x0D
        at[unsafe_offset=4] = 0x0A
        out.commit(5)
        return
    _append_long_header(out, mark, count)


@no_inline
def _append_long_header(mut out: Buffer, mark: UInt8, count: Int):
    out.append_octet(mark)
    out.append_decimal(count)
    out.append_literal["\r\n"]()


@always_inline
def append_bulk(mut out: Buffer, octets: Span[UInt8, _]):
    """Appends octets with their length in front."""
    append_header(out, 0x24, len(octets))
    out.reserve(len(octets) + 2)
    out.append(octets)
    out.append_literal["\r\n"]()


comptime _READS = StaticString(
    " GET MGET STRLEN GETRANGE EXISTS TTL PTTL TYPE KEYS SCAN RANDOMKEY DBSIZE"
    " HGET HMGET HGETALL HKEYS HVALS HLEN HEXISTS HSTRLEN HSCAN LRANGE LLEN"
    " LINDEX LPOS SMEMBERS SISMEMBER SMISMEMBER SCARD SRANDMEMBER SSCAN SINTER"
    " SUNION SDIFF SINTERCARD ZRANGE ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE"
    " ZRANGEBYLEX ZSCORE ZMSCORE ZCARD ZCOUNT ZRANK ZREVRANK ZSCAN ZLEXCOUNT"
    " XRANGE XREVRANGE XLEN XREAD XINFO XPENDING GETBIT BITCOUNT BITPOS PFCOUNT"
    " GEODIST GEOHASH GEOPOS GEOSEARCH PING ECHO TIME INFO ROLE COMMAND OBJECT"
    " EXPIRETIME PEXPIRETIME TOUCH EVAL_RO EVALSHA_RO FCALL_RO SORT_RO"
    " BITFIELD_RO ZUNION ZINTER ZDIFF ZINTERCARD ZREVRANGEBYLEX ZRANDMEMBER"
    " HRANDFIELD LCS DUMP "
)
# Carried out twice they change nothing.


comptime _ALTERATIONS = StaticString(
    " WATCH UNWATCH MULTI EXEC DISCARD SELECT AUTH HELLO RESET CLIENT ASKING"
    " READONLY READWRITE REPLCONF QUIT "
)
# After them a server may treat the connection otherwise.


def is_read(name: Span[UInt8, _]) -> Bool:
    """Tells whether a command is known to change nothing, however often it is
    sent."""
    return _is_among(name, _READS)


def alters_connection(name: Span[UInt8, _]) -> Bool:
    """Tells whether a server may treat the connection otherwise after a
    command, its name in any case."""
    return _is_among(name, _ALTERATIONS)


def _is_among(name: Span[UInt8, _], names: StaticString) -> Bool:
    var word = String(" ")
    for octet in name:
        if octet - 97 < 26:
            word += chr(Int(octet - 32))
        elif octet > 0x20 and octet < 0x7F:
            word += chr(Int(octet))
        else:
            return False
    word += " "
    return word in names


comptime _LISTENING = StaticString(
    " SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE"
    " MONITOR SYNC PSYNC "
)
# What comes after them is no reply: messages, or a stream without an end.


def begins_messages(name: Span[UInt8, _]) -> Bool:
    """Tells whether a command, its name in any case, is answered by messages,
    so that no reply to it, or none to what follows, can be told from them."""
    return _is_among(name, _LISTENING)


comptime _WAITS_LAST_S = StaticString(
    " BLPOP BRPOP BRPOPLPUSH BLMOVE BZPOPMIN BZPOPMAX "
)
comptime _WAITS_FIRST_S = StaticString(" BLMPOP BZMPOP ")
comptime _WAITS_LAST_MS = StaticString(" WAIT WAITAOF ")
comptime _WAITS_BEHIND_BLOCK = StaticString(" XREAD XREADGROUP ")
# Where the time stands that a server waits on purpose, and in which unit.

comptime _NO_WAIT = -1
comptime _BEHIND_BLOCK = -2
comptime _WAIT_MS_MAX = 1 << 40
# Beyond any wait; sums with times of the client do not overflow.


@fieldwise_init
struct WaitPlace(TrivialRegisterPassable):
    """Which argument of a command says how long the server waits on purpose,
    asked of each in order."""

    var _index: Int
    var _is_in_seconds: Bool

    @staticmethod
    def of(name: Span[UInt8, _], argument_count: Int) -> Self:
        """Finds it for a command, its name in any case."""
        if len(name) == 0:
            return Self(_NO_WAIT, False)
        var first = name.at(0) | 32
        if first == 0x62:
            if _is_among(name, _WAITS_LAST_S):
                return Self(argument_count - 1, True)
            if _is_among(name, _WAITS_FIRST_S):
                return Self(0, True)
        elif first == 0x77:
            if _is_among(name, _WAITS_LAST_MS):
                return Self(argument_count - 1, False)
        elif first == 0x78:
            if _is_among(name, _WAITS_BEHIND_BLOCK):
                return Self(_BEHIND_BLOCK, False)
        return Self(_NO_WAIT, False)

    @always_inline
    def wait_ms(mut self, index: Int, argument: Span[UInt8, _]) -> Int:
        """Tells how long the server waits, in milliseconds, if it is this
        argument. 0 if it is not, or is no time; also for 0, which is for ever
        to the server and leaves the end to the client."""
        if likely(self._index == _NO_WAIT):
            return 0
        return self._wait_ms(index, argument)

    @no_inline
    def _wait_ms(mut self, index: Int, argument: Span[UInt8, _]) -> Int:
        if self._index == _BEHIND_BLOCK:
            if equals_ignore_case(argument, "block".as_bytes()):
                self._index = index + 1
            elif equals_ignore_case(argument, "streams".as_bytes()):
                # What follows is keys and ids.
                self._index = _NO_WAIT
            return 0
        if index != self._index:
            return 0
        self._index = _NO_WAIT
        if self._is_in_seconds:
            return _seconds_as_ms(argument)
        return max(read_saturated(argument, _WAIT_MS_MAX), 0)


def _seconds_as_ms(octets: Span[UInt8, _]) -> Int:
    """Reads a number of seconds as servers do; 0 if it is none."""
    var is_ascii = len(octets) <= 64
    for octet in octets:
        is_ascii = is_ascii and octet > 0x20 and octet < 0x7F
    if not is_ascii or len(octets) == 0:
        return 0
    try:
        var seconds = atof(StringSpan(unsafe_from_utf8=octets))
        if seconds >= Float64(_WAIT_MS_MAX) / 1_000.0:
            return _WAIT_MS_MAX
        # Not for what is no number either.
        return Int(ceil(seconds * 1_000.0)) if seconds > 0.0 else 0
    except:
        return 0


comptime BEHIND_STREAMS = -2
"""What `key_place` says of commands with the word STREAMS."""


@fieldwise_init
struct KeyPlace(TrivialRegisterPassable):
    """Which argument of a command is its key, asked of each in order."""

    var index: Int
    """As `key_place` counts."""

    def is_key(mut self, index: Int, argument: Span[UInt8, _]) -> Bool:
        """Tells whether it is this argument; the one after STREAMS, in any
        case, may be called so, too."""
        if index == self.index:
            return True
        if self.index == BEHIND_STREAMS and equals_ignore_case(
            argument, "streams".as_bytes()
        ):
            self.index = index + 1
        return False


def key_place(name: StringSpan) -> Int:
    """Tells which argument of a command, its name in any case, is its first
    key, from 0; -1 if there is none, and `BEHIND_STREAMS` if the word before the
    keys is `STREAMS`."""
    if _has_lower(name):
        return key_place(name.upper())
    var at = _KEY_PLACES.find(String(" ", name, "="))
    if at < 0:
        return 0
    var place = _KEY_PLACES.as_bytes().at(at + name.byte_length() + 2)
    if place == 0x2D:
        return -1
    return BEHIND_STREAMS if place == 0x53 else Int(place) - 48


comptime _KEY_PLACES = StaticString(
    " PING=- ECHO=- TIME=- INFO=- ROLE=- COMMAND=- DBSIZE=- FLUSHDB=-"
    " FLUSHALL=- KEYS=- SCAN=- RANDOMKEY=- PUBLISH=- SCRIPT=- CLUSTER=-"
    " CONFIG=- CLIENT=- ACL=- HELLO=- AUTH=- SELECT=- WAIT=- MULTI=- EXEC=-"
    " DISCARD=- UNWATCH=- SUBSCRIBE=- PSUBSCRIBE=- LATENCY=- MEMORY=- SAVE=-"
    " BGSAVE=- LASTSAVE=- REPLICAOF=- SHUTDOWN=- DEBUG=- FUNCTION=- MODULE=-"
    " PUBSUB=- QUIT=- RESET=- ASKING=- READONLY=- READWRITE=- EVAL=2"
    " EVALSHA=2 FCALL=2 EVAL_RO=2 EVALSHA_RO=2 FCALL_RO=2 XREAD=S"
    " XREADGROUP=S OBJECT=1 XGROUP=1 XINFO=1 BITOP=1 ZUNION=1 ZINTER=1"
    " ZDIFF=1 LMPOP=1 ZMPOP=1 SINTERCARD=1 ZINTERCARD=1 BLMPOP=2 BZMPOP=2"
    " MIGRATE=2 "
)
# The place of the first key where it is not 0: - for none, S behind STREAMS.


def _has_lower(name: StringSpan) -> Bool:
    for octet in name.as_bytes():
        if octet - 97 < 26:
            return True
    return False
