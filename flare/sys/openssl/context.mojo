"""OpenSSL's contexts, and what a server chooses for a client."""

from flare.bytes.checked import *
from flare.bytes.hash import sha256
from flare.sys.openssl.certificate import CertificateFacts, PemReader
from flare.sys.openssl.library import OpenSsl, OpenSslError, c_octets, c_text
from flare.sys.openssl.ssl_symbols import NameCallback, ProtocolCallback
from std.memory import ArcPointer


comptime TLS_1_2_NUMBER = 0x0303
"""TLS 1.2 on the wire (RFC 5246)."""
comptime TLS_1_3_NUMBER = 0x0304
"""TLS 1.3 on the wire (RFC 8446)."""

comptime VERIFY_NONE = 0
"""The peer's certificate is not looked at."""
comptime VERIFY_PEER = 1
"""A certificate of the peer must be good; a client may send none."""
comptime VERIFY_REQUIRED = 3
"""A client must send a certificate."""

comptime _CTRL_MODE = Int32(33)
comptime _CTRL_SESS_CACHE_MODE = Int32(44)
comptime _CTRL_SERVERNAME_CALLBACK = Int32(53)
comptime _CTRL_SERVERNAME_ARGUMENT = Int32(54)
comptime _CTRL_CHAIN_CERT = Int32(89)
comptime _CTRL_MIN_PROTO_VERSION = Int32(123)

# PARTIAL_WRITE: a write ends with its record, so that what is encrypted can
# leave record by record. MOVING_WRITE_BUFFER: a repeated write may come from
# another place. NO_AUTO_CHAIN: the chain is the one that was given, and is not
# searched for in each handshake. RELEASE_BUFFERS: idle sessions hold none.
comptime _MODES = 0x1 | 0x2 | 0x8 | 0x10

comptime _OP_NO_TICKET = UInt64(1) << 14
comptime _OP_NO_COMPRESSION = UInt64(1) << 17
# A client without AES in hardware puts ChaCha20 first, and gets it.
comptime _OP_PRIORITIZE_CHACHA = UInt64(1) << 21
comptime _OP_CIPHER_SERVER_PREFERENCE = UInt64(1) << 22
comptime _OP_NO_RENEGOTIATION = UInt64(1) << 30

comptime _CRL_CHECK_ALL = UInt64(0x4 | 0x8)

# Keys of 112 bits of strength at least: RSA from 2048, no SHA-1 signatures.
comptime _SECURITY_LEVEL = 2

# Forward secret and authenticated, the cheapest first. TLS 1.3 has no others.
comptime _SUITES_1_2 = (
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
    ":ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
    ":ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
)
comptime _SUITES_1_3 = (
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"
    ":TLS_CHACHA20_POLY1305_SHA256"
)


