"""Structs of settings read from the environment and from arguments."""

# SAFETY: the struct that is read lies in the frame of `settings_of`, and is
# taken out only if it was made.

from flare.bytes.ascii import find_octet
from flare.bytes.checked import *
from flare.bytes.from_text import TextError
from flare.bytes.text import Text
from flare.settings.fields import (
    GroupProblem,
    SettingFields,
    add_problems,
)
from flare.settings.text import (
    allowed_of,
    help_text,
    in_plain_units,
    nearest,
    option_name,
    placeholder,
    table_row,
    variable_name,
)
from flare.sys.descriptor import write_from
from flare.sys.environment import environment_texts
from flare.sys.log import STANDARD_OUTPUT
from std.memory import unsafe_stack_allocation
from std.sys import argv, exit


@fieldwise_init
struct SettingsError(Copyable, Movable, Writable):
    """Settings that are unknown, missing, bad, or do not go together."""

    var problems: List[String]
    """What is wrong: the variable or option, what was found, what is
    allowed. All of it, not the first alone."""
    var help: String
    """What `--help` asks for; empty if it was not asked for."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes all problems, a line each."""
        writer.write_string("bad settings")
        for ref problem in self.problems:
            writer.write_string("\n  ")
            writer.write_string(problem)


@fieldwise_init
struct SettingInForce(Copyable, Movable):
    """A setting, its value, and where that comes from."""

    var name: String
    """The field's name; that of a field in a struct within has both."""
    var value: String
    """The value as it would be given; `***` of a `Secret`."""
    var origin: String
    """The variable or option that it was read from, else `default`."""


@fieldwise_init
struct Settings[T: Movable & Deinitable](Movable, Writable):
    """What was read, and where each value comes from; printed, a table.

    Parameters:
        T: The struct.
    """

    var value: Self.T
    """What was read."""
    var rows: List[SettingInForce]
    """All settings, in the order of the fields."""

    def take(deinit self) -> Self.T:
        """Gives the struct away."""
        return self.value^

    def write_to(self, mut writer: Some[Writer]):
        """Writes a line for each setting: name, value, and where it is from."""
        var name_len = 7
        var value_len = 5
        for ref row in self.rows:
            name_len = max(name_len, row.name.byte_length())
            value_len = max(value_len, row.value.byte_length())
        value_len = min(value_len, _VALUE_LEN_MAX)
        writer.write_string(
            table_row("setting", name_len, "value", value_len, "from")
        )
        for ref row in self.rows:
            writer.write_string("\n")
            writer.write_string(
                table_row(row.name, name_len, row.value, value_len, row.origin)
            )


comptime _VALUE_LEN_MAX = 40
# Of a column; a longer value pushes its origin to the right.


def read_env[
    T: Movable & Deinitable
](prefix: StringSpan) raises SettingsError -> T:
    """Reads a plain struct from the environment: the field `page_size` from
    `SHOP_PAGE_SIZE`, if `SHOP_` is the prefix.

    Fields are `Int`, `Float64`, `Bool` (`true`, `false`, `1`, `0`), `String`,
    `Secret`, what is `FromText`, `Optional` or `List` (with commas between) of
    one, and structs of such. A struct that is `Defaultable` (or
    `SettingsDefaults`) begins with its defaults. In others, every field has to be given that is no `Optional` and
    no `List`. Sizes (a field `..._size`) may be given as `64KiB`, times
    (`..._ms`, `..._seconds`) as `30s`; without a unit, numbers are in the
    field's own.

    Parameters:
        T: The struct.

    Args:
        prefix: What names of its variables begin with. A variable that begins
            so and names no field is refused; with an empty prefix, none is.

    Returns:
        The struct.

    Raises:
        SettingsError: All that is unknown, missing or bad.
    """
    return settings_of[T](
        Given(environment_texts(), String(prefix), []), None
    ).take()


def read_env[
    T: Movable & Deinitable
](prefix: StringSpan, var defaults: T) raises SettingsError -> T:
    """Reads a plain struct from the environment, with defaults of one's own.

    Parameters:
        T: The struct.

    Args:
        prefix: What names of its variables begin with.
        defaults: What holds where no variable is.

    Returns:
        The struct.

    Raises:
        SettingsError: All that is unknown or bad.
    """
    return settings_of[T](
        Given(environment_texts(), String(prefix), []), defaults^
    ).take()


def read_args[T: Movable & Deinitable]() raises SettingsError -> T:
    """Reads a plain struct from the arguments of the program: the field
    `page_size` from `--page-size=20` or `--page-size 20`.

    A Bool's option needs no value: `--debug`, `--debug=false`. Of an option
    that is repeated, the last counts. `--help` prints the options, and ends
    the program.

    Parameters:
        T: The struct; see `read_env`.

    Returns:
        The struct.

    Raises:
        SettingsError: All that is unknown, missing or bad.
    """
    return _told[T](Given([], None, arguments()), None).take()


