"""Reading certificates, keys and revocation lists from text."""

from flare.sys.openssl import OpenSsl, OpenSslError
from std.memory import ArcPointer

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
        """Starts at the first block.

        Args:
            library: OpenSSL.
            text: The text.
        """
        library[].clear_errors()
        self._library = library
        self._text = text
        self._bio = library[].memory.bio_new_mem_buf(
            Int(text.unsafe_ptr()), Int32(len(text))
        )

    def __deinit__(deinit self):
        """Lets the text go."""
        _ = self._library[].memory.bio_free(self._bio)

    def certificate(mut self) -> Int:
        """Takes the next certificate.

        Returns:
            An `X509` to release, or 0: ask `check_end` why.
        """
        return self._library[].certificate.pem_read_bio_x509(self._bio, 0, 0, 0)

    def revocation_list(mut self) -> Int:
        """Takes the next revocation list.

        Returns:
            An `X509_CRL` to release, or 0: ask `check_end` why.
        """
        return self._library[].certificate.pem_read_bio_x509_crl(
            self._bio, 0, 0, 0
        )

    def private_key(mut self) -> Int:
        """Takes the next private key.

        Returns:
            An `EVP_PKEY` to release, or 0.
        """
        # An empty passphrase: without one OpenSSL would ask at the terminal.
        var empty = String()
        var key = self._library[].certificate.pem_read_bio_privatekey(
            self._bio, 0, 0, Int(empty.as_c_string_span().ptr())
        )
        _ = empty^
        return key

    def check_end(mut self, operation: StaticString) raises OpenSslError:
        """Tells whether reading ended because there was no further block.

        Args:
            operation: What was tried.

        Raises:
            OpenSslError: If it ended for another reason.
        """
        var error = self._library[].take_error(operation)
        if not error.is_reason(PEM_LIBRARY, PEM_NO_START_LINE):
            raise error^
