"""The protocol version of a message."""


struct Version(Comparable, ImplicitlyCopyable, Writable):
    """A version of HTTP (RFC 9110 section 2.5)."""

    var major: UInt8
    """The number before the dot: the message syntax."""
    var minor: UInt8
    """The number behind the dot: the features of the sender."""

    comptime HTTP_1_0 = Version(1, 0)
    """HTTP/1.0 (RFC 1945)."""
    comptime HTTP_1_1 = Version(1, 1)
    """HTTP/1.1 (RFC 9112)."""

    @always_inline
    def __init__(out self, major: UInt8, minor: UInt8):
        """Makes a version from its numbers.

        Args:
            major: The number before the dot.
            minor: The number behind the dot.
        """
        self.major = major
        self.minor = minor

    def __eq__(self, other: Self) -> Bool:
        """Compares two versions.

        Args:
            other: A version.

        Returns:
            True if both numbers are equal.
        """
        return self.major == other.major and self.minor == other.minor

    def __lt__(self, other: Self) -> Bool:
        """Orders two versions.

        Args:
            other: A version.

        Returns:
            True if this version is older.
        """
        return self.major < other.major or (
            self.major == other.major and self.minor < other.minor
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the version as it stands on the wire.

        Args:
            writer: Where to.
        """
        writer.write("HTTP/", self.major, ".", self.minor)
