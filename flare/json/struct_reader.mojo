"""Plain structs read from JSON by reflection."""

from flare.bytes.siphash import Keyed
from flare.json.error import JsonError, JsonErrorKind, JsonKind
from flare.json.value import JsonView
from std.hash import Hasher
from std.math import sqrt
from std.memory import unsafe_stack_allocation
from std.reflection import reflect


trait JsonReadable(Deinitable, Movable):
    """Knows how it is made of a JSON value; `List`, `Dict` and `Optional` do.

    A plain struct needs no such thing: its fields are read by their names.
    """

    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Makes a value.

        Args:
            view: The JSON value.

        Returns:
            The value.

        Raises:
            JsonError: If the JSON value does not fit.
        """
        ...


def read_json[T: Movable & Deinitable](view: JsonView) raises JsonError -> T:
    """Makes a value of a JSON value.

    A struct is made of an object: each field of the member of its name. Members
    without a field are left out of account; a field without a member is an
    error, unless it is an `Optional`. Fields are `Bool`, integers, floats,
    `String`, `Optional`, `List`, `Dict` with names, other such structs, and
    what is `JsonReadable`. The struct's initializers are not called.

    Parameters:
        T: The type; one with other fields does not compile.

    Args:
        view: The JSON value.

    Returns:
        The value.

    Raises:
        JsonError: If the JSON value does not fit; it names the place by its
            path, such as `$["items"][2]["price"]`.
    """
    comptime if conforms_to(T, JsonReadable):
        return T.from_json(view)
    elif T == Bool:
        return rebind_var[T](view.bool_value())
    elif T == Int:
        return rebind_var[T](view.int_value())
    elif T == String:
        return rebind_var[T](view.string_value())
    elif T == Float64:
        return rebind_var[T](view.float_value())
    elif T == Float32:
        return rebind_var[T](Float32(view.float_value()))
    elif T == Int64:
        return rebind_var[T](Int64(view.int_value()))
    elif T == Int32:
        return rebind_var[T](_narrow[DType.int32](view))
    elif T == Int16:
        return rebind_var[T](_narrow[DType.int16](view))
    elif T == Int8:
        return rebind_var[T](_narrow[DType.int8](view))
    elif T == UInt64:
        return rebind_var[T](_narrow[DType.uint64](view))
    elif T == UInt32:
        return rebind_var[T](_narrow[DType.uint32](view))
    elif T == UInt16:
        return rebind_var[T](_narrow[DType.uint16](view))
    elif T == UInt8:
        return rebind_var[T](_narrow[DType.uint8](view))
    else:
        comptime assert reflect[
            T
        ].is_struct(), "JSON cannot be read into a field of this type"
        # An array or a text is refused here, also for a struct without fields.
        _ = view.members()
        var source = _Members(view)
        return make_fieldwise[T](source)


def _narrow[dtype: DType](view: JsonView) raises JsonError -> Scalar[dtype]:
    """Reads an integer that fits a narrower type."""
    var number = view.int_value()
    var least = 0
    var most = Int.MAX
    comptime if dtype != DType.uint64:
        least = Int(Scalar[dtype].MIN)
        most = Int(Scalar[dtype].MAX)
    if number < least or number > most:
        raise JsonError.at_value(
            JsonErrorKind.NUMBER_RANGE,
            view.path(),
            String("an integer from ", least, " to ", most),
            String(number),
        )
    return Scalar[dtype](number)


@fieldwise_init
struct _Members[o: ImmOrigin](FieldSource):
    """An object whose members are the fields of a struct."""

    comptime FieldError = JsonError
    var view: JsonView[Self.o]

    def field[
        T: AnyType, index: Int, F: Movable & Deinitable
    ](mut self) raises JsonError -> F:
        comptime NAME = reflect[T].field_names()[index]
        var name = materialize[NAME]()
        comptime if conforms_to(F, JsonMaybe):
            var member = self.view.get(name)
            if not member:
                return F.absent()
            return read_json[F](member.value())
        else:
            var member = self.view.get(name)
            if not member:
                raise JsonError.at_value(
                    JsonErrorKind.NO_MEMBER,
                    String(self.view.path(), '["', name, '"]'),
                    "a value",
                    "nothing",
                )
            return read_json[F](member.value())


trait JsonMaybe(Deinitable, Movable):
    """Has a value that stands for a member that is not there."""

    @staticmethod
    def absent() -> Self:
        """Makes that value.

        Returns:
            The value.
        """
        ...


__extension Optional(JsonReadable, JsonMaybe):
    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Reads `null` as nothing, all else as a value.

        Args:
            view: The JSON value.

        Returns:
            The value, or nothing.

        Raises:
            JsonError: If the JSON value does not fit.
        """
        comptime assert conforms_to(Self.T, Movable & Deinitable)
        if view.is_null():
            return Self(None)
        return Self(read_json[Self.T](view))

    @staticmethod
    def absent() -> Self:
        """Makes nothing.

        Returns:
            Nothing.
        """
        return Self(None)


