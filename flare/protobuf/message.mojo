"""What a message is: a struct, a table of its fields, and what reads the table.

Generated code has the struct and the rows. All that reads and writes messages
is the same code for all of them: it has a message's address, and for each field
its offset and how it is kept. What it cannot know, a message or a dictionary
within, it reaches by the functions of a `Link`.
"""

# SAFETY: a place is the address of a message, or of a field within one, that
# lives as long as the call it is given to. Table and place are always made of
# one type, in `table_of` and by the functions of a `Link`; so a field is read as
# the type that `field_form` has seen there.

from flare.bytes.ascii import printable
from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.protobuf.boxed import Boxed
from flare.protobuf.error import ProtobufError, ProtobufErrorKind
from flare.protobuf.kind import FieldKind, Keeping, Form, row_form
from flare.sys.random import KeyedHasher
from std.builtin.globals import global_constant
from std.hash import Hasher
from std.memory import Allocation, Layout, alloc, dealloc
from std.reflection import reflect
from std.sys import size_of

comptime Place = OpaquePointer[MutUntrackedOrigin]
"""Where a value is whose type shared code does not know."""

comptime ProtobufMap[
    K: Copyable & Hashable & Equatable & Deinitable, V: Copyable & Deinitable
] = Dict[K, V, KeyedHasher]
"""A map field. Its keys are the peer's choice, so they are hashed with a key.

Parameters:
    K: What `key_type` of the map is in Mojo.
    V: Likewise its value type.
"""


struct FieldRow(ImplicitlyCopyable, Movable):
    """One field, as its `.proto` has it."""

    var number: Int
    """The field's number."""
    var kind: FieldKind
    """The type on the wire; of a map that of its values."""
    var name: StaticString
    """The name in the `.proto`."""
    var json: StaticString
    """The name in JSON."""
    var oneof: Int
    """Which oneof it belongs to, counted from 1; 0 if none."""
    var key: FieldKind
    """Of a map the type of its keys; else NONE."""
    var is_required: Bool
    """Whether a message without it is refused; proto2 alone has such."""
    var is_expanded: Bool
    """Whether a list of numbers is written one by one, and not packed."""

    def __init__(
        out self,
        number: Int,
        kind: FieldKind,
        name: StaticString,
        json: StaticString = "",
        *,
        oneof: Int = 0,
        key: FieldKind = FieldKind.NONE,
        required: Bool = False,
        expanded: Bool = False,
    ):
        """Makes a row.

        Args:
            json: The name in JSON; `name` if empty.
            required: Whether a message without it is refused.
            expanded: Whether a list of numbers is written one by one.
        """
        self.number = number
        self.kind = kind
        self.name = name
        self.json = json if json.byte_length() > 0 else name
        self.oneof = oneof
        self.key = key
        self.is_required = required
        self.is_expanded = expanded


