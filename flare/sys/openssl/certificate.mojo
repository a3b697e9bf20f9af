"""Certificates: what they say, and reading them from PEM."""

from flare.bytes.checked import *
from flare.sys.openssl.library import OpenSsl, OpenSslError, c_octets
from std.memory import ArcPointer


comptime _NID_SUBJECT_ALT_NAME = Int32(85)
comptime _NID_INFO_ACCESS = Int32(177)
comptime _GENERAL_NAME_DNS = Int32(2)
comptime _GENERAL_NAME_IP = Int32(7)

# `XN_FLAG_RFC2253`: the form of RFC 2253 with all but visible ASCII escaped.
comptime _NAME_FORM = UInt64(0x1110317)
# The longest common names are 64 characters; a subject has a handful of parts.
comptime _NAME_LEN_MAX = 1_024


struct CertificateFacts(Copyable, Movable):
    """The parts of a certificate that errors and servers look at."""

    var subject: String
    """Whose it is, in the form of RFC 2253: ASCII, and safe to print."""
    var issuer: String
    """Who signed it, in the same form."""
    var not_before: String
    """When it becomes valid, such as "2026-01-31 12:00:00 UTC"."""
    var not_after: String
    """When it expires, in the same form."""
    var names: List[String]
    """The DNS names it is for, in lower case; only well-formed ones."""
    var addresses: List[List[UInt8]]
    """The IP addresses it is for, 4 or 16 octets each."""
    var has_issuer_access: Bool
    """True if it says where its issuer can be asked (RFC 5280 section
    4.2.2.1), as certificates of public authorities do."""

    def __init__(out self):
        self.subject = String()
        self.issuer = String()
        self.not_before = String()
        self.not_after = String()
        self.names = []
        self.addresses = []
        self.has_issuer_access = False

    def __init__(out self, library: OpenSsl, handle: Int):
        """Reads an `X509` that is lent for this call; 0 for none."""
        self = Self()
        if handle == 0:
            return
        ref symbols = library.certificate
        self.subject = _name(library, symbols.x509_get_subject_name(handle))
        self.issuer = _name(library, symbols.x509_get_issuer_name(handle))
        self.not_before = _time(library, symbols.x509_get0_notbefore(handle))
        self.not_after = _time(library, symbols.x509_get0_notafter(handle))
        self._read_names(library, handle)
        self.has_issuer_access = (
            symbols.x509_get_ext_by_nid(handle, _NID_INFO_ACCESS, -1) >= 0
        )
        library.clear_errors()

    @no_inline
    def __deinit__(deinit self):
        return

    def _read_names(mut self, library: OpenSsl, handle: Int):
        ref symbols = library.certificate
        var names = symbols.x509_get_ext_d2i(
            handle, _NID_SUBJECT_ALT_NAME, 0, 0
        )
        if names == 0:
            return
        # On the heap: the compiler does not see a call write to a local value
        # that it knows by its address alone.
        var kind = List[Int32](length=1, fill=-1)
        for index in range(symbols.sk_num(names)):
            var value = symbols.general_name_get0_value(
                symbols.sk_value(names, index), Int(kind.unsafe_ptr())
            )
            if value == 0:
                continue
            if kind.at(0) == _GENERAL_NAME_DNS:
                self._add_name(_octets(library, value))
            elif kind.at(0) == _GENERAL_NAME_IP:
                self.addresses.append(List(_octets(library, value)))
        symbols.general_names_free(names)

    def _add_name(mut self, octets: Span[UInt8, _]):
        """Takes a name, unless it is one that no host has."""
        var lower = String(capacity_bytes=len(octets))
        for octet in octets:
            if octet <= 32 or octet >= 127:
                return
            var is_upper = octet >= 65 and octet <= 90
            lower.write(chr(Int(octet | 32 if is_upper else octet)))
        self.names.append(lower^)


comptime SHA_256_LEN = 32
"""Length of a SHA-256 digest in bytes."""


struct HeldCertificate(Movable):
    """A certificate that is kept beyond the session that has shown it."""

    var _library: ArcPointer[OpenSsl]
    var _handle: Int

    def __init__(out self, library: ArcPointer[OpenSsl], handle: Int):
        """Takes over an `X509`, to be released by this value."""
        self._library = library
        self._handle = handle

    def __deinit__(deinit self):
        self._library[].certificate.x509_free(self._handle)

    def facts(self) -> CertificateFacts:
        return CertificateFacts(self._library[], self._handle)

    def fingerprint(self) -> List[UInt8]:
        """Computes the SHA-256 digest of its octets; none if the library
        cannot."""
        ref symbols = self._library[].certificate
        var digest = List[UInt8](length=SHA_256_LEN, fill=0)
        var length = List[UInt32](length=1, fill=0)
        var result = symbols.x509_digest(
            self._handle,
            symbols.evp_sha256(),
            Int(digest.unsafe_ptr()),
            Int(length.unsafe_ptr()),
        )
        if result != 1 or length.at(0) != UInt32(SHA_256_LEN):
            digest.clear()
        return digest^