def read_args[
    T: Movable & Deinitable
](var defaults: T) raises SettingsError -> T:
    """Reads a plain struct from the arguments of the program, with defaults of
    one's own, such as what was read from the environment.

    Parameters:
        T: The struct.

    Args:
        defaults: What holds where no option is.

    Returns:
        The struct.

    Raises:
        SettingsError: All that is unknown or bad.
    """
    return _told[T](Given([], None, arguments()), defaults^).take()


def read_settings[
    T: Movable & Deinitable
](prefix: StringSpan) raises SettingsError -> Settings[T]:
    """Reads a plain struct from the environment and from the arguments of the
    program, which win; `--help` is answered as by `read_args`.

        var settings = read_settings[Shop]("SHOP_")
        print(settings)

    Parameters:
        T: The struct; see `read_env`.

    Args:
        prefix: What names of its variables begin with.

    Returns:
        The struct, and where each value comes from.

    Raises:
        SettingsError: All that is unknown, missing or bad.
    """
    return _told[T](
        Given(environment_texts(), String(prefix), arguments()), None
    )


def read_settings[
    T: Movable & Deinitable
](prefix: StringSpan, var defaults: T) raises SettingsError -> Settings[T]:
    """Reads a plain struct from the environment and from the arguments of the
    program, with defaults of one's own.

    Parameters:
        T: The struct.

    Args:
        prefix: What names of its variables begin with.
        defaults: What holds where nothing is given.

    Returns:
        The struct, and where each value comes from.

    Raises:
        SettingsError: All that is unknown or bad.
    """
    return _told[T](
        Given(environment_texts(), String(prefix), arguments()), defaults^
    )


def arguments() -> List[String]:
    """Copies the arguments of the program, without its name."""
    var texts = List[String]()
    for index in range(1, len(argv())):
        texts.append(String(argv()[index]))
    return texts^


@fieldwise_init
struct Given(Copyable, Movable):

    var environment: List[String]
    """Entries as `NAME=value`."""
    var prefix: Optional[String]
    """What names of variables begin with; nothing if none are read."""
    var arguments: List[String]
    """The arguments after the program's name."""


def _told[
    T: Movable & Deinitable
](given: Given, var defaults: Optional[T]) raises SettingsError -> Settings[T]:
    """Answers `--help`, which ends the program."""
    try:
        return settings_of[T](given, defaults^)
    except error:
        if error.help.byte_length() > 0:
            _print(error.help)
            exit(0)
        raise error^


def _print(text: String):
    var octets = text.as_bytes()
    while len(octets) > 0:
        var count = write_from(STANDARD_OUTPUT, octets)
        if count <= 0:
            return
        octets = octets.after(count)


def settings_of[
    T: Movable & Deinitable
](given: Given, var defaults: Optional[T]) raises SettingsError -> Settings[T]:
    """Makes a struct of what a program was started with, and tells where each
    value comes from; without defaults the struct's own hold. Raises all that is
    wrong; or that help is wanted."""
    var place = unsafe_stack_allocation[1, T]().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    var reader = _Reader()
    var has_defaults = Bool(defaults)
    if has_defaults:
        place.unsafe_write(defaults.take())
        reader.fields.note_made(place)
    reader.fields.add_struct(place, "", has_defaults)
    if reader.read(given):
        var found = List[GroupProblem]()
        add_problems(place[], "", found)
        reader.add_problems_of_groups(found)
    if len(reader.problems) > 0 or reader.help.byte_length() > 0:
        reader.fields.drop_all()
        raise SettingsError(reader.problems.copy(), reader.help)
    return Settings(place.unsafe_take_pointee(), reader.rows())


