"""Several errors of one JSON text."""

from flare.json.error import JsonError


struct JsonErrors(Movable):
    """What does not fit in a JSON text, up to a number."""

    var list: List[JsonError]
    """The errors, in the order in which they were found."""
    var _count_max: Int

    def __init__(out self, count_max: Int):
        """Starts without errors.

        Args:
            count_max: How many are kept; at least 1.
        """
        self.list = []
        self._count_max = count_max

    @no_inline
    def add(mut self, var error: JsonError):
        """Takes an error, unless there are enough.

        Args:
            error: The error.
        """
        if not self.is_full():
            self.list.append(error^)

    def count(self) -> Int:
        """Counts the errors.

        Returns:
            How many there are.
        """
        return len(self.list)

    def is_full(self) -> Bool:
        """Tells whether more need not be looked for.

        Returns:
            True if there are enough.
        """
        return len(self.list) >= self._count_max

    def first(mut self) -> JsonError:
        """Takes the first error out.

        Returns:
            It; there must be one.
        """
        return self.list.pop(0)