trait Message(Copyable, Defaultable, Deinitable, Movable):
    """A message of Protocol Buffers; `flare proto` makes such structs.

    Its first fields are those of `FIELDS`, in that order, which is the order of
    their numbers. A field is kept by how often it may be there:

    - a plain value, which is not written if it is its type's default: `Int32`,
      `Int64`, `UInt32`, `UInt64`, `Float32`, `Float64`, `Bool`, `String`,
      `List[UInt8]` for octets, an `Enumeration`;
    - `Optional` of such or of a message, where it matters whether it is there;
      `Boxed` for messages that can hold themselves;
    - `List` of such or of messages; `ProtobufMap` for maps.

    After them is a `List[UInt8]` for the fields that the table does not have:
    they are kept as they were read, with their tags, and written after all
    others.
    """

    comptime NAME: StaticString
    """The full name, such as `tutorial.Person`."""
    comptime FIELD_COUNT: Int
    """How many fields there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT]
    """The fields, in the order of their numbers."""
    comptime JSON: JsonForm = JsonForm.OBJECT
    """The form in JSON; only well-known types have one of their own."""


@fieldwise_init
struct EnumRow(TrivialRegisterPassable):
    """One name of an enumeration."""

    var number: Int32
    """Its number."""
    var name: StaticString
    """Its name in the `.proto`."""


trait Enumeration(Defaultable, Equatable, TrivialRegisterPassable):
    """An enumeration of Protocol Buffers: a struct with the number alone.

    All are open: a number without a name is kept.
    """

    comptime NAME: StaticString
    """The full name, such as `tutorial.Person.PhoneType`."""
    comptime VALUE_COUNT: Int
    """How many names there are."""
    comptime VALUES: Array[EnumRow, Self.VALUE_COUNT]
    """The names; of several for one number the first is written in JSON."""


@fieldwise_init
struct JsonForm(Equatable, TrivialRegisterPassable):
    """How a message looks in JSON."""

    var code: UInt8
    """A small number, distinct for each form."""

    comptime OBJECT = JsonForm(0)
    """An object with a member for each field."""
    comptime WRAPPER = JsonForm(1)
    """The value of its only field: `google.protobuf.Int32Value` and others."""
    comptime TIMESTAMP = JsonForm(2)
    """A time of RFC 3339."""
    comptime DURATION = JsonForm(3)
    """Seconds, such as `"1.5s"`."""
    comptime FIELD_MASK = JsonForm(4)
    """Paths with commas between them."""
    comptime STRUCT = JsonForm(5)
    """Any object."""
    comptime VALUE = JsonForm(6)
    """Any value."""
    comptime LIST_VALUE = JsonForm(7)
    """Any array."""
    comptime ANY = JsonForm(8)
    """An object with `@type` and what the message of that type has."""


@fieldwise_init
struct Field(ImplicitlyCopyable, Movable):
    """A row, and how the struct keeps the field."""

    var row: FieldRow
    var form: Form
    """What a single value is in memory."""
    var keeping: Keeping
    """How often it may be there, and so what is around the value."""
    var offset: Int
    """Where in the struct, in bytes."""
    var tag: UInt64
    """The octets of the tag, the first one lowest."""
    var tag_len: Int


@fieldwise_init
struct EnumTable(TrivialRegisterPassable):
    """The names of an enumeration."""

    var name: StaticString
    var rows: Span[EnumRow, ImmUntrackedOrigin]


comptime VisitEntry = def(Place, Place, Place) thin raises ProtobufError -> None
"""Called with what `Link.each` was given, a key, and a value."""

comptime FillEntry = def(Place, Place, Place) thin raises ProtobufError -> Bool
"""Likewise, to fill both; False leaves the entry out."""


@fieldwise_init
struct Link(ImplicitlyCopyable, Movable):
    """What shared code calls for a field with messages, names or keys in it."""

    var table: def() thin -> MessageTable
    """Of the message within."""
    var names: def() thin -> EnumTable
    """Of the enumeration within."""
    var hold: def(Place) thin -> Place
    """Gives the message of a field, made if there is none; a new one of a list.
    """
    var count: def(Place) thin -> Int
    """How many messages a field holds, or how many entries."""
    var item: def(Place, Int) thin -> Place
    """Lends one of them."""
    var clear: def(Place) thin -> None
    """Empties the field."""
    var fill: def(Place, Place, FillEntry) thin raises ProtobufError -> None
    """Adds an entry that the function fills."""
    var each: def(Place, Place, VisitEntry) thin raises ProtobufError -> None
    """Calls the function for each entry."""

    @staticmethod
    def none() -> Self:
        """Makes one for fields that need none."""
        return Self(
            _no_table,
            _no_names,
            _no_hold,
            _no_count,
            _no_item,
            _no_clear,
            _no_fill,
            _no_each,
        )


@fieldwise_init
struct MessageTable(ImplicitlyCopyable, Movable):
    """A type of messages, for code that knows it by its table alone."""

    var name: StaticString
    var fields: Span[Field, ImmUntrackedOrigin]
    """In the order of their numbers."""
    var json: JsonForm
    var has_required: Bool
    var link: def(Int) thin -> Link
    """Of a field, by its index."""
    var unknown_offset: Int
    """Where in the struct the fields are that it does not know."""
    var make: def() thin -> Place
    """Makes a message on the heap."""
    var drop: def(Place) thin -> None
    """Ends such a message."""

    @always_inline
    def find(self, number: Int, guess: Int) -> Int:
        """Finds the index of a field, of which one is guessed and looked at
        first; -1 if there is none."""
        if guess < len(self.fields) and (
            self.fields.unsafe_at(guess).row.number == number
        ):
            return guess
        return self._search(number)

    @no_inline
    def _search(self, number: Int) -> Int:
        var low = 0
        var high = len(self.fields)
        while low < high:
            var middle = (low + high) // 2
            var there = self.fields.unsafe_at(middle).row.number
            if there == number:
                return middle
            if there < number:
                low = middle + 1
            else:
                high = middle
        return -1

    def find_name(self, name: StringSpan) -> Int:
        """Finds a field by its name in JSON or in the `.proto`. Gives its
        index; -1 if there is none."""
        for index in range(len(self.fields)):
            ref row = self.fields.unsafe_at(index).row
            if row.json == name or row.name == name:
                return index
        return -1


@no_inline
def refused(
    kind: ProtobufErrorKind,
    offset: Int,
    table: MessageTable,
    index: Int,
    expected: StaticString,
    found: StringSpan = "",
) -> ProtobufError:
    """Makes the error of a field of a message, or with the index -1 of the message
    itself; of what was found it has what is `printable`."""
    var error = ProtobufError(kind, offset, expected, printable(found))
    name_field(error, table, index)
    return error^


@no_inline
def too_deep(table: MessageTable, index: Int = -1) -> ProtobufError:
    """Makes the error of a message, or of one in a field, that has too many others
    around it to be written."""
    return refused(
        ProtobufErrorKind.TOO_DEEP,
        -1,
        table,
        index,
        "no deeper messages than 100",
    )


@no_inline
def name_field(mut error: ProtobufError, table: MessageTable, index: Int):
    """Says which field an error means, or with the index -1 which message; what
    was said first stays."""
    if index < 0:
        error.name_field(table.name, "", 0)
    else:
        ref row = table.fields.unsafe_at(index).row
        error.name_field(table.name, row.name, row.number)


def table_of[M: Message]() -> MessageTable:
    """Makes the table of a type; the fields are constants of the program."""
    comptime FIELDS = _fields_of[M]()
    comptime HAS_REQUIRED = _has_required[M]()
    ref fields = global_constant[FIELDS]()
    # SAFETY: constants of the program outlive all.
    return MessageTable(
        M.NAME,
        unsafe_lend[ImmUntrackedOrigin](fields.unsafe_ptr(), M.FIELD_COUNT),
        M.JSON,
        HAS_REQUIRED,
        _link_of[M],
        reflect[M].field_offset[index=M.FIELD_COUNT](),
        _make[M],
        _drop[M],
    )


def place_of[T: AnyType](ref value: T) -> Place:
    """Forgets the type of a value, which must outlive all uses of the place.
    Gives where it is. Nothing is written there if the value is borrowed."""
    # SAFETY: said above; code that reads never writes.
    return (
        Pointer(to=value)
        .unsafe_mut_cast[True]()
        .unsafe_bitcast[NoneType]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def swap_octets[M: Message](mut message: M, mut room: List[UInt8]):
    """Gives a message that is to be read memory for the first of its plain fields
    of octets, or takes that out with what was read: messages that come one after
    the other then need no memory of their own. Does nothing if there is no such
    field."""
    comptime OFFSET = _octets_offset[M]()
    comptime if OFFSET >= 0:
        room.clear()
        # SAFETY: the offset is that of such a field.
        swap(
            within(place_of(message), OFFSET).unsafe_bitcast[List[UInt8]]()[],
            room,
        )


def _octets_offset[M: Message]() -> Int:
    """Finds the first plain field of octets; -1 if there is none."""
    comptime for index in range(M.FIELD_COUNT):
        comptime if reflect[M].field_types()[index] == List[UInt8]:
            return reflect[M].field_offset[index=index]()
    return -1


@always_inline
def within(message: Place, offset: Int) -> Place:
    # SAFETY: the offset is one of the struct that is there.
    return (
        message.unsafe_bitcast[UInt8]()
        .unsafe_offset(offset)
        .unsafe_bitcast[NoneType]()
    )


def single(kind: FieldKind) -> Field:
    """Describes a value that stands alone: a map's key, or one of its values."""
    return Field(FieldRow(0, kind, ""), row_form(kind), Keeping.PLAIN, 0, 0, 0)


