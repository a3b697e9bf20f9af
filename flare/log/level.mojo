"""How much a line of a log matters."""

from flare.bytes.from_text import FromText, TextError


@fieldwise_init
struct Level(Comparable, FromText, TrivialRegisterPassable, Writable):
    """How much a line matters; a log writes those of its level and above."""

    var number: Int
    """Higher for what matters more."""

    comptime DEBUG = Level(10)
    """For who looks for a mistake."""
    comptime INFO = Level(20)
    """What happens in good order."""
    comptime WARN = Level(30)
    """What somebody should look at, in time."""
    comptime ERROR = Level(40)
    """What went wrong."""
    comptime OFF = Level(100)
    """Above all lines: nothing is written."""

    @always_inline
    def __lt__(self, other: Self) -> Bool:
        """Tells whether this one matters less.

        Args:
            other: A level.
        """
        return self.number < other.number

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Reads a level, for settings; `INFO` is one, too.

        Args:
            text: `debug`, `info`, `warn`, `error` or `off`, in any case.

        Raises:
            TextError: If it is none of them.
        """
        var word = String(text).lower()
        for level in [Self.DEBUG, Self.INFO, Self.WARN, Self.ERROR, Self.OFF]:
            if StringSpan(word) == level.name():
                return level
        raise TextError("is none of debug, info, warn, error, off")

    def name(self) -> StaticString:
        """Names the level, as `from_text` reads it."""
        if self.number < Self.INFO.number:
            return "debug"
        if self.number < Self.WARN.number:
            return "info"
        if self.number < Self.ERROR.number:
            return "warn"
        return "error" if self.number < Self.OFF.number else "off"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write_string(self.name())
