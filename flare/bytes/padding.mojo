"""Room in a struct that makes the compiler pass it by its address."""


struct Padding[size: Int](Copyable, Movable):
    """Octets that nobody reads, and that are neither set nor copied.

    A struct of at most 256 octets is passed by its fields to each function that
    is not inlined, and comes back so if it may change. In a struct that is
    large and rare that is a hundred lines of IR for each call.
    """

    var _octets: Array[UInt8, Self.size]

    @always_inline
    def __init__(out self):
        self._octets = Array[UInt8, Self.size](uninitialized=True)

    @always_inline
    def __init__(out self, *, copy: Self):
        """Takes room as large."""
        self = Self()

    @always_inline
    def __init__(out self, *, deinit move: Self):
        """Takes room as large."""
        self = Self()
