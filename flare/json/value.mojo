"""A parsed JSON text as one value."""

from flare.json.document import JsonDocument
from flare.json.error import JsonError
from flare.json.kind import JsonKind
from flare.json.limits import JsonLimits
from flare.json.parser import JsonParser
from flare.json.view import JsonElements, JsonMembers, JsonView


def parse(
    text: Span[UInt8, _], limits: JsonLimits = materialize[JsonLimits.DEFAULT]()
) raises JsonError -> JsonValue:
    """Parses a JSON text strictly.

    Source: RFC 8259. No byte order mark, no comments, no trailing commas, no
    lone surrogates. A name may be repeated within an object; look-ups find the
    last one.

    Args:
        text: The octets; UTF-8.
        limits: Depth and length allowed.

    Returns:
        The value, with a copy of what it needs of the text.

    Raises:
        JsonError: With offset, line and column of the first fault.
    """
    return JsonValue(JsonParser(text.as_imm(), limits).parse())


def parse(
    text: StringSpan, limits: JsonLimits = materialize[JsonLimits.DEFAULT]()
) raises JsonError -> JsonValue:
    """Parses a JSON text strictly; see the overload for octets.

    Args:
        text: The text.
        limits: Depth and length allowed.

    Returns:
        The value.

    Raises:
        JsonError: With offset, line and column of the first fault.
    """
    return parse(text.as_bytes(), limits)


struct JsonValue(Movable, Sized):
    """The outermost value of a text, which owns all values inside.

    Values inside are lent as `JsonView`, which reads in the same way:
    `data["a"][0].string_value()`.
    """

    var _document: JsonDocument

    def __init__(out self, var document: JsonDocument):
        """Takes a parsed document.

        Args:
            document: What a parser made.
        """
        self._document = document^

    @always_inline
    def view(ref self) -> JsonView[ImmOrigin(origin_of(self))]:
        """Lends the value in the form in which values inside are lent.

        Returns:
            A view; good for as long as this value.
        """
        # SAFETY: the view's origin is this value, which owns the document.
        return JsonView(
            Pointer(to=self._document)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmOrigin(origin_of(self))](),
            self._document.root(),
        )

    def kind(self) -> JsonKind:
        """Tells what the value is.

        Returns:
            Its kind.
        """
        return self.view().kind()

    def is_null(self) -> Bool:
        """Tells whether the value is `null`.

        Returns:
            True for `null`.
        """
        return self.view().is_null()

    def bool_value(self) raises JsonError -> Bool:
        """Reads a boolean.

        Returns:
            It.

        Raises:
            JsonError: If the value is no boolean.
        """
        return self.view().bool_value()

    def int_value(self) raises JsonError -> Int:
        """Reads an integer.

        Returns:
            It, exactly as written.

        Raises:
            JsonError: If the value is no integer that fits 64 bits.
        """
        return self.view().int_value()

    def float_value(self) raises JsonError -> Float64:
        """Reads a number.

        Returns:
            The nearest 64-bit float.

        Raises:
            JsonError: If the value is no number.
        """
        return self.view().float_value()

    def string_value(self) raises JsonError -> String:
        """Copies a string.

        Returns:
            It, unescaped.

        Raises:
            JsonError: If the value is no string.
        """
        return self.view().string_value()

    def __len__(self) -> Int:
        """Counts an array's elements or an object's members.

        Returns:
            The count; 0 for any other kind.
        """
        return len(self.view())

    def __getitem__(
        ref self, index: Int
    ) raises JsonError -> JsonView[ImmOrigin(origin_of(self))]:
        """Finds an element of an array.

        Args:
            index: From 0.

        Returns:
            The element.

        Raises:
            JsonError: If the value is no array or has no such element.
        """
        return self.view()[index]

    def __getitem__(
        ref self, name: StringSpan
    ) raises JsonError -> JsonView[ImmOrigin(origin_of(self))]:
        """Finds a member of an object.

        Args:
            name: The member's name; the last wins if it is repeated.

        Returns:
            The member's value.

        Raises:
            JsonError: If the value is no object or has no such member.
        """
        return self.view()[name]

    def get(
        ref self, name: StringSpan
    ) raises JsonError -> Optional[JsonView[ImmOrigin(origin_of(self))]]:
        """Finds a member of an object that may be absent.

        Args:
            name: The member's name.

        Returns:
            The member's value, or None.

        Raises:
            JsonError: If the value is no object.
        """
        return self.view().get(name)

    def contains(self, name: StringSpan) -> Bool:
        """Tells whether an object has a member.

        Args:
            name: The member's name.

        Returns:
            True if the value is an object and has it.
        """
        return self.view().contains(name)

    def elements(
        ref self,
    ) raises JsonError -> JsonElements[ImmOrigin(origin_of(self))]:
        """Iterates over an array.

        Returns:
            An iterator over the elements, in order.

        Raises:
            JsonError: If the value is no array.
        """
        return self.view().elements()

    def members(
        ref self,
    ) raises JsonError -> JsonMembers[ImmOrigin(origin_of(self))]:
        """Iterates over an object.

        Returns:
            An iterator over the members, in the order of the text.

        Raises:
            JsonError: If the value is no object.
        """
        return self.view().members()
