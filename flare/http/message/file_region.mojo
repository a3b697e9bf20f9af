"""A part of an open file, as content of a message."""


@fieldwise_init
struct FileRegion(TrivialRegisterPassable):
    """Octets that lie in an open file, for a server that can send them from
    there."""

    var number: Int32
    """The file's descriptor, good while the source of the content lives."""
    var offset: Int
    """Where the octets begin, in bytes from the file's start."""
    var length: Int
    """How many they are in bytes; 0 if what comes next is in no file."""

    @staticmethod
    def none() -> Self:
        """Makes an empty region, of no file.

        Returns:
            The region.
        """
        return Self(-1, 0, 0)

    def first(self, count: Int) -> Self:
        """Makes a region of what comes first in this one.

        Args:
            count: How much, at most, in bytes.

        Returns:
            The region.
        """
        return Self(self.number, self.offset, min(self.length, count))

    def after(self, count: Int) -> Self:
        """Makes a region of what is left.

        Args:
            count: How many octets are gone; at most all.

        Returns:
            The region.
        """
        return Self(self.number, self.offset + count, self.length - count)
