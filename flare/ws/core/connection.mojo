"""A WebSocket connection after its handshake, without socket and clock.

    var connection = WsConnection(Role.SERVER, limits, agreement)
    # 1. put octets into an input buffer
    # 2. call advance() until it answers NEEDS_OCTETS (go to 1)
    # 3. MESSAGE: payload(input); CLOSE: the peer closes
    # 4. if owes_answer(): answer(); if advance() raised: fail()
    # 5. send what is in output

The shell around it decides how much may wait in `output`: pongs and the answer
to a close frame are written when it calls `answer`, not before, and of several
pings only the last is answered (RFC 6455 section 5.5.3). So a peer that asks
much and reads nothing makes nothing grow.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.error import CompressError
from flare.ws.core.deflate import (
    COMPRESSED_LEN_MIN,
    DeflateAgreement,
    MessageDeflater,
    MessageInflater,
    can_deflate,
)
from flare.ws.core.error import (
    CLOSE_REASON_LEN_MAX,
    CloseCode,
    CloseState,
    WsMisuse,
    WsProtocolError,
    may_send_close_code,
)
from flare.ws.core.frame import (
    CONTROL_PAYLOAD_LEN_MAX,
    FrameHeader,
    MaskingKey,
    Opcode,
    Role,
    write_frame,
)
from flare.ws.core.receiver import FrameReceiver, WsLimits, WsProgress
from std.memory import OwnedPointer


struct WsConnection(Movable):
    """Both halves of a connection, and how far it is closed.

    Every call that writes takes a masking key: a new one for each call from a
    client, `MaskingKey.none()` from a server.
    """

    # In a box, so that one thread may receive while others send under a lock:
    # the compiler keeps a struct's own fields in registers over a call.
    var receiver: OwnedPointer[FrameReceiver]
    """What the peer sends."""
    var output: Buffer
    """What is to be sent; the shell consumes it."""
    var state: CloseState
    """How far the connection is closed."""
    var _role: Role
    var _agreement: Optional[DeflateAgreement]
    # Made for the first message that is compressed: it takes 260 KiB.
    var _deflater: Optional[MessageDeflater]
    var _is_in_message: Bool
    # The payload of the last ping. With an array in it, a struct is passed by
    # its address, without one by its fields.
    var _ping: Array[UInt8, CONTROL_PAYLOAD_LEN_MAX]
    var _ping_len: Int
    var _owes_pong: Bool

    def __init__(
        out self,
        role: Role,
        limits: WsLimits,
        agreement: Optional[DeflateAgreement] = None,
    ) raises CompressError:
        """Makes a connection whose handshake is complete. Raises if zlib is
        missing, and compression was agreed on."""
        var inflater = Optional[MessageInflater]()
        if agreement:
            inflater = MessageInflater(agreement.held(), role)
        self.receiver = OwnedPointer(FrameReceiver(role, limits, inflater^))
        self.output = Buffer()
        self.state = CloseState.OPEN
        self._role = role
        self._agreement = agreement
        self._deflater = None
        self._is_in_message = False
        self._ping = Array[UInt8, CONTROL_PAYLOAD_LEN_MAX](uninitialized=True)
        self._ping_len = 0
        self._owes_pong = False

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def advance(
        mut self, mut input: Buffer, by_frame: Bool = False
    ) raises WsProtocolError -> WsProgress:
        """Goes on with what has arrived, which is taken and changed; see
        `FrameReceiver.advance`. If the peer breaks a rule, `fail` comes next.
        """
        var progress: WsProgress
        try:
            progress = self.receiver[].advance(input, by_frame)
        except error:
            self.stop_receiving()
            raise error^
        if progress == WsProgress.PING or progress == WsProgress.CLOSE:
            self.take_note(progress, input)
        return progress

    def take_note(mut self, progress: WsProgress, ref input: Buffer):
        """Takes note of what the receiver found: a ping, which is to be
        answered, or the peer's close frame; for those who call
        `receiver.advance` themselves."""
        if progress == WsProgress.PING:
            var payload = self.receiver[].payload(input)
            for index in range(len(payload)):
                self._ping.at(index) = payload.at(index)
            self._ping_len = len(payload)
            self._owes_pong = True
        elif progress == WsProgress.CLOSE:
            self.stop_receiving()

    def stop_receiving(mut self):
        """Takes note that nothing more of the peer counts: it has closed, or
        broken a rule."""
        self.receiver[].stop()
        self.state = self.state.after_receiving()
        self._owes_pong = False

    @always_inline
    def payload(
        ref self, ref input: Buffer
    ) -> Span[UInt8, ImmOrigin(origin_of(self.receiver[], input))]:
        """Lends the payload that `advance` told of, in the input that it was
        given, until the next `advance`."""
        return self.receiver[].payload(input)

    @always_inline
    def owes_answer(self) -> Bool:
        """Tells whether the peer waits for a pong or a close frame, which
        `answer` writes."""
        return self.state == CloseState.ANSWERING or (
            self._owes_pong and self.state == CloseState.OPEN
        )

    def answer(mut self, key: MaskingKey):
        """Writes the pong or the close frame that is due.

        Source: RFC 6455 sections 5.5.1 (the code is sent back) and 5.5.3.
        """
        if not self.owes_answer():
            return
        if self.state == CloseState.OPEN:
            self._owes_pong = False
            var header = FrameHeader(Opcode.PONG, self._ping_len)
            header.key = key
            var payload = Span(self._ping).before(self._ping_len)
            write_frame(self.output, header, payload)
            return
        self._write_close(self.receiver[].close_code, "".as_bytes(), key)

    def fail(mut self, error: WsProtocolError, key: MaskingKey):
        """Writes the close frame that tells the peer which rule, as `advance`
        has raised, it broke.

        Source: RFC 6455 section 7.1.7. The transport is to be closed next.
        """
        if self.state == CloseState.ANSWERING:
            var reason = error.rule.text().as_bytes()
            self._write_close(error.close_code(), reason, key)

    def send_message(
        mut self, opcode: Opcode, payload: Span[UInt8, _], key: MaskingKey
    ) raises WsMisuse:
        """Writes a message of one frame, compressed if that was agreed on:
        `TEXT`, in UTF-8, or `BINARY`. Raises if the connection is closed, or a
        message is being sent in fragments."""
        self._check_may_send()
        if self._is_in_message:
            raise WsMisuse.IN_MESSAGE
        if self._agreement and len(payload) >= COMPRESSED_LEN_MIN:
            if can_deflate(self._agreement.held(), self._role):
                self._send_compressed(opcode, payload, key)
                return
        self._write(FrameHeader(opcode, len(payload)), payload, key)

    def send_fragment(
        mut self,
        opcode: Opcode,
        payload: Span[UInt8, _],
        is_final: Bool,
        key: MaskingKey,
    ) raises WsMisuse:
        """Writes a part of a message whose length is not known yet: `TEXT`,
        perhaps cut within a character, or `BINARY` for the first part, then
        `CONTINUATION`. Raises if the connection is closed, or the opcode is not
        the one that is due."""
        self._check_may_send()
        var continues = opcode == Opcode.CONTINUATION
        if continues and not self._is_in_message:
            raise WsMisuse.NOT_IN_MESSAGE
        if not continues and self._is_in_message:
            raise WsMisuse.IN_MESSAGE
        var header = FrameHeader(opcode, len(payload))
        header.is_final = is_final
        self._is_in_message = not is_final
        self._write(header, payload, key)

    def send_control(
        mut self, opcode: Opcode, payload: Span[UInt8, _], key: MaskingKey
    ) raises WsMisuse:
        """Writes a `PING`, or a `PONG` that nobody asked for, of at most 125
        bytes. Raises if the connection is closed or the payload too long."""
        self._check_may_send()
        if len(payload) > CONTROL_PAYLOAD_LEN_MAX:
            raise WsMisuse.CONTROL_LEN
        self._write(FrameHeader(opcode, len(payload)), payload, key)

    def send_close(
        mut self, code: Int, reason: StringSpan, key: MaskingKey
    ) raises WsMisuse:
        """Writes the close frame; nothing can be sent after it. The code is
        one that may be sent, with a reason of at most 123 bytes, or
        `CloseCode.NO_STATUS` for a frame without both. Raises if one was sent
        already, or code or reason cannot be."""
        self._check_may_send()
        if code != CloseCode.NO_STATUS and not may_send_close_code(code):
            raise WsMisuse.CLOSE_CODE
        if reason.byte_length() > CLOSE_REASON_LEN_MAX:
            raise WsMisuse.CLOSE_REASON
        self._write_close(code, reason.as_bytes(), key)

    def may_begin_message(self) -> Bool:
        """Tells whether a message can be sent now: the connection is open, and
        no message is being sent in fragments (RFC 6455 section 5.4)."""
        return self.state.may_send() and not self._is_in_message

    def release(mut self):
        """Gives memory back; nothing is sent or received any more."""
        self.state = CloseState.CLOSED
        self.output = Buffer()
        var limits = self.receiver[].limits
        self.receiver[] = FrameReceiver(self._role, limits)
        self.receiver[].stop()
        self._deflater = None

    def _check_may_send(self) raises WsMisuse:
        if not self.state.may_send():
            raise WsMisuse.CLOSED

    def _send_compressed(
        mut self, opcode: Opcode, payload: Span[UInt8, _], key: MaskingKey
    ) raises WsMisuse:
        var compressed = Buffer()
        try:
            if not self._deflater:
                self._deflater = MessageDeflater(
                    self._agreement.held(), self._role
                )
            self._deflater.held().deflate(payload, compressed)
        except:
            raise WsMisuse.NO_MEMORY
        var header = FrameHeader(opcode, len(compressed))
        header.is_compressed = True
        self._write(header, compressed.span(), key)

    def _write_close(
        mut self, code: Int, reason: Span[UInt8, _], key: MaskingKey
    ):
        var payload = List[UInt8](capacity=2 + len(reason))
        if code != CloseCode.NO_STATUS:
            payload.append(UInt8(code >> 8))
            payload.append(UInt8(code & 0xFF))
            payload.extend(reason)
        var header = FrameHeader(Opcode.CLOSE, len(payload))
        self._write(header, Span(payload), key)
        self.state = self.state.after_sending()

    @always_inline
    def _write(
        mut self, header: FrameHeader, payload: Span[UInt8, _], key: MaskingKey
    ):
        var masked = header
        masked.key = key
        write_frame(self.output, masked, payload)
