"""The settings that a struct's fields are, found by reflection."""

# SAFETY: a `place` is memory for one field of a struct that is being read; the
# struct's memory outlives the list of its fields, and a place is turned back
# into the type that it was erased from.

from flare.bytes.checked import *
from flare.bytes.from_text import TextError
from flare.bytes.text import Text
from flare.json.field_types import (
    is_plain_struct,
    readable_type_name,
    type_name,
)
from flare.json.struct_reader import Erased, erased
from flare.json.text_value import FromTexts, is_text_scalar, read_texts
from std.memory import Pointer
from std.reflection import reflect


trait SettingsGroup(Deinitable, Movable):
    """A struct of settings that says more of itself than its fields do.

    Any plain struct can be read; one that has this trait may say what its
    fields mean, and refuse values that do not go together. All of it has a
    default.
    """

    comptime IS_FLAT: Bool = False
    """True if its fields are called the same within another struct; by default
    the name of the field that holds it comes before: `admin_port`."""

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Tells what a field means, in a line, for `--help`; empty if there is
        nothing to say.

        Args:
            name: The field's name.
        """
        return ""

    def problem(self) -> String:
        """Tells what is wrong with the values, alone and together, in a
        sentence that names the fields; empty if all is well."""
        return ""


trait SettingsDefaults(Deinitable, Movable):
    """A struct of settings with defaults that is not `Defaultable`, for its
    initializer takes all fields by name: the compiler wants one without."""

    @staticmethod
    def defaults() -> Self:
        """Gives the defaults."""
        ...


@fieldwise_init
struct Unit(Equatable, TrivialRegisterPassable):
    """What a number counts, as the end of its field's name tells."""

    var code: UInt8

    comptime NONE = Unit(0)
    comptime BYTES = Unit(1)
    comptime MILLISECONDS = Unit(2)
    comptime SECONDS = Unit(3)

    @staticmethod
    def of_name(name: StringSpan) -> Self:
        if name.endswith("_ms"):
            return Self.MILLISECONDS
        if name.endswith("_seconds") or name.endswith("_s"):
            return Self.SECONDS
        if name.endswith("_size") or name.endswith("_bytes"):
            return Self.BYTES
        if name.endswith("_rate"):
            return Self.BYTES
        return Self.NONE


comptime ReadField = def(
    Erased, List[String], Bool, mut Optional[TextError]
) thin -> Bool
comptime ShowField = def(Erased) thin -> String
comptime DropField = def(Erased) thin -> None


@fieldwise_init
struct FieldKind(TrivialRegisterPassable):
    """What a field's type says: so that there is little code for each type."""

    var type_name: StaticString
    var is_int: Bool
    var is_flag: Bool
    var is_list: Bool
    var may_be_absent: Bool
    var read: ReadField
    var show: ShowField
    var drop: DropField

    @staticmethod
    @no_inline
    def of[F: Movable & Deinitable]() -> Self:
        return Self(
            materialize[reflect[F].name()](),
            F == Int or F == Optional[Int],
            F == Bool,
            reflect[F].base_name() == "List",
            conforms_to(F, FromTexts),
            _read[F],
            _show[F],
            _drop[F],
        )


struct SettingField(Copyable, Movable):
    """One field, wherever it lies within the struct that is read."""

    var name: String
    """Its name as a setting: `admin_port` of the field `port` in `admin`."""
    var form: String
    """Its type, as a program writes it."""
    var about: StaticString
    var unit: Unit
    var is_flag: Bool
    """True for a Bool: an option that needs no value."""
    var is_list: Bool
    var may_be_absent: Bool
    var place: Erased
    var read: ReadField
    var show: ShowField
    var drop: DropField
    var is_made: Bool
    var is_bad: Bool
    """True if what was given for it could not be read."""
    var is_owned: Bool
    """True if the value is to be destroyed alone when another is missing, for
    the struct around it was never made."""
    var default: String
    """How the value looks that was there before anything was read."""
    var origin: String
    """The variable or option that the value comes from; empty for none."""

    def __init__(
        out self,
        place: Erased,
        var name: String,
        about: StaticString,
        is_made: Bool,
        kind: FieldKind,
    ):
        self.unit = Unit.of_name(name) if kind.is_int else Unit.NONE
        self.name = name^
        self.form = readable_type_name(kind.type_name)
        self.about = about
        self.is_flag = kind.is_flag
        self.is_list = kind.is_list
        self.may_be_absent = kind.may_be_absent
        self.place = place
        self.read = kind.read
        self.show = kind.show
        self.drop = kind.drop
        self.is_made = is_made
        self.is_bad = False
        self.is_owned = not is_made
        self.default = String()
        self.origin = String()
        if is_made:
            self.default = self.show(self.place)