struct _Reader(Movable):
    """Reads what is given into the fields of a struct."""

    var fields: SettingFields
    var problems: List[String]
    var help: String

    def __init__(out self):
        self.fields = SettingFields()
        self.problems = []
        self.help = String()

    def read(mut self, given: Given) -> Bool:
        """Reads all; False if something is wrong or help is wanted."""
        self._check_names()
        if given.prefix:
            self._read_environment(given.environment, given.prefix.held())
        self._read_arguments(given)
        self._complete(given)
        return len(self.problems) == 0 and self.help.byte_length() == 0

    def _check_names(mut self):
        for index in range(len(self.fields.fields)):
            ref name = self.fields.fields.at(index).name
            if self.fields.find(name) < index:
                self.problems.append(
                    Text()
                    .add("two fields are called ")
                    .add(name)
                    .add("; call one otherwise, or put it into a struct")
                    .end()
                )

    def _read_environment(mut self, entries: List[String], prefix: String):
        var seen = List[String]()
        for ref entry in entries:
            var octets = entry.as_bytes()
            var end = find_octet(octets, 61)
            if end == len(octets):
                # No variable, but whoever starts a program may hand it over.
                continue
            var name = String(from_utf8_lossy=octets.before(end))
            # The first of two counts, as for getenv.
            if not name.startswith(prefix) or name in seen:
                continue
            seen.append(name)
            var index = -1
            for number in range(len(self.fields.fields)):
                if name == variable_name(
                    prefix, self.fields.fields.at(number).name
                ):
                    index = number
            if index >= 0:
                self._set(index, octets.after(end + 1), name)
            elif prefix.byte_length() > 0:
                self._refuse_variable(name, prefix)

    def _refuse_variable(mut self, name: String, prefix: String):
        var names = List[String]()
        for ref field in self.fields.fields:
            names.append(variable_name(prefix, field.name))
        var line = Text().add_escaped(name.as_bytes())
        line = line^.add(" names no setting")
        line = line^.add(nearest(name, names))
        self.problems.append(line^.add("; unset it or correct it").end())

    def _read_arguments(mut self, given: Given):
        var index = 0
        ref arguments = given.arguments
        while index < len(arguments):
            var octets = arguments.at(index).as_bytes()
            index += 1
            var end = find_octet(octets, 61)
            var name = String(from_utf8_lossy=octets.before(end))
            if name == "--help" or name == "-h":
                self.help = help_text(self.fields.fields, given.prefix)
                continue
            var found = self._find_option(name)
            if found < 0:
                # What follows is likely to be its value, which may be a secret.
                if (
                    name.startswith("--")
                    and end == len(octets)
                    and index < len(arguments)
                    and not arguments.at(index).startswith("-")
                ):
                    index += 1
                continue
            if end < len(octets):
                self._set(found, octets.after(end + 1), name)
            elif self.fields.fields.at(found).is_flag:
                comptime TRUE = StaticString("true")
                self._set(found, TRUE.as_bytes(), name)
            elif index < len(arguments) and not arguments.at(index).startswith(
                "--"
            ):
                self._set(found, arguments.at(index).as_bytes(), name)
                index += 1
            else:
                self.problems.append(
                    Text()
                    .add(name)
                    .add(" needs a value, as in ")
                    .add(name)
                    .add("=")
                    .add(placeholder(self.fields.fields.at(found)))
                    .end()
                )

    def _find_option(mut self, name: String) -> Int:
        """Finds the field of an option; notes a problem if there is none."""
        var names = List[String]()
        for index in range(len(self.fields.fields)):
            names.append(option_name(self.fields.fields.at(index).name))
            if names.at(index) == name:
                return index
        var line = Text().add_escaped(name.as_bytes())
        if name.startswith("-"):
            line = line^.add(" is no option").add(nearest(name, names))
        else:
            line = line^.add(" is no option; they begin with --, and a Bool's")
            line = line^.add(" value is given as --name=false")
        self.problems.append(line^.add("; see --help").end())
        return -1

    def _set(mut self, index: Int, octets: Span[UInt8, _], origin: String):
        """Reads the text that is given for a field."""
        ref field = self.fields.fields.at(index)
        var failure = Optional[TextError](None)
        var text = String(from_utf8_lossy=octets)
        if text.as_bytes() != octets:
            self.problems.append(Text().add(origin).add(" is not UTF-8").end())
            return
        var texts = List[String]()
        if field.is_list:
            if text.byte_length() > 0:
                for part in text.split(","):
                    texts.append(String(part.strip()))
        else:
            texts.append(in_plain_units(text, field.unit))
        if field.read(field.place, texts, field.is_made, failure):
            field.is_made = True
            field.origin = origin
            return
        field.is_bad = True
        var line = Text().add(origin)
        if len(octets) == 0:
            line = line^.add(" is empty")
        else:
            line = line^.add(" is '").add_escaped(octets).add("'")
        var allowed = allowed_of(field)
        if allowed.byte_length() > 0:
            line = line^.add("; it takes ").add(allowed)
        elif failure:
            line = line^.add(", which ").add(failure.held().reason)
        self.problems.append(line^.end())

    def _complete(mut self, given: Given):
        """Makes what may be absent, and names what is missing."""
        for ref field in self.fields.fields:
            if field.is_made or field.is_bad or self.help.byte_length() > 0:
                continue
            var failure = Optional[TextError](None)
            if field.may_be_absent:
                field.is_made = field.read(field.place, [], False, failure)
                continue
            var line = Text()
            if given.prefix:
                line = line^.add(variable_name(given.prefix.held(), field.name))
                line = line^.add(" (or ").add(option_name(field.name)).add(")")
            else:
                line = line^.add(option_name(field.name))
            line = line^.add(" is missing")
            var allowed = allowed_of(field)
            if allowed.byte_length() > 0:
                line = line^.add("; it takes ").add(allowed)
            self.problems.append(line^.end())

    def add_problems_of_groups(mut self, found: List[GroupProblem]):
        """Takes problems of several fields, and adds where the fields come from."""
        for ref problem in found:
            var line = Text().add(problem.text)
            for ref field in self.fields.fields:
                if (
                    field.origin.byte_length() > 0
                    and problem.names(field.name)
                    and field.origin not in problem.text
                ):
                    line = line^.add("; ").add(field.name)
                    line = line^.add(" is from ").add(field.origin)
            self.problems.append(line^.end())

    def rows(self) -> List[SettingInForce]:
        var rows = List[SettingInForce]()
        for ref field in self.fields.fields:
            var value = Text()
            var octets = field.show(field.place)
            value = value^.add_escaped(octets.as_bytes())
            var origin = field.origin
            if origin.byte_length() == 0:
                origin = String("default")
            rows.append(SettingInForce(field.name, value^.end(), origin^))
        return rows^
