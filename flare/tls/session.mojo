"""A TLS connection without a socket: octets in, octets out.

    octets of the peer -> input -> [TlsSession] -> plaintext, read
    octets to the peer <- output <-[TlsSession] <- plaintext, written

`input` and `output` are buffers of the caller, lent for each call: a session
takes what it needs from the head of the one and appends to the other, and
holds no more than a part of a record itself. So all of the sessions of a
worker can share one pair of buffers.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.openssl.certificate import HeldCertificate
from flare.sys.openssl.context import ServerChoices
from flare.sys.openssl.session import (
    STEP_CLOSED,
    STEP_DONE,
    STEP_FAILED,
    SslSession,
    peer_certificate,
    peer_subject,
    resume,
    take_ticket,
)
from flare.tls.error import (
    AlpnRefused,
    ClientCertificateRequired,
    ClosedEarly,
    NoSharedCipher,
    OutOfOrder,
    PlainHttpRequest,
    RenegotiationRefused,
    TlsError,
)
from std.memory import ArcPointer

comptime SessionExplainer = def(mut SslSession, String, Bool) thin -> TlsError
"""What `session_error` is. A context brings it along as a value, so that a
program without one has nothing of it in its build."""


@fieldwise_init
struct SessionPhase(Equatable, TrivialRegisterPassable):
    """How far the peer's side of a session has come."""

    var _number: UInt8

    comptime NEW = SessionPhase(0)
    """Nothing has come yet."""
    comptime HANDSHAKE = SessionPhase(1)
    comptime OPEN = SessionPhase(2)
    """The handshake is complete; records may come."""
    comptime PEER_DONE = SessionPhase(3)
    """The peer has said that nothing follows."""

    @always_inline
    def is_established(self) -> Bool:
        """Tells whether the handshake is complete."""
        return self._number >= Self.OPEN._number


