"""Plain structs read from JSON by reflection."""

# SAFETY: a `place` is memory for one field of a struct under way, and a source is
# whatever the caller gave; both outlive the call that fills the struct, and are
# turned back into the type that they were erased from.

from flare.bytes.checked import *
from flare.bytes.siphash import Keyed
from flare.json.error import JsonError, JsonErrorKind, JsonKind
from flare.json.error import JsonErrors
from flare.json.field_types import (
    is_json_scalar,
    is_plain_struct,
    json_field_problem,
)
from flare.json.value import JsonView, parse
from std.hash import Hasher
from std.math import isfinite, sqrt
from std.memory import unsafe_stack_allocation
from std.reflection import reflect


trait JsonReadable(Deinitable, Movable):
    """Knows how it is made of a JSON value; `List`, `Dict` and `Optional` do.

    A plain struct needs no such thing: its fields are read by their names.
    """

    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Reads the value from JSON.

        Args:
            view: The JSON value.

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
    # SAFETY: the value is taken out only if it was made.
    var errors = JsonErrors(1)
    var place = unsafe_stack_allocation[1, T]()
    if read_into[T](view, errors, erased(place)):
        return place.unsafe_take_pointee()
    raise errors.first()


def read_json[T: Movable & Deinitable](text: StringSpan) raises JsonError -> T:
    """Makes a value of a JSON text, as `json_text` writes it.

    Parameters:
        T: The type, as for a JSON value.

    Args:
        text: The whole text; for other limits than those of `parse`, parse it
            first.

    Returns:
        The value.

    Raises:
        JsonError: If it is no JSON text, or does not fit.
    """
    return read_json[T](parse(text).view())


comptime _AnyView = JsonView[ImmUntrackedOrigin]


def read_into[
    T: Movable & Deinitable
](view: JsonView, mut errors: JsonErrors, place: Erased) -> Bool:
    """Makes a value of a JSON value as `read_json` does, and goes on where
    something does not fit, to find what else does not: then it is False, and
    nothing is at the place."""
    # SAFETY: the document outlives the call, and no view outlives it.
    return _read[T](
        _AnyView(
            view._document.unsafe_origin_cast[ImmUntrackedOrigin](), view._index
        ),
        errors,
        place,
    )


def _read[
    T: Movable & Deinitable
](view: _AnyView, mut errors: JsonErrors, place: Erased) -> Bool:
    # SAFETY: `place` is memory for a T, which is written if this returns True.
    comptime if conforms_to(T, JsonCollected):
        return T.read_collecting(view, errors, place)
    elif conforms_to(T, JsonReadable):
        try:
            place.unsafe_bitcast[T]().unsafe_write(T.from_json(view))
            return True
        except error:
            errors.add(error^)
            return False
    elif is_json_scalar[T]():
        return _read_scalar[T](view, errors, place)
    else:
        comptime assert is_plain_struct[T](), "JSON has no form for this type"
        comptime for index in range(reflect[T].field_count()):
            comptime F = reflect[T].field_types()[index]
            comptime PROBLEM = json_field_problem[
                T, index, conforms_to(F, JsonReadable), "JsonReadable"
            ]()
            comptime assert PROBLEM.byte_length() == 0, PROBLEM
        # An array or a text is refused here, also for a struct without fields.
        if not _is_of(view, JsonKind.OBJECT, errors):
            return False
        var source = _Members(view, Pointer(to=errors))
        return make_fieldwise(source, place.unsafe_bitcast[T]())


def json_problem[T: AnyType]() -> String:
    """Says which field of a struct cannot be read from JSON, run by the
    compiler; empty if all can. What stands in lists and dictionaries is not
    looked at."""
    comptime if is_plain_struct[T]() and not conforms_to(T, JsonReadable):
        comptime for index in range(reflect[T].field_count()):
            comptime F = reflect[T].field_types()[index]
            comptime PROBLEM = json_field_problem[
                T, index, conforms_to(F, JsonReadable), "JsonReadable"
            ]()
            comptime if PROBLEM.byte_length() > 0:
                return materialize[PROBLEM]()
            comptime WITHIN = json_problem[F]()
            comptime if WITHIN.byte_length() > 0:
                return materialize[WITHIN]()
    return String()


