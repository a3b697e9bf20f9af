"""JSON values as values of any type."""

from flare.json.error import JsonError, JsonErrorKind
from flare.json.fieldwise import FieldSource, make_fieldwise
from flare.json.view import JsonView
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

        Args:
            view: The JSON value.

        Returns:
            Its members; the last wins if a name is repeated.

        Raises:
            JsonError: If it is no object, or a value does not fit.
        """
        comptime assert Self.K == String, "names in JSON are text"
        comptime assert conforms_to(Self.V, Copyable & Deinitable)
        return rebind_var[Self](_read_dict[Self.V](view))


def _read_list[
    T: Movable & Deinitable
](view: JsonView) raises JsonError -> List[T]:
    var elements = List[T](capacity=len(view))
    for element in view.elements():
        elements.append(read_json[T](element))
    return elements^


def _read_dict[
    V: Copyable & Deinitable
](view: JsonView) raises JsonError -> Dict[String, V]:
    var members = Dict[String, V]()
    for member in view.members():
        members[String(member.name)] = read_json[V](member.value)
    return members^