struct TlsSession(Movable):
    """One side of a TLS connection, on memory alone.

    A client calls `advance` first, with nothing in the input, to get its first
    message; from then on both sides feed what arrives and send what is in the
    output after each call, also after one that raised: it may hold an alert.
    """

    var _ssl: SslSession
    # What OpenSSL asks during the handshake of a server.
    var _choices: Optional[ArcPointer[ServerChoices]]
    var _peer: String
    var _offer: List[UInt8]
    var _shows_identity: Bool
    var _explainer: SessionExplainer
    var _phase: SessionPhase
    var _is_closed: Bool
    var _failure: Optional[TlsError]
    var _has_alert: Bool

    def __init__(
        out self,
        var ssl: SslSession,
        var peer: String,
        var offer: List[UInt8],
        shows_identity: Bool,
        explainer: SessionExplainer,
    ):
        """Makes a client's session; programs call `TlsClientContext.session`.

        Args:
            ssl: The session, before its handshake.
            peer: What errors call the server.
            offer: The protocols that are offered, as on the wire.
            shows_identity: True if there is a certificate of the client.
            explainer: Tells why it failed, if it does.
        """
        self._ssl = ssl^
        self._choices = None
        self._peer = peer^
        self._offer = offer^
        self._shows_identity = shows_identity
        self._explainer = explainer
        self._phase = SessionPhase.NEW
        self._is_closed = False
        self._failure = None
        self._has_alert = False

    def __init__(
        out self,
        var ssl: SslSession,
        choices: ArcPointer[ServerChoices],
        explainer: SessionExplainer,
    ):
        """Makes a server's session; programs call `TlsServerContext.session`.

        Args:
            choices: What answers in its handshake.
        """
        self = Self(ssl^, "the client", List[UInt8](), True, explainer)
        self._choices = choices

    @no_inline
    def __deinit__(deinit self):
        return

    def advance(
        mut self, mut input: Buffer, mut output: Buffer
    ) raises TlsError -> Bool:
        """Goes on with the handshake, and gives True once it is complete.

        Args:
            input: What the peer has sent; what is used is consumed.
            output: Gets what is to be sent to the peer.

        Raises:
            TlsError: If it has failed. Send the output all the same.
        """
        if self.is_established():
            return True
        self._check_failure()
        if self._phase == SessionPhase.NEW and len(input) > 0:
            self._phase = SessionPhase.HANDSHAKE
            self._refuse_text(input.span().at(0))
        var step = self._ssl.handshake(input.span())
        input.consume(step.consumed_count)
        if step.status == STEP_FAILED:
            self._has_alert = self._ssl.output_len() > 0
            self._fail(self._explain())
        elif step.status == STEP_CLOSED:
            self._fail(self._closed_early("the peer ended the handshake"))
        elif step.status == STEP_DONE:
            self._phase = SessionPhase.OPEN
            self._check_protocol()
        self._drain(output)
        self._check_failure()
        return self.is_established()

    def read(
        mut self,
        mut input: Buffer,
        mut output: Buffer,
        room: MutSpan[UInt8, _],
    ) raises TlsError -> Int:
        """Decrypts, and gives how many octets; 0 if more must arrive first, or
        if `is_peer_done`. Goes on with the handshake if it is not complete.

        All of the input is used up unless the room is full. Room for 16 KiB
        and more takes whole records, which costs least.

        Args:
            output: Gets what is to be sent to the peer, mostly nothing.
            room: Where the plaintext goes; not empty.

        Raises:
            TlsError: If the session is broken; what was read before is good.
                If that is so with octets in the room, the next call raises,
                and `is_broken` tells of it before.
        """
        if not self.is_established() and not self.advance(input, output):
            return 0
        self._check_failure()
        if self.is_peer_done():
            # What follows the close is not read (RFC 8446 section 6.1).
            input.clear()
            return 0
        if len(input) == 0 and self._ssl.held_len() == 0:
            return 0
        var step = self._ssl.read(input.span(), room)
        input.consume(step.consumed_count)
        if step.status == STEP_FAILED:
            self._has_alert = self._ssl.output_len() > 0
            self._fail(self._explain())
        elif step.status == STEP_CLOSED:
            self._phase = SessionPhase.PEER_DONE
        if self._ssl.output_len() > 0:
            self._drain(output)
        if step.count == 0:
            self._check_failure()
        return step.count

    def write(
        mut self, octets: Span[UInt8, _], mut output: Buffer
    ) raises TlsError:
        """Encrypts all of a plaintext.

        Args:
            octets: The plaintext.

        Raises:
            TlsError: If the handshake is not complete, the session is closed
                or broken.
        """
        if not self.is_established() or self._is_closed:
            raise TlsError(
                materialize[OutOfOrder](),
                self._peer,
                "there is no session to write to",
            )
        self._check_failure()
        var written = 0
        while written < len(octets):
            var step = self._ssl.write(octets.after(written))
            if step.status != STEP_DONE:
                self._fail(self._explain())
            written += step.count
            self._drain(output)
            self._check_failure()

    def close(mut self, mut output: Buffer):
        """Tells the peer that nothing follows; a second call does nothing."""
        if self.is_established() and not self._is_closed and not self._failure:
            self._ssl.close()
            self._drain(output)
        self._is_closed = True

    def receive_end(mut self) raises TlsError:
        """Notes that no more octets will come from the peer.

        Raises:
            TlsError: If the peer did not say before that nothing follows: then
                something may be missing, cut off by the peer or by somebody on
                the way.
        """
        if self.is_peer_done():
            return
        self._check_failure()
        self._fail(
            self._closed_early(
                "the connection ended without a notice (close_notify)" if self.is_established() else "the connection ended during the handshake"
            )
        )
        self._check_failure()

    def _refuse_text(mut self, octet: UInt8) raises TlsError:
        """Tells a client's plain HTTP from TLS by the first octet.

        A method is in capitals (RFC 9110 section 9.1), and no content type of
        a record is one (RFC 8446 section 5.1).
        """
        if self._choices and octet >= 65 and octet <= 90:
            self._fail(
                TlsError(
                    materialize[PlainHttpRequest](),
                    self._peer,
                    "a request in plain text",
                )
            )
            self._check_failure()

    def _drain(mut self, mut output: Buffer):
        var length = self._ssl.output_len()
        if length > 0:
            output.reserve(length)
            output.commit(self._ssl.take_output(output.spare()))

    def _fail(mut self, var error: TlsError):
        if not self._failure:
            self._failure = error^

    def _check_failure(self) raises TlsError:
        if self._failure:
            raise self._failure.held().copy()

    def _closed_early(self, var found: String) -> TlsError:
        return TlsError(materialize[ClosedEarly](), self._peer, found^)

    def _explain(mut self) -> TlsError:
        var error = self._explainer(self._ssl, self._peer, self._shows_identity)
        # After the handshake there is one thing left that this alert of a
        # server of TLS 1.2 can be about.
        if (
            self.is_established()
            and not self._choices
            and (
                error.kind == NoSharedCipher
                or error.kind == ClientCertificateRequired
            )
            and StringSpan(self.version()) == "TLSv1.2"
        ):
            error.kind = materialize[RenegotiationRefused]()
            error.found = "renegotiation was refused, and the server gave up"
        return error^

    def _check_protocol(mut self):
        """Holds a server to what it was offered (RFC 7301 section 3.1)."""
        var protocol = self.alpn()
        if self._choices or protocol.byte_length() == 0:
            return
        var at = 0
        while at < len(self._offer):
            var end = at + 1 + Int(self._offer.at(at))
            if Span(self._offer).between(at + 1, end) == protocol.as_bytes():
                return
            at = end
        self._fail(
            TlsError(
                materialize[AlpnRefused](),
                self._peer,
                "the server chose a protocol that was not offered",
            )
        )

    def is_established(self) -> Bool:
        """Tells whether the handshake is complete, so that plaintext can be
        written."""
        return self._phase.is_established()

    def is_peer_done(self) -> Bool:
        """Tells whether the peer has said, by close_notify, that nothing
        follows."""
        return self._phase == SessionPhase.PEER_DONE

    def is_broken(self) -> Bool:
        """Tells whether a record or an alert has ended the session at once,
        though the last `read` may have given octets.

        Source: RFC 8446 section 6.2; the connection is to be closed."""
        return self._failure.__bool__()

    def tells_why(self) -> Bool:
        """Tells whether the peer learns from an alert what ended the session:
        not if it was the peer's own, so that nobody waits for octets any more.
        """
        return self._has_alert

    def held_len(self) -> Int:
        """Counts the bytes of plaintext that are decrypted and were not read
        yet; 0 unless the room of the last read was full."""
        return self._ssl.held_len()

    def version(self) -> String:
        """Names the version that is spoken: "TLSv1.2" or "TLSv1.3"."""
        return self._ssl.version()

    def cipher(self) -> String:
        """Names the cipher suite, such as "TLS_AES_128_GCM_SHA256"; empty
        before it is agreed."""
        return self._ssl.suite()

    def alpn(self) -> String:
        """Names the application protocol that was agreed on, such as "h2";
        empty for none."""
        return self._ssl.protocol()

    def server_name(self) -> String:
        """Reads the host's name that the client has asked for, as it was sent:
        any text; empty for none."""
        return self._ssl.server_name()

    def peer_certificate(self) -> Optional[HeldCertificate]:
        """Gives the certificate that the peer has shown, to keep; nothing if
        there was none."""
        return peer_certificate(self._ssl)

    def peer_subject(self) -> String:
        """Reads whose certificate the peer has shown, in the form of RFC 2253,
        such as "CN=a,O=b"; empty if there was none. On a server it was
        verified."""
        return peer_subject(self._ssl)

    def is_resumed(self) -> Bool:
        """Tells whether the session went on from an earlier one."""
        return self._ssl.is_resumed()

    def ticket(self) -> List[UInt8]:
        """Gives the ticket, packed, from which a later session with the same
        server can go on; empty if there is none.

        A server of TLS 1.3 sends it after the handshake, so read first. Keep
        it as secret as a key."""
        if not self.is_established() or self._failure:
            return []
        return take_ticket(self._ssl)

    def resume(mut self, ticket: Span[UInt8, _]) -> Bool:
        """Goes on from an earlier session, if the server still knows it; gives
        False if that is none: the handshake then is a full one.

        The certificate is not verified again, so the ticket must come from a
        session with the same host and the same configuration.

        Args:
            ticket: What its `ticket` gave.
        """
        if self.is_established() or len(ticket) == 0:
            return False
        return resume(self._ssl, ticket)
