"""JSON values: views into a document, and values that own theirs."""

from flare.bytes.checked import *
from flare.json.error import JsonError, JsonErrorKind, JsonKind, JsonLimits
from flare.json.parser import JsonDocument, JsonNode, JsonParser
from std.memory import bitcast, unsafe_memcmp


struct JsonView[origin: ImmOrigin](Sized, TrivialRegisterPassable):
    """One value, borrowed from the document that holds it.

    Copying it copies 16 bytes. It cannot outlive the document.

    Parameters:
        origin: The document's.
    """

    # SAFETY: the origin keeps the document alive, and its nodes never change.
    var _document: Pointer[JsonDocument, Self.origin]
    var _index: Int

    @always_inline
    def __init__(
        out self, document: Pointer[JsonDocument, Self.origin], index: Int
    ):
        """Looks at a node.

        Args:
            document: What holds it.
            index: Which node; less than the document has.
        """
        self._document = document
        self._index = index

    @always_inline
    def node(self) -> JsonNode:
        """Reads the value's node, for code that walks a document."""
        return self._document[].nodes.unsafe_at(self._index)

    def document_len(self) -> Int:
        """Counts all values of the document, at least 1, names among them."""
        return len(self._document[].nodes)

    def path(self) -> String:
        """Tells how to reach the value from the root, such as `$["a"][0]`."""
        return self._document[].path(self._index)

    @always_inline
    def at(self, index: Int) -> Self:
        """Gives a view of another node, for code that walks a document.

        Args:
            index: A node of the same document, such as a child by `node`.
        """
        return Self(self._document, index)

    @always_inline
    def kind(self) -> JsonKind:
        """Tells what the value is."""
        return self.node().kind()

    @always_inline
    def is_null(self) -> Bool:
        """Tells whether the value is `null`."""
        return self.kind() == JsonKind.NULL

    def bool_value(self) raises JsonError -> Bool:
        """Reads a boolean.

        Raises:
            JsonError: If the value is no boolean.
        """
        return self._node_of(JsonKind.BOOL).payload != 0

    def int_value(self) raises JsonError -> Int:
        """Reads an integer, exactly as written.

        Raises:
            JsonError: If the value is no integer, or was written with a
                fraction or an exponent, or does not fit 64 bits.
        """
        return Int(bitcast[DType.int64](self._node_of(JsonKind.INT).payload))

    def float_value(self) raises JsonError -> Float64:
        """Reads a number as the nearest 64-bit float; an integer above 2^53 is
        rounded.

        Raises:
            JsonError: If the value is no number.
        """
        if self.kind() == JsonKind.INT:
            return Float64(bitcast[DType.int64](self.node().payload))
        var node = self._node_of(JsonKind.FLOAT)
        if node.is_wide():
            return Float64(node.payload)
        return bitcast[DType.float64](node.payload)

    def uint_value(self) raises JsonError -> UInt64:
        """Reads an integer that is not negative, exactly as written.

        Raises:
            JsonError: If the value is no integer, or was written with a
                fraction or an exponent, or does not fit 64 bits without a sign.
        """
        if self.node().is_wide():
            return self.node().payload
        var number = self.int_value()
        if number < 0:
            raise JsonError.at_value(
                JsonErrorKind.NUMBER_RANGE,
                self.path(),
                String("an integer from 0 to ", UInt64.MAX),
                String(number),
            )
        return UInt64(number)

    def string_value(self) raises JsonError -> String:
        """Copies a string, unescaped.

        Raises:
            JsonError: If the value is no string.
        """
        return String(self.string_span())

    def string_span(self) raises JsonError -> StringSpan[Self.origin]:
        """Lends a string, unescaped, without copying it; good for as long as
        the document.

        Raises:
            JsonError: If the value is no string.
        """
        _ = self._node_of(JsonKind.STRING)
        return self.text()

    @always_inline
    def text(self) -> StringSpan[Self.origin]:
        """Lends a string or a name, unescaped, for code that walks a document;
        of no meaning for nodes of another kind."""
        # SAFETY: the parser made the node from octets of the document's own
        # buffer, which are valid UTF-8 and live as long as `origin`.
        var node = self.node()
        var octets = Span[UInt8, Self.origin](
            unsafe_ptr=self._document[]
            .octets.unsafe_base()
            .unsafe_offset(Int(node.payload))
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[Self.origin](),
            length=node.count(),
        )
        return StringSpan(unsafe_from_utf8=octets)

    def __len__(self) -> Int:
        """Counts an array's elements or an object's members, with a repeated
        name counted each time; 0 for any other kind."""
        if self.kind() == JsonKind.ARRAY or self.kind() == JsonKind.OBJECT:
            return self.node().count()
        return 0

    def __getitem__(self, index: Int) raises JsonError -> Self:
        """Finds an element of an array, in constant time.

        Args:
            index: From 0.

        Raises:
            JsonError: If the value is no array or has no such element.
        """
        var node = self._node_of(JsonKind.ARRAY)
        if index < 0 or index >= node.count():
            raise JsonError.at_value(
                JsonErrorKind.NO_ELEMENT,
                self._document[].path(self._index),
                String("an element ", index),
                String("an array of ", node.count()),
            )
        return self.at(Int(node.payload) + index)

    def __getitem__(self, name: StringSpan) raises JsonError -> Self:
        """Finds the value of a member of an object, by looking at one after the
        other.

        Args:
            name: The member's name; the last wins if it is repeated.

        Raises:
            JsonError: If the value is no object or has no such member.
        """
        _ = self._node_of(JsonKind.OBJECT)
        var found = self.find(name)
        if found < 0:
            raise JsonError.at_value(
                JsonErrorKind.NO_MEMBER,
                self._document[].path(self._index),
                String('a member "', name, '"'),
                String("an object of ", self.node().count(), " without it"),
            )
        return self.at(found)

    def get(self, name: StringSpan) raises JsonError -> Optional[Self]:
        """Finds the value of a member of an object; None if it is absent.

        Raises:
            JsonError: If the value is no object.
        """
        _ = self._node_of(JsonKind.OBJECT)
        var found = self.find(name)
        if found < 0:
            return None
        return self.at(found)

    def contains(self, name: StringSpan) -> Bool:
        """Tells whether the value is an object and has a member."""
        return self.kind() == JsonKind.OBJECT and self.find(name) >= 0

    def child(self, index: Int) -> Self:
        """Gives a view of a node within, for code that walks a document.

        Args:
            index: Which element; of an object 2 * n for a name and 2 * n + 1
                for its value.
        """
        return self.at(Int(self.node().payload) + index)

    def find(self, name: StringSpan) -> Int:
        """Finds the node of a member's value, for code that knows that this is
        an object; -1 if there is none."""
        # SAFETY: the nodes of names hold offsets into the document's buffer;
        # the lengths are equal before octets are compared.
        var node = self.node()
        var wanted = JsonNode(JsonKind.STRING, name.byte_length(), 0).header
        var base = self._document[].octets.unsafe_base()
        var first = Int(node.payload)
        for member in range(node.count() - 1, -1, -1):
            var index = first + 2 * member
            var candidate = self._document[].nodes.unsafe_at(index)
            if candidate.header == wanted and (
                unsafe_memcmp(
                    base.unsafe_offset(Int(candidate.payload)),
                    name.unsafe_ptr(),
                    name.byte_length(),
                )
                == 0
            ):
                return index + 1
        return -1

    def elements(self) raises JsonError -> JsonElements[Self.origin]:
        """Gives an iterator over the elements of an array, in order.

        Raises:
            JsonError: If the value is no array.
        """
        var node = self._node_of(JsonKind.ARRAY)
        var first = Int(node.payload)
        return {self.at(first), first + node.count()}

    def members(self) raises JsonError -> JsonMembers[Self.origin]:
        """Gives an iterator over the members of an object, in the order of the
        text; a repeated name comes each time.

        Raises:
            JsonError: If the value is no object.
        """
        var node = self._node_of(JsonKind.OBJECT)
        var first = Int(node.payload)
        return {self.at(first), first + 2 * node.count()}

    @always_inline
    def _node_of(self, kind: JsonKind) raises JsonError -> JsonNode:
        var node = self.node()
        if node.kind() != kind:
            raise JsonError.at_value(
                JsonErrorKind.WRONG_KIND,
                self._document[].path(self._index),
                String(kind.name()),
                String(node.kind().name()),
            )
        return node


