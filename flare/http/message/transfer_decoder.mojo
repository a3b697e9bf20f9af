"""Content-Transfer-Encoding, which mail had and old forms still have."""

from flare.bytes.ascii import equals_ignore_case, hex_digit_value
from flare.bytes.base64 import base64_digit_value
from flare.bytes.buffer import Buffer


struct TransferDecoder(Copyable, Movable):
    """Undoes a transfer encoding of RFC 2045, piece by piece.

    RFC 7578 section 4.7 deprecates them; some clients use them nevertheless.
    """

    var _kind: UInt8
    # Base64: the digits of a group so far, and how many there are; padding
    # counts too. Quoted-printable: what stands behind a `=`.
    var _group: UInt32
    var _count: Int
    var _is_padded: Bool
    # Quoted-printable: spaces that count only if their line goes on.
    var _spaces: List[UInt8]

    comptime _IDENTITY: UInt8 = 0
    comptime _BASE64: UInt8 = 1
    comptime _QUOTED_PRINTABLE: UInt8 = 2

    def __init__(out self):
        """Makes a decoder that leaves octets as they are."""
        self._kind = Self._IDENTITY
        self._group = 0
        self._count = 0
        self._is_padded = False
        self._spaces = List[UInt8]()

    @staticmethod
    def named(name: Span[UInt8, _]) -> Optional[Self]:
        """Makes a decoder for an encoding.

        Args:
            name: What Content-Transfer-Encoding says (RFC 2045 section 6.1).

        Returns:
            The decoder, or nothing for an unknown encoding.
        """
        var decoder = Self()
        if equals_ignore_case(name, "base64".as_bytes()):
            decoder._kind = Self._BASE64
        elif equals_ignore_case(name, "quoted-printable".as_bytes()):
            decoder._kind = Self._QUOTED_PRINTABLE
        elif not (
            equals_ignore_case(name, "7bit".as_bytes())
            or equals_ignore_case(name, "8bit".as_bytes())
            or equals_ignore_case(name, "binary".as_bytes())
        ):
            return None
        return decoder^

    def is_identity(self) -> Bool:
        """Tells whether octets stay as they are.

        Returns:
            True if there is nothing to decode.
        """
        return self._kind == Self._IDENTITY

    def decode(mut self, octets: Span[UInt8, _], mut output: Buffer) -> Bool:
        """Decodes a piece.

        Args:
            octets: Any number of octets.
            output: Where to.

        Returns:
            False if they cannot be decoded.
        """
        for octet in octets:
            var is_right: Bool
            if self._kind == Self._BASE64:
                is_right = self._take_digit(octet, output)
            elif self._kind == Self._QUOTED_PRINTABLE:
                is_right = self._take_printable(octet, output)
            else:
                output.append_octet(octet)
                continue
            if not is_right:
                return False
        return True

    def is_complete(self) -> Bool:
        """Tells whether the octets may end here.

        Returns:
            False within a group of base64 or behind a `=`.
        """
        return self._count == 0

    def _take_digit(mut self, octet: UInt8, mut output: Buffer) -> Bool:
        """RFC 2045 section 6.8; whitespace between digits is skipped."""
        if octet == 32 or octet == 9 or octet == 13 or octet == 10:
            return True
        if octet == 61:
            if self._count < 2:
                return False
            self._is_padded = True
            self._group <<= 6
        else:
            var digit = base64_digit_value(octet)
            if digit < 0 or self._is_padded:
                return False
            self._group = self._group << 6 | UInt32(digit)
        self._count += 1
        # How many octets a group has shows when its last digit is there, so
        # the octets are written as soon as they are known.
        if not self._is_padded and self._count >= 2:
            var shift = UInt32(2 * (4 - self._count))
            output.append_octet(UInt8((self._group >> shift) & 0xFF))
        if self._count == 4:
            self._count = 0
            self._group = 0
        return True

    def _take_printable(mut self, octet: UInt8, mut output: Buffer) -> Bool:
        """RFC 2045 section 6.7; spaces at a line's end are dropped."""
        if self._count == 0:
            if octet == 61:
                self._flush_spaces(output)
                self._count = 1
            elif octet == 32 or octet == 9:
                # A run of spaces is no longer than a line may be.
                if len(self._spaces) >= 998:
                    return False
                self._spaces.append(octet)
            else:
                if octet == 13 or octet == 10:
                    self._spaces.clear()
                self._flush_spaces(output)
                output.append_octet(octet)
            return True
        if self._count == 1:
            # A soft line break is `=`, perhaps spaces, and a line end.
            if octet == 32 or octet == 9:
                return True
            if octet == 13:
                self._count = 3
                return True
            if octet == 10:
                self._count = 0
                return True
        if self._count == 3:
            self._count = 0
            return octet == 10
        var digit = hex_digit_value(octet)
        if digit < 0:
            return False
        if self._count == 1:
            self._group = UInt32(digit)
            self._count = 2
            return True
        output.append_octet(UInt8(self._group << 4 | UInt32(digit)))
        self._count = 0
        return True

    def _flush_spaces(mut self, mut output: Buffer):
        output.append(Span(self._spaces))
        self._spaces.clear()