struct SslContext(Movable):
    """An `SSL_CTX`, released once.

    Everything is set before the first session; sessions of several threads may
    share it from then on.
    """

    var _library: ArcPointer[OpenSsl]
    var _handle: Int

    def __init__(
        out self, library: ArcPointer[OpenSsl], is_server: Bool
    ) raises OpenSslError:
        """Makes a context that speaks TLS 1.2 and newer. Raises if memory is
        short, or this OpenSSL lacks a suite."""
        self._library = library
        ref symbols = library[].context
        self._handle = symbols.new(
            symbols.server_method() if is_server else symbols.client_method()
        )
        if self._handle == 0:
            raise library[].take_error("make a TLS context")
        _ = symbols.set_options(
            self._handle,
            _OP_NO_COMPRESSION
            | _OP_NO_RENEGOTIATION
            | _OP_PRIORITIZE_CHACHA
            | (_OP_CIPHER_SERVER_PREFERENCE if is_server else 0),
        )
        _ = symbols.ctrl(self._handle, _CTRL_MODE, _MODES, 0)
        # Tickets are enough to resume; a cache would grow without bound.
        _ = symbols.ctrl(self._handle, _CTRL_SESS_CACHE_MODE, 0, 0)
        symbols.set_security_level(self._handle, _SECURITY_LEVEL)
        self.set_minimum_version(TLS_1_2_NUMBER)
        self._set_suites()

    def __deinit__(deinit self):
        """Lets the context go; OpenSSL keeps it while a session uses it."""
        self._library[].context.free(self._handle)

    def _set_suites(mut self) raises OpenSslError:
        var older = String(_SUITES_1_2)
        var newer = String(_SUITES_1_3)
        ref symbols = self._library[].context
        var results = symbols.set_cipher_list(
            self._handle, Int(older.as_c_string_span().ptr())
        ) + symbols.set_ciphersuites(
            self._handle, Int(newer.as_c_string_span().ptr())
        )
        _ = older^
        _ = newer^
        if results != 2:
            raise self._library[].take_error("choose cipher suites")

    def handle(self) -> Int:
        """Lends the `SSL_CTX` to other parts of `flare.sys`, good while this
        context lives."""
        return self._handle

    def library(self) -> ArcPointer[OpenSsl]:
        return self._library

    def set_minimum_version(mut self, number: Int):
        """Chooses the oldest version that is spoken: `TLS_1_2_NUMBER` or
        `TLS_1_3_NUMBER`."""
        _ = self._library[].context.ctrl(
            self._handle, _CTRL_MIN_PROTO_VERSION, number, 0
        )

    def set_verification(mut self, mode: Int):
        """Chooses by a `VERIFY_` constant whether the peer's certificate is
        verified."""
        self._library[].context.set_verify(self._handle, Int32(mode), 0)

    def trust_system(mut self):
        """Trusts the authorities that OpenSSL was built to find.

        Unlike OpenSSL's own call this one does not ask the environment.
        """
        ref symbols = self._library[].certificate
        ref context = self._library[].context
        _ = context.load_verify_dir(
            self._handle, symbols.x509_get_default_cert_dir()
        )
        # The folder is looked into when a certificate is verified; a machine
        # that has only the file pays for reading it now.
        _ = context.load_verify_file(
            self._handle, symbols.x509_get_default_cert_file()
        )
        self._library[].clear_errors()

    def trust_folder(mut self, var path: String) raises OpenSslError:
        """Trusts the authorities of a folder that `openssl rehash` or
        `c_rehash` has gone over, by the hashes of their names. Raises if memory
        is short."""
        var result = self._library[].context.load_verify_dir(
            self._handle, Int(path.as_c_string_span().ptr())
        )
        _ = path^
        if result != 1:
            raise self._library[].take_error("trust a folder")

    def trust(mut self, pem: Span[UInt8, _]) raises OpenSslError -> Int:
        """Trusts any number of certificates in PEM form, and counts them.
        Raises if one cannot be read."""
        return self._add_authorities(pem, names_only=False)

    def ask_for_issuers(
        mut self, pem: Span[UInt8, _]
    ) raises OpenSslError -> Int:
        """Tells clients by certificates of authorities in PEM form, which it
        counts, whose certificates are wanted. Raises if one cannot be read."""
        return self._add_authorities(pem, names_only=True)

    def _add_authorities(
        mut self, pem: Span[UInt8, _], names_only: Bool
    ) raises OpenSslError -> Int:
        ref symbols = self._library[].certificate
        ref context = self._library[].context
        var reader = PemReader(self._library, pem)
        var store = context.get_cert_store(self._handle)
        var count = 0
        while True:
            var certificate = reader.certificate()
            if certificate == 0:
                break
            if names_only:
                _ = context.add_client_ca(self._handle, certificate)
            else:
                _ = symbols.store_add_cert(store, certificate)
            symbols.x509_free(certificate)
            count += 1
        reader.check_end("read a certificate of an authority")
        return count

    def refuse_revoked(
        mut self, pem: Span[UInt8, _]
    ) raises OpenSslError -> Int:
        """Checks every certificate of a chain against revocation lists, one of
        each issuer, in PEM form, which it counts. Raises if one cannot be read.
        """
        ref symbols = self._library[].certificate
        var reader = PemReader(self._library, pem)
        var store = self._library[].context.get_cert_store(self._handle)
        var count = 0
        while True:
            var revocations = reader.revocation_list()
            if revocations == 0:
                break
            _ = symbols.store_add_crl(store, revocations)
            symbols.x509_crl_free(revocations)
            count += 1
        reader.check_end("read a revocation list")
        _ = symbols.store_set_flags(store, _CRL_CHECK_ALL)
        return count

    def use_certificate(
        mut self, pem: Span[UInt8, _]
    ) raises OpenSslError -> Int:
        """Shows peers a certificate in PEM form, then those of its issuers, and
        counts them. Raises if one cannot be read or is too weak."""
        ref symbols = self._library[].certificate
        ref context = self._library[].context
        var reader = PemReader(self._library, pem)
        var count = 0
        while True:
            var certificate = reader.certificate()
            if certificate == 0:
                break
            count += 1
            if count == 1:
                var result = context.use_certificate(self._handle, certificate)
                symbols.x509_free(certificate)
                if result != 1:
                    raise self._library[].take_error("use the certificate")
            elif (
                # The context takes the certificate over.
                context.ctrl(self._handle, _CTRL_CHAIN_CERT, 0, certificate)
                != 1
            ):
                symbols.x509_free(certificate)
                raise self._library[].take_error("use the issuer's certificate")
        reader.check_end("read a certificate")
        return count

    def use_key(mut self, pem: Span[UInt8, _]) raises OpenSslError:
        """Proves the certificate with its private key in PEM form, without a
        passphrase. Raises if it cannot be read or is another certificate's."""
        var reader = PemReader(self._library, pem)
        var key = reader.private_key()
        if key == 0:
            raise self._library[].take_error("read the private key")
        var result = self._library[].context.use_privatekey(self._handle, key)
        self._library[].certificate.evp_pkey_free(key)
        if (
            result != 1
            or self._library[].context.check_private_key(self._handle) != 1
        ):
            raise self._library[].take_error("use the private key")
        self._library[].clear_errors()

    def certificate_facts(self) -> CertificateFacts:
        """Reads the certificate that is shown to peers."""
        return CertificateFacts(
            self._library[],
            self._library[].context.get0_certificate(self._handle),
        )

    def offer_protocols(mut self, wire: Span[UInt8, _]):
        """Offers protocols, best first, each with a length octet before it, to
        servers (RFC 7301)."""
        _ = self._library[].context.set_alpn_protos(
            self._handle, Int(wire.unsafe_ptr()), UInt32(len(wire))
        )

    def choose_protocol_with(
        mut self, callback: ProtocolCallback, argument: Int
    ):
        """Lets a function choose among the protocols that a client offers; its
        argument is good while a session lives."""
        self._library[].context.set_alpn_select_cb(
            self._handle, callback, argument
        )

    def look_at_hello_with(mut self, callback: NameCallback, argument: Int):
        """Lets a function look at a hello before a session is looked up; its
        argument is good while a session lives."""
        self._library[].context.set_client_hello_cb(
            self._handle, callback, argument
        )

    def choose_name_with(mut self, callback: NameCallback, argument: Int):
        """Lets a function choose the certificate for the name in a hello; its
        argument is good while a session lives."""
        ref symbols = self._library[].context
        _ = symbols.callback_ctrl(
            self._handle, _CTRL_SERVERNAME_CALLBACK, callback
        )
        _ = symbols.ctrl(self._handle, _CTRL_SERVERNAME_ARGUMENT, 0, argument)

    def set_tickets(mut self, is_on: Bool):
        """Chooses whether clients get tickets to resume with: one a handshake.
        A second costs CPU time on every connection and serves only clients that
        open several."""
        ref symbols = self._library[].context
        _ = symbols.set_num_tickets(self._handle, 1 if is_on else 0)
        if not is_on:
            _ = symbols.set_options(self._handle, _OP_NO_TICKET)
        # Without a name of its own for sessions OpenSSL refuses to resume
        # those with a client certificate.
        var name = String("flare")
        _ = symbols.set_session_id_context(
            self._handle,
            Int(name.as_c_string_span().ptr()),
            UInt32(name.byte_length()),
        )
        _ = name^


