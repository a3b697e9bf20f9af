"""One TLS connection in memory: its steps, tickets and peer."""

from flare.bytes.checked import *
from flare.bytes.utf8 import lossy_text
from flare.sys.openssl.certificate import (
    CertificateFacts,
    HeldCertificate,
    subject_of,
)
from flare.sys.openssl.context import SslContext
from flare.sys.openssl.library import OpenSsl, OpenSslError, c_octets, c_text
from std.memory import ArcPointer


comptime STEP_DONE = 0
"""The call did what it could."""
comptime STEP_NEEDS_INPUT = 1
"""The peer must send more first."""
comptime STEP_CLOSED = 2
"""The peer has said that nothing follows."""
comptime STEP_FAILED = 3
"""The session is broken; `take_error` says why."""

comptime _SSL_ERROR_WANT_READ = Int32(2)
comptime _SSL_ERROR_ZERO_RETURN = Int32(6)

comptime _CTRL_SET_HOST_NAME = Int32(55)
comptime _CTRL_GET_BUF_MEM = Int32(115)
comptime _CTRL_SET_BUF_MEM = Int32(114)
comptime _CTRL_SET_EMPTY_RESULT = Int32(130)
comptime _CTRL_PENDING = Int32(10)
comptime _BIO_CLOSE = 1

# No partial wildcards such as `w*.example.com`, and no fall-back to the common
# name (RFC 9525 sections 6.3 and 2).
comptime _HOST_FLAGS = UInt32(0x4 | 0x20)

comptime _CALL_LEN_MAX = 1 << 30

# Output memory beyond this is given back once it has been taken out.
comptime _KEPT_OUTPUT_LEN = 4_096


@fieldwise_init
struct SslStep(TrivialRegisterPassable):
    """What came of one call."""

    var status: Int
    """A `STEP_` constant."""
    var count: Int
    """How many octets of plaintext it moved."""
    var consumed_count: Int
    """How many octets of the input it has taken."""


struct _BufferMemory:
    """`BUF_MEM`, whose fields OpenSSL documents."""

    var length: Int
    var data: Int
    var capacity: Int
    var flags: UInt