__extension List(JsonReadable):
    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Reads an array.

        Args:
            view: The JSON value.

        Returns:
            Its elements.

        Raises:
            JsonError: If it is no array, or an element does not fit.
        """
        comptime assert conforms_to(Self.T, Movable & Deinitable)
        return rebind_var[Self](_read_list[Self.T](view))


__extension Dict(JsonReadable):
    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Reads an object, whatever its names are.

        The names are the peer's choice. `Dict[String, V, KeyedHasher]` takes any
        at a cost that is linear. The hash of `Dict[String, V]` has no key, so
        that an object of 1,024 members and more is refused if its names are
        equal or meet in the table more often than chance has it.

        Args:
            view: The JSON value.

        Returns:
            Its members; the last wins if a name is repeated.

        Raises:
            JsonError: If it is no object, or a value does not fit, or names
                were made to collide.
        """
        comptime assert Self.K == String, "names in JSON are text"
        comptime assert conforms_to(Self.V, Copyable & Deinitable)
        comptime if not conforms_to(Self.H, Keyed):
            _check_names[Self.H](view)
        return rebind_var[Self](_read_dict[Self.V, Self.H](view))


def _read_list[
    T: Movable & Deinitable
](view: JsonView) raises JsonError -> List[T]:
    var elements = List[T](capacity=len(view))
    for element in view.elements():
        elements.append(read_json[T](element))
    return elements^


def _read_dict[
    V: Copyable & Deinitable, H: Defaultable & Hasher & Deinitable
](view: JsonView) raises JsonError -> Dict[String, V, H]:
    var members = Dict[String, V, H]()
    for member in view.members():
        members[String(member.name)] = read_json[V](member.value)
    return members^


# Fewer cost little, however they meet.
comptime _CHECKED_COUNT_MIN = 1_024


def _check_names[
    H: Defaultable & Hasher & Deinitable
](view: JsonView) raises JsonError:
    """Checks that names do not crowd in a table that has no key.

    The cost is linear. Names that were chosen by chance pass; the bound is
    eight standard deviations off, and some more.
    """
    var count = len(view)
    if view.kind() != JsonKind.OBJECT or count < _CHECKED_COUNT_MIN:
        return
    var hashes = List[UInt64](capacity=count)
    for member in view.members():
        hashes.append(hash[H](member.name))
    var width = 10
    while (1 << width) < count:
        width += 1
    # A table has room for all, and at most four times as much.
    for bits in range(width, width + 3):
        if _are_crowded(hashes, bits):
            raise JsonError.at_value(
                JsonErrorKind.COLLIDING_NAMES,
                view.path(),
                (
                    "names that are not equal nor made to collide; a"
                    " Dict[String, V, KeyedHasher] takes any"
                ),
                "too many that meet",
            )


def _are_crowded(hashes: List[UInt64], bits: Int) -> Bool:
    """Tells whether hashes crowd anywhere in a table of `1 << bits` places.

    `Dict` begins at the place that the low bits name, and goes on to the next
    ones. So it is slow where a place, or a range of places of any size, has
    more names than it has room for.
    """
    var met = List[Int](length=1 << bits, fill=0)
    for value in hashes:
        met[Int(value & ((1 << UInt64(bits)) - 1))] += 1
    var range_count = 1 << bits
    while range_count > 1:
        var mean = Float64(len(hashes)) / Float64(range_count)
        var allowed = Int(mean + 8 * sqrt(mean)) + 32
        for index in range(range_count):
            if met[index] > allowed:
                return True
        range_count //= 2
        for index in range(range_count):
            met[index] = met[2 * index] + met[2 * index + 1]
    return False


trait FieldSource:
    """Has a value for each field of a struct."""

    comptime FieldError: Copyable & Deinitable
    """What is raised if there is none."""

    def field[
        T: AnyType, index: Int, F: Movable & Deinitable
    ](mut self) raises Self.FieldError -> F:
        """Makes the value of a field.

        Parameters:
            T: The struct's type.
            index: Which of its fields.
            F: The field's type.

        Returns:
            The value.

        Raises:
            FieldError: If there is none.
        """
        ...


def make_fieldwise[
    T: Movable & Deinitable, S: FieldSource
](mut source: S) raises S.FieldError -> T:
    """Makes a struct of the values of its fields.

    The struct's own initializers are not called: it is for plain structs, that
    are no more than their fields. If a value is missing, those made before it
    are destroyed.

    Parameters:
        T: The struct's type.
        S: The source's type.

    Args:
        source: Asked for the fields in their order.

    Returns:
        The struct.

    Raises:
        FieldError: If the source raises it.
    """
    # SAFETY: fields are written once each, in order; the struct is taken out
    # only when all are there, and else those that are there are destroyed.
    comptime COUNT = reflect[T].field_count()
    var room = unsafe_stack_allocation[1, T]()
    var done = 0
    var failure = Optional[S.FieldError](None)
    comptime for index in range(COUNT):
        comptime F = reflect[T].field_types()[index]
        comptime assert conforms_to(F, Movable & Deinitable)
        if not failure:
            try:
                var value = source.field[T, index, F]()
                Pointer(to=reflect[T].field_ref[index](room[])).unsafe_write(
                    value^
                )
                done += 1
            except error:
                failure = error^
    if not failure:
        return room.unsafe_take_pointee()
    comptime for index in range(COUNT):
        comptime F = reflect[T].field_types()[index]
        comptime assert conforms_to(F, Movable & Deinitable)
        if index < done:
            Pointer(
                to=reflect[T].field_ref[index](room[])
            ).unsafe_deinit_pointee()
    raise failure.take()