def _read_scalar[
    T: Movable & Deinitable
](view: _AnyView, mut errors: JsonErrors, place: Erased) -> Bool:
    # SAFETY: `place` is memory for a T, which is of the type in the branch.
    try:
        comptime if T == Bool:
            place.unsafe_bitcast[Bool]().unsafe_write(view.bool_value())
        elif T == String:
            place.unsafe_bitcast[String]().unsafe_write(view.string_value())
        elif T == Float64:
            place.unsafe_bitcast[Float64]().unsafe_write(view.float_value())
        elif T == Float32:
            place.unsafe_bitcast[Float32]().unsafe_write(_float_of_32(view))
        elif T == Int:
            place.unsafe_bitcast[Int]().unsafe_write(view.int_value())
        elif T == Int64:
            place.unsafe_bitcast[Int64]().unsafe_write(Int64(view.int_value()))
        elif T == Int32:
            _narrow[DType.int32](view, place)
        elif T == Int16:
            _narrow[DType.int16](view, place)
        elif T == Int8:
            _narrow[DType.int8](view, place)
        elif T == UInt64:
            place.unsafe_bitcast[UInt64]().unsafe_write(view.uint_value())
        elif T == UInt32:
            _narrow[DType.uint32](view, place)
        elif T == UInt16:
            _narrow[DType.uint16](view, place)
        else:
            _narrow[DType.uint8](view, place)
        return True
    except error:
        errors.add(error^)
        return False


def _float_of_32(view: _AnyView) raises JsonError -> Float32:
    """Reads a number that is not too large for 32 bits."""
    var number = Float32(view.float_value())
    if not isfinite(number):
        raise JsonError.at_value(
            JsonErrorKind.NUMBER_RANGE,
            view.path(),
            "a number within the range of a 32-bit float",
            String(view.float_value()),
        )
    return number


def _narrow[dtype: DType](view: _AnyView, place: Erased) raises JsonError:
    """Reads an integer that fits a narrower type."""
    comptime LEAST = Int(Scalar[dtype].MIN)
    comptime MOST = Int(Scalar[dtype].MAX)
    # SAFETY: `place` is memory for such a number.
    place.unsafe_bitcast[Scalar[dtype]]().unsafe_write(
        Scalar[dtype](_int_within(view, LEAST, MOST))
    )


def _int_within(view: _AnyView, least: Int, most: Int) raises JsonError -> Int:
    var number = view.int_value()
    if number < least or number > most:
        raise JsonError.at_value(
            JsonErrorKind.NUMBER_RANGE,
            view.path(),
            String("an integer from ", least, " to ", most),
            String(number),
        )
    return number


def _is_of(view: _AnyView, kind: JsonKind, mut errors: JsonErrors) -> Bool:
    if view.kind() == kind:
        return True
    errors.add(
        JsonError.at_value(
            JsonErrorKind.WRONG_KIND,
            view.path(),
            String(kind.name()),
            String(view.kind().name()),
        )
    )
    return False


@fieldwise_init
struct _Members[e: MutOrigin](FieldSource):
    """An object whose members are the fields of a struct."""

    var view: _AnyView
    # SAFETY: `e` is the origin of the caller's errors, which outlive this.
    var errors: Pointer[JsonErrors, Self.e]

    @staticmethod
    def fill[
        F: Movable & Deinitable
    ](source: Erased, name: StaticString, place: Erased) -> Bool:
        # SAFETY: `make_fieldwise` gives the source that it was given, and
        # memory for an F.
        ref members = source.unsafe_bitcast[_Members[MutUntrackedOrigin]]()[]
        comptime if conforms_to(F, JsonMaybe):
            var index = members.find(name, False)
            if index < 0:
                place.unsafe_bitcast[F]().unsafe_write(F.absent())
                return True
            return _read[F](members.view.at(index), members.errors[], place)
        else:
            var index = members.find(name, True)
            if index < 0:
                return False
            return _read[F](members.view.at(index), members.errors[], place)

    def find(mut self, name: StaticString, is_required: Bool) -> Int:
        """Finds the node of a member; -1 if there is none."""
        if self.errors[].is_full():
            # No more is to be found out, and the fields are not used.
            return -1
        var index = self.view.find(name)
        if index < 0 and is_required:
            self.errors[].add(
                JsonError.at_value(
                    JsonErrorKind.NO_MEMBER,
                    String(self.view.path(), '["', name, '"]'),
                    "a value",
                    "nothing",
                )
            )
        return index