def subject_of(library: OpenSsl, handle: Int) -> String:
    """Reads whose certificate an `X509` is, lent for this call, in the form of
    RFC 2253; empty for 0."""
    if handle == 0:
        return String()
    return _name(library, library.certificate.x509_get_subject_name(handle))


def _octets(library: OpenSsl, text: Int) -> Span[UInt8, ImmUntrackedOrigin]:
    """Lends the octets of an `ASN1_STRING`."""
    ref symbols = library.certificate
    var length = Int(symbols.asn1_string_length(text))
    return c_octets(symbols.asn1_string_get0_data(text), length)


def _name(library: OpenSsl, name: Int) -> String:
    ref memory = library.memory
    var bio = memory.bio_new(memory.bio_s_mem())
    if name == 0 or bio == 0:
        return String()
    _ = library.certificate.x509_name_print_ex(bio, name, 0, _NAME_FORM)
    var room = List[UInt8](length=_NAME_LEN_MAX, fill=0)
    var count = memory.bio_read(
        bio, Int(room.unsafe_ptr()), Int32(_NAME_LEN_MAX)
    )
    _ = memory.bio_free(bio)
    room.shrink(max(Int(count), 0))
    return String(from_utf8_lossy=room)


def _time(library: OpenSsl, time: Int) -> String:
    """Writes an ASN.1 time so that people can read it."""
    if time == 0:
        return String()
    return readable_time(_octets(library, time))


def readable_time(octets: Span[UInt8, _]) -> String:
    """Writes a time as it stands in a certificate so that people can read it,
    such as "2026-01-31 12:00:00 UTC"; "an unreadable time" for what has another
    form.

    Source: RFC 5280 section 4.1.2.5: `YYMMDDHHMMSSZ` (a year of 50 or more is
    of the last century) or `YYYYMMDDHHMMSSZ`.
    """
    var digit_count = len(octets) - 1
    if digit_count != 12 and digit_count != 14:
        return "an unreadable time"
    for index in range(digit_count):
        if octets.at(index) < 48 or octets.at(index) > 57:
            return "an unreadable time"
    var text = String(capacity_bytes=23)
    if digit_count == 12:
        text.write("19" if octets.at(0) >= 53 else "20")
    else:
        text.write(StringSpan(unsafe_from_utf8=octets.before(2)))
    var rest = octets.between(digit_count - 12, digit_count)
    text.write(StringSpan(unsafe_from_utf8=rest.before(2)))
    var marks: Array[StaticString, 5] = ["-", "-", " ", ":", ":"]
    for index in range(5):
        var start = 2 + 2 * index
        text.write(marks.at(index))
        text.write(StringSpan(unsafe_from_utf8=rest.between(start, start + 2)))
    text.write(" UTC")
    return text^


comptime PEM_LIBRARY = 9
"""Errors of reading PEM text (`ERR_LIB_PEM`)."""
comptime PEM_NO_START_LINE = 108
"""There is no further block of the wanted kind."""


struct PemReader[o: ImmOrigin](Movable):
    """Takes the blocks of PEM text one by one.

    Parameters:
        o: Where the text lives.
    """

    var _library: ArcPointer[OpenSsl]
    var _text: Span[UInt8, Self.o]
    var _bio: Int

    def __init__(
        out self, library: ArcPointer[OpenSsl], text: Span[UInt8, Self.o]
    ):
        """Starts at the first block."""
        library[].clear_errors()
        self._library = library
        self._text = text
        self._bio = library[].memory.bio_new_mem_buf(
            Int(text.unsafe_ptr()), Int32(len(text))
        )

    def __deinit__(deinit self):
        _ = self._library[].memory.bio_free(self._bio)

    def certificate(mut self) -> Int:
        """Takes the next certificate: an `X509` to release, or 0: ask
        `check_end` why."""
        return self._library[].certificate.pem_read_bio_x509(self._bio, 0, 0, 0)

    def revocation_list(mut self) -> Int:
        """Takes the next revocation list: an `X509_CRL` to release, or 0: ask
        `check_end` why."""
        return self._library[].certificate.pem_read_bio_x509_crl(
            self._bio, 0, 0, 0
        )

    def private_key(mut self) -> Int:
        """Takes the next private key: an `EVP_PKEY` to release, or 0."""
        # An empty passphrase: without one OpenSSL would ask at the terminal.
        var empty = String()
        var key = self._library[].certificate.pem_read_bio_privatekey(
            self._bio, 0, 0, Int(empty.as_c_string_span().ptr())
        )
        _ = empty^
        return key

    def check_end(mut self, operation: StaticString) raises OpenSslError:
        """Raises if reading ended for another reason than that there was no
        further block."""
        var error = self._library[].take_error(operation)
        if not error.is_reason(PEM_LIBRARY, PEM_NO_START_LINE):
            raise error^