@fieldwise_init
struct JsonElements[origin: ImmOrigin](Copyable, Iterator):
    """Iterates over the elements of an array.

    Parameters:
        origin: The document's.
    """

    comptime Element = JsonView[Self.origin]
    """What comes each time."""

    var _next: JsonView[Self.origin]
    var _end: Int

    def __iter__(self) -> Self:
        """Gives a copy, which starts from here."""
        return self.copy()

    def __next__(mut self) raises StopIteration -> Self.Element:
        """Gives the next element.

        Raises:
            StopIteration: After the last one.
        """
        if self._next._index >= self._end:
            raise StopIteration()
        var element = self._next
        self._next._index += 1
        return element


@fieldwise_init
struct JsonMember[origin: ImmOrigin](TrivialRegisterPassable):
    """A name and its value.

    Parameters:
        origin: The document's.
    """

    var name: StringSpan[Self.origin]
    """The name, unescaped."""
    var value: JsonView[Self.origin]
    """The value."""


@fieldwise_init
struct JsonMembers[origin: ImmOrigin](Copyable, Iterator):
    """Iterates over the members of an object.

    Parameters:
        origin: The document's.
    """

    comptime Element = JsonMember[Self.origin]
    """What comes each time."""

    var _next: JsonView[Self.origin]
    var _end: Int

    def __iter__(self) -> Self:
        """Gives a copy, which starts from here."""
        return self.copy()

    def __next__(mut self) raises StopIteration -> Self.Element:
        """Gives the next member.

        Raises:
            StopIteration: After the last one.
        """
        if self._next._index >= self._end:
            raise StopIteration()
        var name = self._next.text()
        var value = self._next.at(self._next._index + 1)
        self._next._index += 2
        return {name, value}


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

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def view(ref self) -> JsonView[ImmOrigin(origin_of(self))]:
        """Lends the value, for as long as it lives, in the form in which values
        inside are lent."""
        # SAFETY: the view's origin is this value, which owns the document.
        return JsonView(
            Pointer(to=self._document)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmOrigin(origin_of(self))](),
            self._document.root(),
        )

    def kind(self) -> JsonKind:
        """Tells what the value is."""
        return self.view().kind()

    def is_null(self) -> Bool:
        """Tells whether the value is `null`."""
        return self.view().is_null()

    def bool_value(self) raises JsonError -> Bool:
        """Reads a boolean; the rest is as for `JsonView.bool_value`."""
        return self.view().bool_value()

    def int_value(self) raises JsonError -> Int:
        """Reads an integer; the rest is as for `JsonView.int_value`."""
        return self.view().int_value()

    def uint_value(self) raises JsonError -> UInt64:
        """Reads an integer that is not negative; the rest is as for
        `JsonView.uint_value`."""
        return self.view().uint_value()

    def float_value(self) raises JsonError -> Float64:
        """Reads a number; the rest is as for `JsonView.float_value`."""
        return self.view().float_value()

    def string_value(self) raises JsonError -> String:
        """Copies a string, unescaped; the rest is as for
        `JsonView.string_value`."""
        return self.view().string_value()

    def __len__(self) -> Int:
        """Counts an array's elements or an object's members, as a `JsonView`
        does."""
        return len(self.view())

    def __getitem__(
        ref self, index: Int
    ) raises JsonError -> JsonView[ImmOrigin(origin_of(self))]:
        """Finds an element of an array; the rest is as for
        `JsonView.__getitem__`."""
        return self.view()[index]

    def __getitem__(
        ref self, name: StringSpan
    ) raises JsonError -> JsonView[ImmOrigin(origin_of(self))]:
        """Finds the value of a member of an object.

        Args:
            name: The member's name; the last wins if it is repeated.

        Raises:
            JsonError: If the value is no object or has no such member.
        """
        return self.view()[name]

    def get(
        ref self, name: StringSpan
    ) raises JsonError -> Optional[JsonView[ImmOrigin(origin_of(self))]]:
        """Finds the value of a member of an object; the rest is as for
        `JsonView.get`."""
        return self.view().get(name)

    def contains(self, name: StringSpan) -> Bool:
        """Tells whether the value is an object and has a member."""
        return self.view().contains(name)

    def elements(
        ref self,
    ) raises JsonError -> JsonElements[ImmOrigin(origin_of(self))]:
        """Gives an iterator over the elements of an array; the rest is as for
        `JsonView.elements`."""
        return self.view().elements()

    def members(
        ref self,
    ) raises JsonError -> JsonMembers[ImmOrigin(origin_of(self))]:
        """Gives an iterator over the members of an object; the rest is as for
        `JsonView.members`."""
        return self.view().members()