# The compiler runs what follows. It takes the rows as one value: each index into
# a constant is evaluated with all of it, which was 4 GB for 80 fields.


def _has_required[M: Message]() -> Bool:
    var rows = materialize[M.FIELDS]()
    for index in range(M.FIELD_COUNT):
        if rows[index].is_required:
            return True
    return False


def _unsuited[M: Message]() -> Int:
    """Finds the first row that does not suit its field; -1 if there is none."""
    var rows = materialize[M.FIELDS]()
    comptime for index in range(M.FIELD_COUNT):
        comptime F = reflect[M].field_types()[index]
        if not _suits[F](rows[index].kind, rows[index].key):
            return index
    return -1


def _misplaced[M: Message]() -> Int:
    """Finds the first row whose number is not above that of the row before."""
    var rows = materialize[M.FIELDS]()
    for index in range(1, M.FIELD_COUNT):
        if rows[index - 1].number >= rows[index].number:
            return index
    return -1


def _named[M: Message](index: Int) -> String:
    """Names a field for who has written it, if there is one."""
    if index < 0:
        return M.NAME
    var rows = materialize[M.FIELDS]()
    return String(M.NAME, ".", rows[index].name)


def _fields_of[M: Message]() -> Array[Field, M.FIELD_COUNT]:
    """Puts rows and struct together."""
    comptime NONE = Field(
        FieldRow(0, FieldKind.NONE, ""), Form.WORD, Keeping.PLAIN, 0, 0, 0
    )
    comptime assert (
        reflect[M].field_types()[M.FIELD_COUNT] == List[UInt8]
    ), "behind the fields is a List[UInt8] for those that are not known"
    var fields = Array[Field, M.FIELD_COUNT](fill=materialize[NONE]())
    comptime UNSUITED = _unsuited[M]()
    comptime assert UNSUITED < 0, String(
        _named[M](UNSUITED), ": the field's type does not suit its row"
    )
    comptime MISPLACED = _misplaced[M]()
    comptime assert MISPLACED < 0, String(
        _named[M](MISPLACED), ": FIELDS is in the order of the numbers"
    )
    var rows = materialize[M.FIELDS]()
    comptime for index in range(M.FIELD_COUNT):
        comptime F = reflect[M].field_types()[index]
        comptime KEEPING = _keeping[F]()
        var row = rows[index]
        var is_packed = (
            KEEPING == Keeping.LIST
            and row.kind.is_number()
            and not row.is_expanded
        )
        var wire = row.kind.wire_type()
        if is_packed or KEEPING == Keeping.MAP:
            wire = 2
        var tag = UInt64(row.number) << 3 | UInt64(wire)
        var octets = UInt64(0)
        var length = 0
        while tag >= 0x80:
            octets |= (tag & 0x7F | 0x80) << UInt64(8 * length)
            tag >>= 7
            length += 1
        octets |= tag << UInt64(8 * length)
        fields[index] = Field(
            row,
            row_form(row.kind),
            KEEPING,
            reflect[M].field_offset[index=index](),
            octets,
            length + 1,
        )
    return fields^