comptime _SERVER_NAME = UInt32(0)
# The extension with the host's name (RFC 6066 section 3).

comptime _HELLO_TAKEN = Int32(1)
comptime _CHOSEN = Int32(0)
comptime _ALERT_FATAL = Int32(2)
comptime _NOT_CHOSEN = Int32(3)


struct ServerChoices(Movable):
    """The certificates of a server by name, and its protocols.

    It must stay in its place while a session lives that asks it, so it lives
    behind an `ArcPointer` that the sessions share.
    """

    var _library: ArcPointer[OpenSsl]
    var _contexts: List[SslContext]
    var _exact: Dict[String, Int]
    var _wildcard: Dict[String, Int]
    var _protocols: List[UInt8]

    def __init__(
        out self, library: ArcPointer[OpenSsl], var protocols: List[UInt8]
    ):
        """Makes choices without a certificate, with protocols, best first, each
        with a length octet before it."""
        self._library = library
        self._contexts = []
        self._exact = {}
        self._wildcard = {}
        self._protocols = protocols^

    def add(mut self, var context: SslContext):
        """Adds a certificate, for the names that are written in it. The first
        one serves all other names; of two for a name, the first serves it."""
        var index = len(self._contexts)
        var facts = context.certificate_facts()
        for name in facts.names:
            if name.startswith("*."):
                var suffix = String(name.removeprefix("*"))
                _ = self._wildcard.setdefault(suffix^, index)
            else:
                _ = self._exact.setdefault(name, index)
        self._contexts.append(context^)

    def watch(mut self):
        """Answers the questions of the contexts from now on.

        Called once, when all certificates are there and the value is where it
        will stay.
        """
        var address = Int(Pointer(to=self))
        # Of the context that sessions start with.
        self._contexts.at(0).look_at_hello_with(_look_at_hello, address)
        for index in range(len(self._contexts)):
            ref context = self._contexts.at(index)
            context.choose_name_with(_choose_name, address)
            if len(self._protocols) > 0:
                context.choose_protocol_with(_choose_protocol, address)

    def context(ref self) -> ref[self._contexts[0]] SslContext:
        """Lends the context that sessions start with: that of the first
        certificate, which must be there."""
        return self._contexts.at(0)

    def index_for(self, name: String) -> Int:
        """Finds the index of a certificate for the name that a client has sent,
        or -1. One with the very name goes before one with a wildcard, which
        stands for one label (RFC 9525 section 6.3)."""
        var lower = String(name.lower().removesuffix("."))
        var exact = self._exact.get(lower)
        if exact:
            return exact.held()
        var dot = lower.find(".")
        if dot < 1:
            return -1
        var suffix = String(
            StringSpan(unsafe_from_utf8=lower.as_bytes().after(dot))
        )
        return self._wildcard.get(suffix).or_else(-1)

    def _bind_to_name(self, session: Int):
        """Has a session go on under the name alone that it was begun with (RFC
        6066 section 3): OpenSSL would take any."""
        ref symbols = self._library[].session
        var place = List[Int](length=1, fill=0)
        var length = List[Int](length=1, fill=0)
        var found = symbols.client_hello_get0_ext(
            session,
            _SERVER_NAME,
            Int(place.unsafe_ptr()),
            Int(length.unsafe_ptr()),
        )
        if found != 1:
            return
        var address = place.at(0)
        self._set_id_context(session, sha256(c_octets(address, length.at(0))))

    @no_inline
    def _set_id_context(self, session: Int, octets: Span[UInt8, _]):
        """Takes octets by a span, which keeps them there: of an array whose address
        alone is used the compiler makes nothing."""
        _ = self._library[].session.set_session_id_context(
            session, Int(octets.unsafe_ptr()), UInt32(len(octets))
        )

    def _switch(self, session: Int) -> Int32:
        ref symbols = self._library[].session
        var index = self.index_for(c_text(symbols.get_servername(session, 0)))
        if index < 0:
            return _NOT_CHOSEN
        if index > 0:
            _ = symbols.set_ssl_ctx(session, self._contexts.at(index).handle())
        return _CHOSEN

    def _agree(self, offer: Span[UInt8, _]) -> Tuple[Int, Int]:
        """Finds the best own protocol in an offer: offset and length there."""
        var own = Span(self._protocols)
        var at = 0
        while at < len(own):
            var length = Int(own.at(at))
            var there = 0
            while there < len(offer):
                var end = there + 1 + Int(offer.at(there))
                if end > len(offer):
                    break
                if offer.between(there, end) == own.between(
                    at, at + 1 + length
                ):
                    return (there + 1, length)
                there = end
            at += 1 + length
        return (0, 0)


comptime _Choices = Pointer[ServerChoices, MutUntrackedOrigin]


def _look_at_hello(
    session: Int, alert_place: Int, argument: Int
) abi("C") -> Int32:
    _Choices(unsafe_from_address=argument)[]._bind_to_name(session)
    return _HELLO_TAKEN


def _choose_name(
    session: Int, alert_place: Int, argument: Int
) abi("C") -> Int32:
    return _Choices(unsafe_from_address=argument)[]._switch(session)


def _choose_protocol(
    session: Int,
    chosen_place: Int,
    length_place: Int,
    offer: Int,
    offer_len: UInt32,
    argument: Int,
) abi("C") -> Int32:
    var found = _Choices(unsafe_from_address=argument)[]._agree(
        c_octets(offer, Int(offer_len))
    )
    if found[1] == 0:
        return _ALERT_FATAL
    Pointer[Int, MutUntrackedOrigin](unsafe_from_address=chosen_place)[] = (
        offer + found[0]
    )
    Pointer[UInt8, MutUntrackedOrigin](
        unsafe_from_address=length_place
    )[] = UInt8(found[1])
    return _CHOSEN
