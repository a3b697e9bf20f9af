"""Writing JSON text that is seldom written."""

from flare.json.error import JsonError
from flare.json.value import parse
from flare.json.writer import JsonWriter


struct JsonComposer(Movable):
    """Writes objects member by member.

    Its calls are never inlined: the code that uses it is a fifth of what it
    would be with a `JsonWriter`, and slower.
    """

    var _writer: JsonWriter

    def __init__(out self):
        """Begins with the outermost object."""
        self._writer = JsonWriter()
        try:
            self._writer.begin_object()
        except:
            # A writer that has nothing takes any value.
            return

    @no_inline
    def begin_object(mut self, name: StringSpan) raises JsonError:
        """Begins an object that is a member.

        Args:
            name: The member's name.

        Raises:
            JsonError: If no member is due here.
        """
        self._writer.key(name)
        self._writer.begin_object()

    @no_inline
    def begin_object(mut self) raises JsonError:
        """Begins an object that is an element.

        Raises:
            JsonError: If no element is due here.
        """
        self._writer.begin_object()

    @no_inline
    def end_object(mut self) raises JsonError:
        """Ends the innermost object.

        Raises:
            JsonError: If an array is the innermost.
        """
        self._writer.end_object()

    @no_inline
    def begin_array(mut self, name: StringSpan) raises JsonError:
        """Begins an array that is a member.

        Args:
            name: The member's name.

        Raises:
            JsonError: If no member is due here.
        """
        self._writer.key(name)
        self._writer.begin_array()

    @no_inline
    def end_array(mut self) raises JsonError:
        """Ends the innermost array.

        Raises:
            JsonError: If an object is the innermost.
        """
        self._writer.end_array()

    @no_inline
    def text(mut self, name: StringSpan, value: StringSpan) raises JsonError:
        """Writes a member.

        Args:
            name: Its name.
            value: A string.

        Raises:
            JsonError: If no member is due here, or a text is not UTF-8.
        """
        self._writer.key(name)
        self._writer.value(value)

    @no_inline
    def number(mut self, name: StringSpan, value: Int) raises JsonError:
        """Writes a member.

        Args:
            name: Its name.
            value: An integer.

        Raises:
            JsonError: If no member is due here.
        """
        self._writer.key(name)
        self._writer.value(value)

    @no_inline
    def flag(mut self, name: StringSpan, value: Bool) raises JsonError:
        """Writes a member.

        Args:
            name: Its name.
            value: A boolean.

        Raises:
            JsonError: If no member is due here.
        """
        self._writer.key(name)
        self._writer.value(value)

    @no_inline
    def json(mut self, name: StringSpan, text: StringSpan) raises JsonError:
        """Writes a member.

        Args:
            name: Its name.
            text: Any value, as JSON text.

        Raises:
            JsonError: If no member is due here, or the text is no JSON.
        """
        var value = parse(text)
        self._writer.key(name)
        self._writer.value(value.view())

    def finish(deinit self) raises JsonError -> String:
        """Ends the outermost object.

        Returns:
            The text.

        Raises:
            JsonError: If something is still open within.
        """
        self._writer.end_object()
        return self._writer^.finish()