trait JsonMaybe(Deinitable, Movable):
    """Has a value that stands for a member that is not there."""

    @staticmethod
    def absent() -> Self:
        ...


trait JsonCollected(Deinitable, Movable):
    """Is made of several JSON values, of which several may not fit."""

    @staticmethod
    def read_collecting(
        view: JsonView[ImmUntrackedOrigin],
        mut errors: JsonErrors,
        place: Erased,
    ) -> Bool:
        """Makes a value, and goes on where something does not fit: then it is
        False, and nothing is at the place."""
        ...


__extension Optional(JsonReadable, JsonMaybe, JsonCollected):
    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Reads `null` as nothing, all else as a value."""
        comptime assert conforms_to(Self, Movable & Deinitable)
        return read_json[Self](view)

    @staticmethod
    def absent() -> Self:
        return Self(None)

    @staticmethod
    def read_collecting(
        view: JsonView[ImmUntrackedOrigin],
        mut errors: JsonErrors,
        place: Erased,
    ) -> Bool:
        """Reads `null` as nothing, all else as a value."""
        comptime assert conforms_to(Self.T, Movable & Deinitable)
        # SAFETY: the value is taken out only if it was made.
        if view.is_null():
            place.unsafe_bitcast[Self]().unsafe_write(Self(None))
            return True
        var value = unsafe_stack_allocation[1, Self.T]()
        if not _read[Self.T](view, errors, erased(value)):
            return False
        place.unsafe_bitcast[Self]().unsafe_write(
            Self(value.unsafe_take_pointee())
        )
        return True


__extension List(JsonReadable, JsonCollected):
    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        comptime assert conforms_to(Self, Movable & Deinitable)
        return read_json[Self](view)

    @staticmethod
    def read_collecting(
        view: JsonView[ImmUntrackedOrigin],
        mut errors: JsonErrors,
        place: Erased,
    ) -> Bool:
        comptime assert conforms_to(Self.T, Movable & Deinitable)
        return _read_list[Self.T](view, errors, place)


__extension Dict(JsonReadable, JsonCollected):
    @staticmethod
    def from_json(view: JsonView) raises JsonError -> Self:
        """Reads an object, whatever its names are; the last member wins if a
        name is repeated.

        The names are the peer's choice. `Dict[String, V, KeyedHasher]` takes
        any at a cost that is linear. The hash of `Dict[String, V]` has no key,
        so that an object of 1,024 members and more is refused if its names are
        equal or meet in the table more often than chance has it.
        """
        comptime assert conforms_to(Self, Movable & Deinitable)
        return read_json[Self](view)

    @staticmethod
    def read_collecting(
        view: JsonView[ImmUntrackedOrigin],
        mut errors: JsonErrors,
        place: Erased,
    ) -> Bool:
        """Reads an object, as `from_json`."""
        comptime assert Self.K == String, "names in JSON are text"
        comptime assert conforms_to(Self.V, Copyable & Deinitable)
        comptime if not conforms_to(Self.H, Keyed):
            try:
                _check_names[Self.H](view)
            except error:
                errors.add(error^)
                return False
        return _read_dict[Self.V, Self.H](view, errors, place)


def _read_list[
    T: Movable & Deinitable
](view: _AnyView, mut errors: JsonErrors, place: Erased) -> Bool:
    # SAFETY: an element is taken out only if it was made, and `place` is memory
    # for the list.
    if not _is_of(view, JsonKind.ARRAY, errors):
        return False
    var before = errors.count()
    var elements = List[T](capacity=len(view))
    var element = unsafe_stack_allocation[1, T]()
    for index in range(len(view)):
        if _read[T](view.child(index), errors, erased(element)):
            elements.append(element.unsafe_take_pointee())
        elif errors.is_full():
            break
    if errors.count() > before:
        return False
    place.unsafe_bitcast[List[T]]().unsafe_write(elements^)
    return True


def _read_dict[
    V: Copyable & Deinitable, H: Defaultable & Hasher & Deinitable
](view: _AnyView, mut errors: JsonErrors, place: Erased) -> Bool:
    # SAFETY: a value is taken out only if it was made, and `place` is memory
    # for the dictionary.
    if not _is_of(view, JsonKind.OBJECT, errors):
        return False
    var before = errors.count()
    var members = Dict[String, V, H]()
    var value = unsafe_stack_allocation[1, V]()
    for index in range(len(view)):
        # A name stands before its value.
        var name = view.child(2 * index)
        if _read[V](view.child(2 * index + 1), errors, erased(value)):
            members[String(name.text())] = value.unsafe_take_pointee()
        elif errors.is_full():
            break
    if errors.count() > before:
        return False
    place.unsafe_bitcast[Dict[String, V, H]]().unsafe_write(members^)
    return True


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
        met.at(Int(value & ((1 << UInt64(bits)) - 1))) += 1
    var range_count = 1 << bits
    while range_count > 1:
        var mean = Float64(len(hashes)) / Float64(range_count)
        var allowed = Int(mean + 8 * sqrt(mean)) + 32
        for index in range(range_count):
            if met.at(index) > allowed:
                return True
        range_count //= 2
        for index in range(range_count):
            met[index] = met[2 * index] + met[2 * index + 1]
    return False


comptime Erased = OpaquePointer[MutUntrackedOrigin]
"""Where a value is whose type only its makers know."""

comptime FillField = def(Erased, StaticString, Erased) thin -> Bool
"""Makes a field's value. It is given the source, the field's name, and memory
for the value; False says that there is no value, and that the source knows why.
"""


@fieldwise_init
struct FieldPlan(TrivialRegisterPassable):
    """How one field of a struct comes to its value."""

    var name: StaticString
    var place: Erased
    var fill: FillField
    var drop: def(Erased) thin -> None


trait FieldSource:
    """Has a value for each field of a struct."""

    @staticmethod
    def fill[
        F: Movable & Deinitable
    ](source: Erased, name: StaticString, place: Erased) -> Bool:
        """Makes the value of a field, of a source of this type. False if there
        is no value; the source keeps the reason."""
        ...


def make_fieldwise[
    T: Movable & Deinitable, S: FieldSource
](mut source: S, place: Pointer[mut=True, T, _]) -> Bool:
    """Makes a struct of the values of its fields, in their order; False if one
    is missing, and nothing is at the place.

    The struct's own initializers are not called: it is for plain structs, that
    are no more than their fields. The source is asked for all fields, also if
    there is no value for one: it can then tell of all that are bad.
    """
    # SAFETY: the plans are written here, each once, for fields that lie in
    # `place`; source and place outlive the call.
    comptime COUNT = reflect[T].field_count()
    var plans = unsafe_stack_allocation[max(COUNT, 1), FieldPlan]()
    comptime for index in range(COUNT):
        comptime F = reflect[T].field_types()[index]
        comptime NAME = reflect[T].field_names()[index]
        comptime assert conforms_to(F, Movable & Deinitable)
        plans.unsafe_offset(index).unsafe_write(
            FieldPlan(
                materialize[NAME](),
                erased(Pointer(to=reflect[T].field_ref[index](place[]))),
                S.fill[F],
                _drop[F],
            )
        )
    return _fill_all(
        Span(unsafe_ptr=plans, length=COUNT), erased(Pointer(to=source))
    )


def erased[T: AnyType](pointer: Pointer[mut=True, T, _]) -> Erased:
    """Forgets the type of a value, which must outlive all uses of the result."""
    # SAFETY: the caller keeps the value for as long as the result is used.
    return pointer.unsafe_bitcast[NoneType]().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


@no_inline
def _fill_all(plans: Span[FieldPlan, _], source: Erased) -> Bool:
    """Fills the fields; if one has no value, destroys all others."""
    var is_whole = True
    for index in range(len(plans)):
        ref plan = plans.at(index)
        if not plan.fill(source, plan.name, plan.place):
            if is_whole:
                for before in range(index):
                    plans.at(before).drop(plans.at(before).place)
            is_whole = False
        elif not is_whole:
            plan.drop(plan.place)
    return is_whole


def _drop[F: Movable & Deinitable](place: Erased):
    # SAFETY: `_fill_all` calls this for a place that holds an F, once.
    place.unsafe_bitcast[F]().unsafe_deinit_pointee()
