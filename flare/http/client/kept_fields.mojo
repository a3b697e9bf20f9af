"""Received fields that are kept as they came, octet for octet."""

from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.http.message.fields import FieldLine, Fields


@fieldwise_init
struct InterimResponse(Movable):
    """A response that others follow, for who passes it on (RFC 9110 section
    15.2)."""

    var status: Int
    """100 to 199."""
    var kept: KeptFields


struct KeptFields(Movable):
    """A copy of a field section, for who passes it on."""

    var _octets: List[UInt8]
    var _lines: List[FieldLine]

    def __init__(out self):
        """Makes an empty one; allocates nothing."""
        self._octets = []
        self._lines = []

    def __init__(out self, fields: Fields):
        """Copies a section, whose names and values have at most 65,535 octets
        together, as those of a parser or decoder have."""
        var count = len(fields)
        var length = 0
        for index in range(count):
            length += fields.name(index).byte_length()
            length += len(fields.value_bytes(index))
        self._octets = List[UInt8](capacity=length)
        self._lines = List[FieldLine](capacity=count)
        for index in range(count):
            var name = fields.name(index).as_bytes()
            var value = fields.value_bytes(index)
            var start = len(self._octets)
            self._octets.extend(name)
            self._octets.extend(value)
            self._lines.append(
                FieldLine(start, len(name), start + len(name), len(value))
            )

    def fields(self) -> Fields[ImmOrigin(origin_of(self))]:
        """Lends the section, until this goes."""
        # SAFETY: octets and lines belong to this, which is the origin.
        comptime o = ImmOrigin(origin_of(self))
        return Fields[o](
            unsafe_lend[o](self._octets.unsafe_ptr(), len(self._octets)),
            unsafe_lend[o](self._lines.unsafe_ptr(), len(self._lines)),
            False,
        )
