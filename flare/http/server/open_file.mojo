"""A file that can be sent, in each of its codings."""

from flare.compress.content_coding import ContentCoding
from flare.sys.errno import OsError
from flare.sys.file import File
from std.memory import ArcPointer


struct OpenFile(Movable):
    """A file, and its coded neighbours, all open.

    What reads one of them holds a share of it, so it stays open to the end of
    the last response.
    """

    var plain: ArcPointer[File]
    """The file as it is."""
    var brotli: Optional[ArcPointer[File]]
    """Its neighbour `NAME.br`, if there is one."""
    var gzip: Optional[ArcPointer[File]]
    """Its neighbour `NAME.gz`, if there is one."""

    def __init__(out self, var plain: File):
        """Makes one without neighbours.

        Args:
            plain: The file as it is.
        """
        self.plain = ArcPointer(plain^)
        self.brotli = None
        self.gzip = None

    def codings(self) -> List[ContentCoding]:
        """Lists the codings that there are neighbours of.

        Returns:
            The codings, the shortest content first.
        """
        var codings = List[ContentCoding]()
        if self.brotli:
            codings.append(ContentCoding.BR)
        if self.gzip:
            codings.append(ContentCoding.GZIP)
        return codings^

    def in_coding(self, coding: ContentCoding) -> ArcPointer[File]:
        """Chooses one of the files.

        Args:
            coding: One of `codings`, or `ContentCoding.IDENTITY`.

        Returns:
            A share of it; of the file as it is if there is none of the coding.
        """
        if coding == ContentCoding.BR:
            return self.brotli.or_else(self.plain)
        if coding == ContentCoding.GZIP:
            return self.gzip.or_else(self.plain)
        return self.plain

    def has_its_neighbours(self) raises OsError -> Bool:
        """Tells whether no neighbour was removed or replaced since.

        Returns:
            False if one has no name any more.

        Raises:
            OsError: If the system does not say.
        """
        if self.brotli and not self.brotli.value()[].status().is_linked:
            return False
        return not self.gzip or self.gzip.value()[].status().is_linked