def _keeping[F: AnyType]() -> Keeping:
    comptime if F == List[UInt8]:
        return Keeping.PLAIN
    elif conforms_to(F, Kept):
        return F.keeping()
    else:
        return Keeping.PLAIN


def _suits[F: AnyType](kind: FieldKind, key: FieldKind) -> Bool:
    comptime if F != List[UInt8] and conforms_to(F, Kept):
        return F.suits(kind, key)
    else:
        return key == FieldKind.NONE and _is_value[F](kind)


def _is_value[T: AnyType](kind: FieldKind) -> Bool:
    comptime if T == Bool:
        return kind == FieldKind.BOOL
    elif T == String:
        return kind == FieldKind.STRING
    elif T == List[UInt8]:
        return kind == FieldKind.BYTES
    elif T == Float64:
        return kind == FieldKind.DOUBLE
    elif T == Float32:
        return kind == FieldKind.FLOAT
    elif T == Int32:
        return (
            kind == FieldKind.INT32
            or kind == FieldKind.SINT32
            or kind == FieldKind.SFIXED32
        )
    elif T == Int64:
        return (
            kind == FieldKind.INT64
            or kind == FieldKind.SINT64
            or kind == FieldKind.SFIXED64
        )
    elif T == UInt32:
        return kind == FieldKind.UINT32 or kind == FieldKind.FIXED32
    elif T == UInt64:
        return kind == FieldKind.UINT64 or kind == FieldKind.FIXED64
    elif conforms_to(T, Enumeration):
        return kind == FieldKind.ENUM
    elif conforms_to(T, Message):
        return kind == FieldKind.MESSAGE
    else:
        return False


