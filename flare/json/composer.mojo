"""Writing JSON text that is seldom written."""

from flare.json.error import JsonError
from flare.json.value import parse
from flare.json.writer import JsonWriter


struct JsonComposer(Movable):
    """Writes objects member by member.

    Its calls are never inlined, and none of them raises: what is wrong is told
    by `finish`. So the code that uses it is a tenth of what it would be with a
    `JsonWriter`, and slower.
    """

    var _writer: JsonWriter
    var _error: Optional[JsonError]

    def __init__(out self):
        """Begins with the outermost object."""
        self._writer = JsonWriter()
        self._error = None
        self.begin_object()

    @no_inline
    def begin_object(mut self, name: StringSpan):
        """Begins an object that is a member.

        Args:
            name: The member's name.
        """
        try:
            self._writer.key(name)
            self._writer.begin_object()
        except error:
            self._keep(error^)

    @no_inline
    def begin_object(mut self):
        """Begins an object that is an element."""
        try:
            self._writer.begin_object()
        except error:
            self._keep(error^)

    @no_inline
    def end_object(mut self):
        """Ends the innermost object."""
        try:
            self._writer.end_object()
        except error:
            self._keep(error^)

    @no_inline
    def begin_array(mut self, name: StringSpan):
        """Begins an array that is a member.

        Args:
            name: The member's name.
        """
        try:
            self._writer.key(name)
            self._writer.begin_array()
        except error:
            self._keep(error^)

    @no_inline
    def end_array(mut self):
        """Ends the innermost array."""
        try:
            self._writer.end_array()
        except error:
            self._keep(error^)

    @no_inline
    def text(mut self, name: StringSpan, value: StringSpan):
        """Writes a member.

        Args:
            name: Its name.
            value: A string.
        """
        try:
            self._writer.key(name)
            self._writer.value(value)
        except error:
            self._keep(error^)

    @no_inline
    def number(mut self, name: StringSpan, value: Int):
        """Writes a member.

        Args:
            name: Its name.
            value: An integer.
        """
        try:
            self._writer.key(name)
            self._writer.value(value)
        except error:
            self._keep(error^)

    @no_inline
    def flag(mut self, name: StringSpan, value: Bool):
        """Writes a member.

        Args:
            name: Its name.
            value: A boolean.
        """
        try:
            self._writer.key(name)
            self._writer.value(value)
        except error:
            self._keep(error^)

    @no_inline
    def json(mut self, name: StringSpan, text: StringSpan):
        """Writes a member.

        Args:
            name: Its name.
            text: Any value, as JSON text.
        """
        try:
            var value = parse(text)
            self._writer.key(name)
            self._writer.value(value.view())
        except error:
            self._keep(error^)

    def _keep(mut self, var error: JsonError):
        if not self._error:
            self._error = error^

    def finish(deinit self) raises JsonError -> String:
        """Ends the outermost object.

        Returns:
            The text.

        Raises:
            JsonError: The first thing that was wrong: a text that is not UTF-8
                or no JSON, or calls that make no object.
        """
        if self._error:
            raise self._error.take()
        self._writer.end_object()
        return self._writer^.finish()