struct SslSession(Movable):
    """An `SSL` with memory on both sides, released once.

    The peer's octets are not copied in: a read-only memory BIO is pointed at
    them for the length of a call. What goes to the peer waits in a memory BIO
    until `take_output`.
    """

    var _library: ArcPointer[OpenSsl]
    var _handle: Int
    # Owned by the session's BIOs.
    var _input: Pointer[_BufferMemory, MutUntrackedOrigin]
    var _output: Int

    def __init__(
        out self, context: SslContext, is_server: Bool
    ) raises OpenSslError:
        """Makes a session of a context that may go before it. Raises if memory
        is short."""
        self._library = context.library()
        ref symbols = self._library[].session
        ref memory = self._library[].memory
        self._library[].clear_errors()
        self._handle = symbols.new(context.handle())
        # An address is wanted, if only for no octets.
        var input = memory.bio_new_mem_buf(Int(Pointer(to=symbols)), 0)
        self._output = memory.bio_new(memory.bio_s_mem())
        if self._handle == 0 or input == 0 or self._output == 0:
            symbols.free(self._handle)
            _ = memory.bio_free(input)
            _ = memory.bio_free(self._output)
            raise self._library[].take_error("make a TLS session")
        _ = memory.bio_ctrl(input, _CTRL_SET_EMPTY_RESULT, -1, 0)
        # On the heap: the compiler does not see a call write to a local value
        # that it knows by its address alone.
        var address = List[Int](length=1, fill=0)
        _ = memory.bio_ctrl(
            input, _CTRL_GET_BUF_MEM, 0, Int(address.unsafe_ptr())
        )
        self._input = Pointer[_BufferMemory, MutUntrackedOrigin](
            unsafe_from_address=address.at(0)
        )
        symbols.set_bio(self._handle, input, self._output)
        if is_server:
            symbols.set_accept_state(self._handle)
        else:
            symbols.set_connect_state(self._handle)

    def __deinit__(deinit self):
        """Releases the session and its BIOs."""
        self._library[].session.free(self._handle)

    def handle(self) -> Int:
        """Lends the `SSL` to other parts of `flare.sys`, good while this
        session lives."""
        return self._handle

    def library(self) -> ArcPointer[OpenSsl]:
        return self._library

    def expect_name(mut self, var name: String) raises OpenSslError:
        """Sends a host's name, without a dot at its end, and demands a
        certificate for it. Raises if memory is short."""
        ref symbols = self._library[].session
        var address = Int(name.as_c_string_span().ptr())
        symbols.set_hostflags(self._handle, _HOST_FLAGS)
        var result = Int(symbols.set1_host(self._handle, address))
        result += symbols.ctrl(self._handle, _CTRL_SET_HOST_NAME, 0, address)
        _ = name^
        if result != 2:
            raise self._library[].take_error("set the host's name")

    def expect_address(mut self, var address: String) raises OpenSslError:
        """Demands a certificate for an IP address; no name is sent. Raises if
        it is none."""
        var result = self._library[].certificate.set1_ip_asc(
            self._library[].session.get0_param(self._handle),
            Int(address.as_c_string_span().ptr()),
        )
        _ = address^
        if result != 1:
            raise self._library[].take_error("set the host's address")

    def handshake(mut self, input: Span[UInt8, _]) -> SslStep:
        """Goes on with the handshake; `STEP_DONE` once it is complete."""
        self._lend(input)
        var result = self._library[].session.do_handshake(self._handle)
        var status = STEP_DONE if result == 1 else self._status(result)
        if status != STEP_FAILED:
            # Looking for issuers leaves errors behind even if one is found.
            self._library[].clear_errors()
        return SslStep(status, 0, self._take_back(len(input)))

    def read(
        mut self, input: Span[UInt8, _], room: MutSpan[UInt8, _]
    ) -> SslStep:
        """Decrypts until the room, which is not empty, is full or the input is
        used up. Tells how much there is, and why there is no more. It may be
        some even with `STEP_CLOSED` and `STEP_FAILED`."""
        self._lend(input)
        ref symbols = self._library[].session
        var base = Int(room.unsafe_ptr())
        var count = 0
        var status = STEP_DONE
        while count < len(room):
            var result = symbols.read(
                self._handle,
                base + count,
                Int32(min(len(room) - count, _CALL_LEN_MAX)),
            )
            if result <= 0:
                status = self._status(result)
                break
            count += Int(result)
            # OpenSSL takes one record at a time and hands all of it out that
            # fits, so there is nothing after the last octet of input.
            if self._input[].length == 0 and count < len(room):
                status = STEP_NEEDS_INPUT
                break
        return SslStep(status, count, self._take_back(len(input)))

    def write(mut self, octets: Span[UInt8, _]) -> SslStep:
        """Encrypts one record, and tells how much it took."""
        var result = self._library[].session.write(
            self._handle,
            Int(octets.unsafe_ptr()),
            Int32(min(len(octets), _CALL_LEN_MAX)),
        )
        if result > 0:
            return SslStep(STEP_DONE, Int(result), 0)
        return SslStep(self._status(result), 0, 0)

    def close(mut self):
        """Tells the peer that nothing follows."""
        _ = self._library[].session.shutdown(self._handle)
        self._library[].clear_errors()

    @always_inline
    def _lend(mut self, input: Span[UInt8, _]):
        self._input[].data = Int(input.unsafe_ptr())
        self._input[].length = len(input)
        self._input[].capacity = len(input)

    @always_inline
    def _take_back(mut self, length: Int) -> Int:
        """Ends the loan; tells how many of so many octets were taken."""
        var consumed = length - self._input[].length
        self._input[].data = 0
        self._input[].length = 0
        self._input[].capacity = 0
        return consumed

    def _status(self, result: Int32) -> Int:
        """Tells why a call did nothing."""
        var error = self._library[].session.get_error(self._handle, result)
        if error == _SSL_ERROR_WANT_READ:
            return STEP_NEEDS_INPUT
        if error == _SSL_ERROR_ZERO_RETURN:
            return STEP_CLOSED
        return STEP_FAILED

    @always_inline
    def held_len(self) -> Int:
        """Counts the plaintext that is decrypted and was not read yet; 0 unless
        the room of a read was full."""
        return Int(self._library[].session.pending(self._handle))

    @always_inline
    def output_len(self) -> Int:
        """Counts what waits to be sent to the peer."""
        return self._library[].memory.bio_ctrl(
            self._output, _CTRL_PENDING, 0, 0
        )

    def take_output(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Takes out what is to be sent to the peer, and tells how much;
        `output_len` is all of it."""
        ref memory = self._library[].memory
        var count = memory.bio_read(
            self._output,
            Int(room.unsafe_ptr()),
            Int32(min(len(room), _CALL_LEN_MAX)),
        )
        if Int(count) > _KEPT_OUTPUT_LEN and self.output_len() == 0:
            _ = memory.bio_ctrl(
                self._output,
                _CTRL_SET_BUF_MEM,
                _BIO_CLOSE,
                memory.buf_mem_new(),
            )
        return max(Int(count), 0)

    def take_error(mut self, operation: StaticString) -> OpenSslError:
        """Tells why the session is broken."""
        return self._library[].take_error(operation)

    def version(self) -> String:
        """Names the version that is spoken, such as "TLSv1.3"."""
        return c_text(self._library[].session.get_version(self._handle))

    def suite(self) -> String:
        """Names the cipher suite as OpenSSL does; empty before it is agreed."""
        ref symbols = self._library[].session
        var cipher = symbols.get_current_cipher(self._handle)
        return c_text(symbols.cipher_name(cipher)) if cipher != 0 else String()

    def protocol(self) -> String:
        """Names the protocol that was agreed on (RFC 7301); empty for none."""
        var place = List[Int](length=1, fill=0)
        var length = List[UInt32](length=1, fill=0)
        self._library[].session.get0_alpn_selected(
            self._handle, Int(place.unsafe_ptr()), Int(length.unsafe_ptr())
        )
        return lossy_text(c_octets(place.at(0), Int(length.at(0))))

    def server_name(self) -> String:
        """Reads the host's name that the client has sent (RFC 6066); empty for
        none."""
        return c_text(self._library[].session.get_servername(self._handle, 0))

    def is_resumed(self) -> Bool:
        """Tells whether the session went on from an earlier one."""
        return self._library[].session.session_reused(self._handle) == 1


def take_ticket(session: SslSession) -> List[UInt8]:
    """Packs what a later session can go on from in DER form, secrets included;
    empty if the server has given no ticket."""
    var library = session.library()
    ref symbols = library[].session
    var packed = List[UInt8]()
    var found = symbols.get1_session(session.handle())
    if found == 0:
        return packed^
    if symbols.session_is_resumable(found) == 1:
        var length = Int(symbols.i2d_ssl_session(found, 0))
        if length > 0:
            packed.resize(length, 0)
            var place = List[Int](length=1, fill=Int(packed.unsafe_ptr()))
            _ = symbols.i2d_ssl_session(found, Int(place.unsafe_ptr()))
            _ = place^
    symbols.session_free(found)
    return packed^


def resume(mut session: SslSession, ticket: Span[UInt8, _]) -> Bool:
    """Tries to go on from what `take_ticket` gave in a client's session before
    its handshake. False if that is none; the handshake then is a full one."""
    var library = session.library()
    ref symbols = library[].session
    var place = List[Int](length=1, fill=Int(ticket.unsafe_ptr()))
    var found = symbols.d2i_ssl_session(0, Int(place.unsafe_ptr()), len(ticket))
    _ = place^
    var result = Int32(0)
    if found != 0:
        result = symbols.set_session(session.handle(), found)
        symbols.session_free(found)
    library[].clear_errors()
    return result == 1


def verify_code(session: SslSession) -> Int:
    """Tells what is wrong with the peer's certificate: an `X509_V_ERR_` number;
    0 if nothing is, or none was sent."""
    return session.library()[].session.get_verify_result(session.handle())


def verify_text(session: SslSession) -> String:
    """Tells what is wrong with the peer's certificate in words."""
    var library = session.library()
    return c_text(
        library[].certificate.x509_verify_cert_error_string(
            verify_code(session)
        )
    )


def verified_chain(session: SslSession) -> List[CertificateFacts]:
    """Reads the chain that was built to verify the peer's certificate, which is
    first; nothing if none was verified."""
    var facts = List[CertificateFacts]()
    var library = session.library()
    ref symbols = library[].certificate
    var chain = library[].session.get0_verified_chain(session.handle())
    if chain != 0:
        for index in range(symbols.sk_num(chain)):
            facts.append(
                CertificateFacts(library[], symbols.sk_value(chain, index))
            )
    return facts^


def asks_for_certificate(session: SslSession) -> Bool:
    """Tells whether the server asked this client for a certificate."""
    var library = session.library()
    return library[].session.get0_peer_ca_list(session.handle()) != 0


def peer_certificate(session: SslSession) -> Optional[HeldCertificate]:
    """Keeps the certificate that the peer has shown, if any."""
    var library = session.library()
    var handle = library[].session.get1_peer_certificate(session.handle())
    if handle == 0:
        return None
    return HeldCertificate(library, handle)


def peer_subject(session: SslSession) -> String:
    """Reads whose certificate the peer has shown, in the form of RFC 2253;
    empty if there was none."""
    var library = session.library()
    var certificate = library[].session.get1_peer_certificate(session.handle())
    var subject = subject_of(library[], certificate)
    if certificate != 0:
        library[].certificate.x509_free(certificate)
    return subject^