def _link_of[M: Message](index: Int) -> Link:
    comptime for at in range(M.FIELD_COUNT):
        comptime F = reflect[M].field_types()[at]
        comptime if conforms_to(F, Kept) or conforms_to(F, Enumeration):
            if index == at:
                return _link[F]()
    return Link.none()


def _link[F: AnyType]() -> Link:
    comptime if conforms_to(F, Kept):
        return F.link()
    elif conforms_to(F, Enumeration):
        var link = Link.none()
        link.names = names_of[F]
        return link
    else:
        return Link.none()


def _make[M: Message]() -> Place:
    var place = alloc(Layout[M](count=1)).unsafe_leak()
    place.unsafe_write(M())
    return place.unsafe_bitcast[NoneType]()


def _drop[M: Message](message: Place):
    var place = message.unsafe_bitcast[M]()
    place.unsafe_deinit_pointee()
    dealloc(Allocation(unsafe_owned_ptr=place, layout=Layout[M](count=1)))


def names_of[E: Enumeration]() -> EnumTable:
    """Makes the table of an enumeration, a constant of the program."""
    comptime ROWS = E.VALUES
    comptime assert size_of[E]() == 4, "an enumeration is its number alone"
    ref rows = global_constant[ROWS]()
    return EnumTable(
        E.NAME,
        unsafe_lend[ImmUntrackedOrigin](rows.unsafe_ptr(), E.VALUE_COUNT),
    )


trait Kept:
    """What is around values of a field: `Optional`, `Boxed`, `List`, `Dict`."""

    @staticmethod
    def keeping() -> Keeping:
        ...

    @staticmethod
    def suits(kind: FieldKind, key: FieldKind) -> Bool:
        """Tells whether the values, and the keys of a map, are of these kinds."""
        ...

    @staticmethod
    def link() -> Link:
        ...


__extension Optional(Kept):
    @staticmethod
    def keeping() -> Keeping:
        return Keeping.OPTIONAL

    @staticmethod
    def suits(kind: FieldKind, key: FieldKind) -> Bool:
        return key == FieldKind.NONE and _is_value[Self.T](kind)

    @staticmethod
    def link() -> Link:
        var link = Link.none()
        comptime if conforms_to(Self.T, Message):
            link.table = table_of[Self.T]
            link.hold = _hold_optional[Self.T]
            link.count = _count_held[Optional[Self.T]]
            link.item = _item_optional[Self.T]
            link.clear = _clear_held[Optional[Self.T]]
        elif conforms_to(Self.T, Enumeration):
            link.names = names_of[Self.T]
        return link


def _hold_optional[M: Message](place: Place) -> Place:
    ref field = place.unsafe_bitcast[Optional[M]]()[]
    if not field:
        field = M()
    return place_of(field.unsafe_value())


def _item_optional[M: Message](place: Place, index: Int) -> Place:
    return place_of(place.unsafe_bitcast[Optional[M]]()[].unsafe_value())


__extension Boxed(Kept):
    @staticmethod
    def keeping() -> Keeping:
        return Keeping.OPTIONAL

    @staticmethod
    def suits(kind: FieldKind, key: FieldKind) -> Bool:
        return key == FieldKind.NONE and _is_value[Self.T](kind)

    @staticmethod
    def link() -> Link:
        var link = Link.none()
        comptime if conforms_to(Self.T, Message):
            link.table = table_of[Self.T]
            link.hold = _hold_boxed[Self.T]
            link.count = _count_held[Boxed[Self.T]]
            link.item = _item_boxed[Self.T]
            link.clear = _clear_held[Boxed[Self.T]]
        return link


def _hold_boxed[M: Message](place: Place) -> Place:
    ref field = place.unsafe_bitcast[Boxed[M]]()[]
    if not field:
        field = Boxed(M())
    return place_of(field.value())


def _count_held[H: Boolable & Movable & Deinitable](place: Place) -> Int:
    return 1 if place.unsafe_bitcast[H]()[] else 0


def _item_boxed[M: Message](place: Place, index: Int) -> Place:
    return place_of(place.unsafe_bitcast[Boxed[M]]()[].value())