struct SettingFields(Defaultable, Movable):
    """The fields of a struct that is being read, and of the structs within."""

    var fields: List[SettingField]
    var _made: List[Erased]
    var _drop: List[DropField]

    def add_struct[
        T: Movable & Deinitable
    ](
        mut self,
        place: Pointer[T, MutUntrackedOrigin],
        prefix: String,
        is_made: Bool,
    ):
        """Adds the fields of a struct, with a prefix to their names. Makes it
        first if it has a default, and not `is_made` already."""
        var is_whole = is_made
        comptime if conforms_to(T, SettingsDefaults):
            if not is_made:
                place.unsafe_write(T.defaults())
                self.note_made(place)
                is_whole = True
        elif conforms_to(T, Defaultable):
            if not is_made:
                place.unsafe_write(T())
                self.note_made(place)
                is_whole = True
        comptime for index in range(reflect[T].field_count()):
            comptime F = reflect[T].field_types()[index]
            comptime NAME = reflect[T].field_names()[index]
            comptime assert conforms_to(F, Movable & Deinitable)
            comptime PROBLEM = _field_problem[T, index]()
            comptime assert PROBLEM.byte_length() == 0, PROBLEM
            var inner = (
                Pointer(to=reflect[T].field_ref[index](place[]))
                .unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin]()
            )
            comptime if _is_group[F]():
                comptime if conforms_to(F, SettingsGroup):
                    comptime if F.IS_FLAT:
                        self.add_struct[F](inner, prefix, is_whole)
                    else:
                        self.add_struct[F](
                            inner,
                            _within(prefix, materialize[NAME]()),
                            is_whole,
                        )
                else:
                    self.add_struct[F](
                        inner, _within(prefix, materialize[NAME]()), is_whole
                    )
            else:
                var about = StaticString("")
                comptime if conforms_to(T, SettingsGroup):
                    about = T.about(materialize[NAME]())
                self._add(
                    erased(inner),
                    prefix,
                    materialize[NAME](),
                    about,
                    is_whole,
                    FieldKind.of[F](),
                )

    # A call, not the way to the object's table, for each field.
    @no_inline
    def _add(
        mut self,
        place: Erased,
        prefix: StringSpan,
        name: StaticString,
        about: StaticString,
        is_made: Bool,
        kind: FieldKind,
    ):
        var whole = Text().add(prefix).add(name).end()
        self.fields.append(SettingField(place, whole^, about, is_made, kind))

    def note_made[
        T: Movable & Deinitable
    ](mut self, place: Pointer[T, MutUntrackedOrigin]):
        """Notes that a struct is there, to be destroyed if another is bad."""
        self._made.append(erased(place))
        self._drop.append(_drop[T])

    def find(self, name: StringSpan) -> Int:
        for index in range(len(self.fields)):
            if self.fields.at(index).name == name:
                return index
        return -1

    def drop_all(self):
        """Destroys all values that are there."""
        for ref field in self.fields:
            if field.is_owned and field.is_made:
                field.drop(field.place)
        for index in range(len(self._made)):
            self._drop.at(index)(self._made.at(index))


@no_inline
def _within(prefix: StringSpan, name: StaticString) -> String:
    """What the names of the fields of a field begin with."""
    var text = Text().add(prefix)
    text = text^.add(name)
    return text^.add("_").end()


@fieldwise_init
struct GroupProblem(Copyable, Movable):
    """What a struct of settings says is wrong with its values."""

    var prefix: String
    """What the names of its fields begin with as settings: `admin_`."""
    var text: String

    def names(self, setting: StringSpan) -> Bool:
        """Tells whether the text names a setting: as it is called, or by the name
        of its field in the struct, or by a path, as in `admin.port`."""
        if not setting.startswith(self.prefix):
            return False
        return _has_word(self.text, setting) or _has_word(
            self.text, setting.removeprefix(self.prefix)
        )


