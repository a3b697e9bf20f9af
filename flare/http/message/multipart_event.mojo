"""What a form with files may have, and what is found in it."""


@fieldwise_init
struct MultipartLimits(ImplicitlyCopyable):
    """How much a form may have."""

    var part_count_max: Int
    """Most parts."""
    var field_section_len_max: Int
    """Longest field section of one part, in bytes; it bounds names too."""
    var name_len_max: Int
    """Longest name of a field, or of a file, in bytes."""
    var part_len_max: Int
    """Longest content of one part, in bytes as sent."""
    var total_len_max: Int
    """Longest body, in bytes."""

    def __init__(out self, total_len_max: Int = 10 * 1024 * 1024):
        """Sets the limits that fit most forms.

        1,000 parts are more than any form has by hand; each costs the server
        memory for its names: 8 KiB of fields at most, 1 KiB a name.

        Args:
            total_len_max: Longest body in bytes, and longest part.
        """
        self.part_count_max = 1_000
        self.field_section_len_max = 8_192
        self.name_len_max = 1_024
        self.part_len_max = total_len_max
        self.total_len_max = total_len_max


struct MultipartEvent(Equatable, ImplicitlyCopyable, Writable):
    """What a parser found next."""

    var code: UInt8
    """The case."""

    comptime NEEDS_OCTETS = MultipartEvent(0)
    """Nothing: call `receive`, or `finish` if there is no more."""
    comptime PART = MultipartEvent(1)
    """A part begins: see `part`."""
    comptime DATA = MultipartEvent(2)
    """A piece of the part's content: see `data()`."""
    comptime PART_END = MultipartEvent(3)
    """The part's content is complete."""
    comptime END = MultipartEvent(4)
    """The form is complete; what follows is ignored."""

    @always_inline
    def __init__(out self, code: UInt8):
        """Makes a case.

        Args:
            code: The case.
        """
        self.code = code

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Compares two cases.

        Args:
            other: A case.

        Returns:
            True if they are the same.
        """
        return self.code == other.code

    def write_to(self, mut writer: Some[Writer]):
        """Writes the number of the case.

        Args:
            writer: Where to.
        """
        writer.write(self.code)


struct PartHead(Copyable, Movable):
    """What the fields of a part say."""

    var name: String
    """The name of the form's field."""
    var filename: Optional[String]
    """For a file, its name with the client, without folders. Never use it as a
    path: it may be `..`, or that of a file that is there."""
    var content_type: String
    """The media type as sent; `text/plain` if there is none (RFC 7578
    section 4.4)."""

    def __init__(out self):
        """Makes the head of no part."""
        self.name = String()
        self.filename = None
        self.content_type = String("text/plain")