def _clear_held[H: Defaultable & Movable & Deinitable](place: Place):
    place.unsafe_bitcast[H]()[] = H()


__extension List(Kept):
    @staticmethod
    def keeping() -> Keeping:
        return Keeping.LIST

    @staticmethod
    def suits(kind: FieldKind, key: FieldKind) -> Bool:
        return key == FieldKind.NONE and _is_value[Self.T](kind)

    @staticmethod
    def link() -> Link:
        var link = Link.none()
        comptime if conforms_to(Self.T, Message):
            link.table = table_of[Self.T]
            link.hold = _hold_list[Self.T]
            link.count = _count_list[Self.T]
            link.item = _item_list[Self.T]
        elif conforms_to(Self.T, Enumeration):
            link.names = names_of[Self.T]
        return link


def _hold_list[M: Message](place: Place) -> Place:
    ref field = place.unsafe_bitcast[List[M]]()[]
    field.append(M())
    return place_of(field.unsafe_at(len(field) - 1))


def _count_list[M: Message](place: Place) -> Int:
    return len(place.unsafe_bitcast[List[M]]()[])


def _item_list[M: Message](place: Place, index: Int) -> Place:
    return place_of(place.unsafe_bitcast[List[M]]()[].unsafe_at(index))


__extension Dict(Kept):
    @staticmethod
    def keeping() -> Keeping:
        return Keeping.MAP

    @staticmethod
    def suits(kind: FieldKind, key: FieldKind) -> Bool:
        return _is_value[Self.K](key) and _is_value[Self.V](kind)

    @staticmethod
    def link() -> Link:
        comptime assert conforms_to(Self.K, Defaultable & Copyable & Deinitable)
        comptime assert conforms_to(Self.V, Defaultable & Copyable & Deinitable)
        var link = Link.none()
        comptime if conforms_to(Self.V, Message):
            link.table = table_of[Self.V]
        elif conforms_to(Self.V, Enumeration):
            link.names = names_of[Self.V]
        link.count = _count_map[Self.K, Self.V, Self.H]
        link.fill = _fill_map[Self.K, Self.V, Self.H]
        link.each = _each_entry[Self.K, Self.V, Self.H]
        return link


def _count_map[
    K: Copyable & Hashable & Equatable & Deinitable,
    V: Copyable & Deinitable,
    H: Defaultable & Hasher & Deinitable,
](place: Place) -> Int:
    return len(place.unsafe_bitcast[Dict[K, V, H]]()[])


def _fill_map[
    K: Copyable & Hashable & Equatable & Deinitable & Defaultable,
    V: Copyable & Deinitable & Defaultable,
    H: Defaultable & Hasher & Deinitable,
](place: Place, context: Place, fill: FillEntry) raises ProtobufError:
    var key = K()
    var value = V()
    if fill(context, place_of(key), place_of(value)):
        place.unsafe_bitcast[Dict[K, V, H]]()[][key^] = value^


def _each_entry[
    K: Copyable & Hashable & Equatable & Deinitable,
    V: Copyable & Deinitable,
    H: Defaultable & Hasher & Deinitable,
](place: Place, context: Place, visit: VisitEntry) raises ProtobufError:
    for ref entry in place.unsafe_bitcast[Dict[K, V, H]]()[].items():
        visit(context, place_of(entry.key), place_of(entry.value))


def _no_table() -> MessageTable:
    return MessageTable(
        "",
        Span[Field, ImmUntrackedOrigin](),
        JsonForm.OBJECT,
        False,
        _no_link,
        0,
        _no_make,
        _no_clear,
    )


def _no_names() -> EnumTable:
    return EnumTable("", Span[EnumRow, ImmUntrackedOrigin]())


def _no_link(index: Int) -> Link:
    return Link.none()


def _no_hold(place: Place) -> Place:
    return place


def _no_make() -> Place:
    return place_of(global_constant[0]())


def _no_count(place: Place) -> Int:
    return 0


def _no_item(place: Place, index: Int) -> Place:
    return place


def _no_clear(place: Place):
    debug_assert(False, "no field of messages")


def _no_fill(
    place: Place, context: Place, fill: FillEntry
) raises ProtobufError:
    debug_assert(False, "no map")


def _no_each(
    place: Place, context: Place, visit: VisitEntry
) raises ProtobufError:
    debug_assert(False, "no map")