def _has_word(text: StringSpan, word: StringSpan) -> Bool:
    """Tells whether a name stands in a text by itself; `.` is read as `_`."""
    var octets = text.as_bytes()
    var wanted = word.as_bytes()
    for start in range(len(octets) - len(wanted) + 1):
        var end = start + len(wanted)
        if start > 0 and _in_name(octets.at(start - 1)) != 0:
            continue
        if _goes_on(octets, end):
            continue
        var is_same = True
        for index in range(len(wanted)):
            if _in_name(octets.at(start + index)) != wanted.at(index):
                is_same = False
                break
        if is_same:
            return True
    return False


def _goes_on(octets: Span[UInt8, _], end: Int) -> Bool:
    """Tells whether a name goes on; a `.` after it may end the sentence."""
    var at = end
    if at < len(octets) and octets.at(at) == 46:
        at += 1
    return at < len(octets) and _in_name(octets.at(at)) != 0


def _in_name(octet: UInt8) -> UInt8:
    """Gives an octet as names of settings have it; 0 for one of no name."""
    var is_alphanumeric = (octet >= 48 and octet <= 57) or (
        (octet | 0x20) >= 97 and (octet | 0x20) <= 122
    )
    if is_alphanumeric or octet == 95:
        return octet
    return 95 if octet == 46 else 0


def add_problems[
    T: AnyType
](value: T, prefix: String, mut problems: List[GroupProblem]):
    """Asks a struct, and the structs within, whether their values go together;
    what a struct within has said is not said once more around it."""
    var first = len(problems)
    comptime for index in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[index]
        comptime NAME = reflect[T].field_names()[index]
        comptime if _is_group[F]():
            var inner = _within(prefix, materialize[NAME]())
            comptime if conforms_to(F, SettingsGroup):
                comptime if F.IS_FLAT:
                    inner = prefix
            add_problems(reflect[T].field_ref[index](value), inner, problems)
    comptime if conforms_to(T, SettingsGroup):
        _add_problem(GroupProblem(prefix, value.problem()), first, problems)


@no_inline
def _add_problem(
    var problem: GroupProblem, first: Int, mut problems: List[GroupProblem]
):
    if problem.text.byte_length() == 0:
        return
    for index in range(first, len(problems)):
        if problems.at(index).text in problem.text:
            return
    problems.append(problem^)


def _is_group[F: AnyType]() -> Bool:
    """Tells whether a field's own fields are settings."""
    return is_plain_struct[F]() and not (
        is_text_scalar[F]() or conforms_to(F, FromTexts)
    )


def _field_problem[T: AnyType, index: Int]() -> String:
    """Says that a field cannot be read from text, if it cannot."""
    comptime F = reflect[T].field_types()[index]
    comptime if _is_group[F]() or is_text_scalar[F]() or conforms_to(
        F, FromTexts
    ):
        return String()
    else:
        return String(
            "struct ",
            type_name[T](),
            ": field '",
            materialize[reflect[T].field_names()[index]](),
            "' is of type ",
            type_name[F](),
            ", which cannot be a setting; make it an Int, Float64, Bool,",
            " String, an Optional or List of one, a struct of such, or let",
            " its type conform to FromText",
        )


def _read[
    F: Movable & Deinitable
](
    place: Erased,
    texts: List[String],
    is_made: Bool,
    mut failure: Optional[TextError],
) -> Bool:
    var at = place.unsafe_bitcast[F]()
    try:
        var value = read_texts[F](texts)
        if is_made:
            at[] = value^
        else:
            at.unsafe_write(value^)
        return True
    except error:
        failure = error.copy()
        return False


def _show[F: Movable & Deinitable](place: Erased) -> String:
    return shown(place.unsafe_bitcast[F]()[])


def _drop[F: Movable & Deinitable](place: Erased):
    place.unsafe_bitcast[F]().unsafe_deinit_pointee()


trait _Shown:
    """Is shown by what it holds."""

    def shown_text(self) -> String:
        """Writes a value as it would be given."""
        ...


def shown[F: AnyType](value: F) -> String:
    """Writes a value as it would be given."""
    comptime if F == Bool:
        return "true" if rebind[Bool](value) else "false"
    elif conforms_to(F, _Shown):
        return value.shown_text()
    elif conforms_to(F, Writable):
        return String(value)
    else:
        return "(" + type_name[F]() + ")"


__extension Optional(_Shown):
    def shown_text(self) -> String:
        """Writes the value, or nothing."""
        return shown(self.value()) if self else String()


__extension List(_Shown):
    def shown_text(self) -> String:
        """Writes the elements with commas between."""
        var text = String()
        for index in range(len(self)):
            if index > 0:
                text += ","
            text += shown(self.at(index))
        return text^
