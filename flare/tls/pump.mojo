"""What drives a TLS session between a connection and a program.

    octets of the peer -> input -> [TlsPump] -> plaintext, read
    octets to the peer <- output <- [TlsPump] <- plaintext, written

A pump has neither socket nor clock: it says what it needs next, and whoever
holds the socket moves the octets. After each call, what is in the output is to
be sent, also after a failure: it may hold an alert. So what wants to be
written is the output, and what wants to be read is `TlsStatus.WANTS_OCTETS`.

A record may break the session, or a fatal alert come, after good octets in
the same input. `read` gives these first, with `is_broken` already true: a
server drops them and closes at once, since nobody could be answered (RFC 8446
section 6.2); a client hands them on, and its next `read` fails.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.tls.error import ProtocolViolation, TlsError
from flare.tls.session import TlsSession

comptime RECORD_LEN_MAX = 16_640
"""Room for one record: 16 KiB, what encryption adds (RFC 8446 section 5.2),
and the header."""

comptime PLAINTEXT_LEN_MAX = 65_536
"""Most plaintext that is encrypted before some of it is sent, in bytes.

That much waits in memory for a peer which does not read; what is after it
stays where it is.
"""

comptime UNSENT_LEN_MAX = 1 << 18
"""Most octets that wait to be sent, in bytes: a write leaves half at most, the
rest is answers that a peer demands and does not read."""


@fieldwise_init
struct TlsStatus(Equatable, TrivialRegisterPassable):

    var number: UInt8

    comptime DONE = TlsStatus(0)
    comptime WANTS_OCTETS = TlsStatus(1)
    """Octets of the peer must come first."""
    comptime ENDED = TlsStatus(2)
    """The peer has said that nothing follows (close_notify)."""
    comptime FAILED = TlsStatus(3)
    """TLS has failed; `failure` says why."""


@fieldwise_init
struct TlsStep(TrivialRegisterPassable):
    """What a call on a pump has done."""

    var status: TlsStatus
    var count: Int
    """Octets of plaintext that were read or written; 0 unless DONE."""


struct TlsPump(Movable):
    """A session whose calls say what they need, on buffers of the caller.

    Input and output are lent for each call, so all of the connections of a
    worker can share one pair.
    """

    var session: TlsSession
    var failure: Optional[TlsError]
    """Why a call has FAILED."""

    def __init__(out self, var session: TlsSession):
        """Takes a session, before its handshake."""
        self.session = session^
        self.failure = None

    def shake_hands(mut self, mut input: Buffer, mut output: Buffer) -> TlsStep:
        """Goes on with the handshake, consuming what it uses of the input; DONE
        once it is complete."""
        try:
            if self.session.advance(input, output):
                return TlsStep(TlsStatus.DONE, 0)
            return TlsStep(TlsStatus.WANTS_OCTETS, 0)
        except error:
            return self._fail(error^)

    def read(
        mut self, mut input: Buffer, mut output: Buffer, room: MutSpan[UInt8, _]
    ) -> TlsStep:
        """Decrypts into room that is not empty; goes on with the handshake if
        it is not complete. The input is used up unless the room is full, or TLS
        is over; there is seldom output. DONE with at least one octet; if
        `is_broken` is true then, the next call fails."""
        try:
            var count = self.session.read(input, output, room)
            if count > 0:
                return TlsStep(TlsStatus.DONE, count)
            if self.session.is_peer_done():
                return TlsStep(TlsStatus.ENDED, 0)
            return TlsStep(TlsStatus.WANTS_OCTETS, 0)
        except error:
            return self._fail(error^)

    def write(mut self, octets: Span[UInt8, _], mut output: Buffer) -> TlsStep:
        """Encrypts at most `PLAINTEXT_LEN_MAX` octets: DONE with how many were
        taken, or FAILED."""
        var count = min(len(octets), PLAINTEXT_LEN_MAX)
        try:
            self.session.write(octets.before(count), output)
            return TlsStep(TlsStatus.DONE, count)
        except error:
            return self._fail(error^)

    def end_input(mut self) -> TlsStep:
        """Notes that no more octets will come from the peer: ENDED if it has
        said so before, else FAILED: something may have been cut off."""
        try:
            self.session.receive_end()
            return TlsStep(TlsStatus.ENDED, 0)
        except error:
            return self._fail(error^)

    def send_close_notify(mut self, mut output: Buffer):
        """Tells the peer that nothing follows, unless the session is broken."""
        self.session.close(output)

    def is_broken(self) -> Bool:
        """Tells whether the session cannot be used any further: after a failed
        handshake, a broken record or a fatal alert, also if plaintext stood
        before it."""
        return Bool(self.failure) or self.session.is_broken()

    def is_over(self) -> Bool:
        """Tells whether the peer sends no more plaintext: it has said so, or
        the session is broken."""
        return self.is_broken() or self.session.is_peer_done()

    def _fail(mut self, var error: TlsError) -> TlsStep:
        self.failure = error^
        return TlsStep(TlsStatus.FAILED, 0)


struct TlsChannel(Movable):
    """A pump with an input and an output of its own, for one connection."""

    var pump: TlsPump
    """What moves the octets."""
    var output: Buffer
    """Octets to the peer: whoever sends some consumes them."""
    var _input: Buffer

    def __init__(out self, var session: TlsSession):
        """Takes a session, before its handshake."""
        self.pump = TlsPump(session^)
        self.output = Buffer()
        self._input = Buffer(RECORD_LEN_MAX)

    @no_inline
    def __deinit__(deinit self):
        return

    def shake_hands(mut self) -> TlsStep:
        """Goes on with the handshake, as `TlsPump.shake_hands` does."""
        return self.pump.shake_hands(self._input, self.output)

    def read(mut self, room: MutSpan[UInt8, _]) -> TlsStep:
        """Decrypts, as `TlsPump.read` does, unless too much waits to be sent."""
        if len(self.output) > UNSENT_LEN_MAX:
            return self.pump._fail(
                TlsError(
                    materialize[ProtocolViolation](),
                    "the peer",
                    "it demands answers without end and reads none",
                )
            )
        return self.pump.read(self._input, self.output, room)

    def write(mut self, octets: Span[UInt8, _]) -> TlsStep:
        """Encrypts, as `TlsPump.write` does."""
        return self.pump.write(octets, self.output)

    def send_close_notify(mut self):
        """Tells the peer that nothing follows, unless the session is broken."""
        self.pump.send_close_notify(self.output)

    def spare(mut self) -> Span[UInt8, MutUntrackedOrigin]:
        """Lends room for a record, or more, of the peer, of which `receive` is
        then told."""
        self._input.reserve(RECORD_LEN_MAX)
        return self._input.spare()

    def receive(mut self, count: Int) -> TlsStep:
        """Takes what has come into `spare`; 0 at the end of the stream. DONE,
        or as `TlsPump.end_input`."""
        if count == 0:
            return self.pump.end_input()
        self._input.commit(count)
        return TlsStep(TlsStatus.DONE, 0)

    def has_buffered(self) -> Bool:
        """Tells whether plaintext may be had without octets of the peer: the
        last read filled its room, or came with the notice that nothing follows
        or with what breaks the session. The socket may stay silent then."""
        return (
            self.pump.is_over()
            or len(self._input) > 0
            or self.pump.session.held_len() > 0
        )
