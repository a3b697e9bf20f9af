"""Rules of the fields of a struct: kept by what is read, told by its schema."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.json.writer import append_json_string
from std.reflection import reflect

comptime _NOTHING = 0
comptime _NUMBER = 1
comptime _TEXT = 2
comptime _LIST = 3


@fieldwise_init
struct FieldRule(Copyable, Movable):
    """What holds for one field."""

    var field: StaticString
    """The field's name."""
    var kind: Int
    """What a field has to be: a number, a text or a list."""
    var least: Int
    """The least value or length; the least `Int` for none."""
    var most: Int
    """The greatest value or length; the greatest `Int` for none."""
    var pattern: StaticString
    """Of a text; empty if the rule is no pattern."""

    def misfit(self, kind: Int) -> StaticString:
        """Tells why a field of another kind cannot have the rule, by the rest
        of a sentence; empty if it can.

        Args:
            kind: What the field is.
        """
        if self.kind == kind:
            return ""
        if self.kind == _NUMBER:
            return "is no number, and has no least or greatest value"
        if self.kind == _TEXT:
            return "is no String, and has neither length nor pattern"
        return "is no List, and has no count of elements"

    def is_kept_by(self, measured: _Measured) -> Bool:
        """Tells whether a value keeps the rule: also one that is not there, and
        every text where the rule is a pattern.

        Args:
            measured: What rules look at of the value.
        """
        if self.pattern.byte_length() > 0 or measured.kind == _NOTHING:
            return True
        if measured.is_real:
            var is_enough = self.least == Int.MIN or measured.real >= Float64(
                self.least
            )
            var is_little = self.most == Int.MAX or measured.real <= Float64(
                self.most
            )
            return is_enough and is_little
        return self.least <= measured.whole <= self.most

    def reason(self) -> String:
        """Gives what a value must be, such as `must be 1 to 10`, to who has
        sent another."""
        var text = String("must ")
        text.write("be " if self.kind == _NUMBER else "have ")
        var has_least = self.least > (Int.MIN if self.kind == _NUMBER else 0)
        if self.least == self.most:
            text.write(self.least)
        elif has_least and self.most < Int.MAX:
            text.write(self.least, " to ", self.most)
        elif has_least:
            text.write("at least ", self.least)
        else:
            text.write("at most ", self.most)
        if self.kind != _NUMBER:
            text.write(" character" if self.kind == _TEXT else " element")
            var last = self.most if self.most < Int.MAX else self.least
            text.write("" if last == 1 else "s")
        return text^

    def add_keywords(self, schema: String) -> String:
        """Gives a field's schema with the keywords of the rule.

        Args:
            schema: JSON text, of an object.
        """
        var text = schema
        if self.pattern.byte_length() > 0:
            var quoted = Buffer(64)
            append_json_string(quoted, self.pattern)
            var value = StringSpan(unsafe_from_utf8=quoted.span())
            return _with_keyword(text, "pattern", value)
        if self.least > (Int.MIN if self.kind == _NUMBER else 0):
            text = _with_keyword(text, self._keyword(True), String(self.least))
        if self.most < Int.MAX:
            text = _with_keyword(text, self._keyword(False), String(self.most))
        return text^

    def _keyword(self, is_least: Bool) -> StaticString:
        """Source: JSON Schema 2020-12, Validation, section 6."""
        if self.kind == _NUMBER:
            return "minimum" if is_least else "maximum"
        if self.kind == _TEXT:
            return "minLength" if is_least else "maxLength"
        return "minItems" if is_least else "maxItems"


struct FieldRules(Copyable, Movable):
    """The rules of a struct's fields. A field may have several; one that is an
    `Optional` is held to its rules if it is there."""

    var rules: List[FieldRule]
    """The rules, in the order in which they were given."""

    def __init__(out self):
        """Starts without any."""
        self.rules = []

    def at_least(mut self, field: StaticString, least: Int):
        """Bounds a number from below (`minimum`).

        Args:
            field: The field's name.
            least: The least value.
        """
        self._add(field, _NUMBER, least, Int.MAX)

    def at_most(mut self, field: StaticString, most: Int):
        """Bounds a number from above (`maximum`).

        Args:
            most: The greatest value.
        """
        self._add(field, _NUMBER, Int.MIN, most)

    def between(mut self, field: StaticString, least: Int, most: Int):
        """Bounds a number on both sides (`minimum`, `maximum`)."""
        self._add(field, _NUMBER, least, most)

    def length(mut self, field: StaticString, least: Int, most: Int):
        """Bounds the length of a text (`minLength`, `maxLength`).

        Args:
            least: The least number of characters (code points), 0 for none.
            most: The greatest.
        """
        self._add(field, _TEXT, least, most)

    def count(mut self, field: StaticString, least: Int, most: Int):
        """Bounds how many elements a list has (`minItems`, `maxItems`).

        Args:
            least: The least number, 0 for none.
            most: The greatest.
        """
        self._add(field, _LIST, least, most)

    def pattern(mut self, field: StaticString, expression: StaticString):
        """Tells clients which texts are taken (`pattern`). It is told, and not
        checked here, for this library has no regular expressions: a check of
        one's own has to hold texts to it.

        Args:
            expression: A regular expression (ECMA-262).
        """
        self.rules.append(FieldRule(field, _TEXT, 0, Int.MAX, expression))

    def _add(mut self, field: StaticString, kind: Int, least: Int, most: Int):
        self.rules.append(FieldRule(field, kind, least, most, ""))


trait Ruled:
    """Has rules for its fields."""

    @staticmethod
    def rules(mut rules: FieldRules):
        """Gives the rules; there are none by default.

        A rule for a field that is not there, or that does not fit to the
        field's type, does not compile.

        Args:
            rules: Gets them.
        """
        return


@fieldwise_init
struct BrokenRule(Copyable, Movable):

    var field: StaticString
    var reason: String
    """What it must be."""


def broken_rules[T: Ruled](value: T) -> List[BrokenRule]:
    """Holds a struct to its rules; of each field, the first that it breaks
    counts."""
    comptime PROBLEM = rules_problem[T]()
    comptime assert PROBLEM.byte_length() == 0, PROBLEM
    var rules = FieldRules()
    T.rules(rules)
    var broken = List[BrokenRule]()
    if len(rules.rules) == 0:
        return broken^
    comptime for index in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[index]
        comptime NAME = reflect[T].field_names()[index]
        comptime if _kind_of[F]() != _NOTHING:
            _add_broken(
                rules,
                materialize[NAME](),
                _measured(reflect[T].field_ref[index](value)),
                broken,
            )
    return broken^


@no_inline
def _add_broken(
    rules: FieldRules,
    field: StaticString,
    measured: _Measured,
    mut broken: List[BrokenRule],
):
    for ref rule in rules.rules:
        if rule.field == field and not rule.is_kept_by(measured):
            broken.append(BrokenRule(field, rule.reason()))
            return


def rules_problem[T: Ruled]() -> String:
    """Says which rule fits to no field; the compiler asks. Empty if all fit."""
    var rules = FieldRules()
    T.rules(rules)
    for ref rule in rules.rules:
        var why = StaticString("is no field of it")
        comptime for index in range(reflect[T].field_count()):
            comptime F = reflect[T].field_types()[index]
            comptime NAME = reflect[T].field_names()[index]
            if rule.field == materialize[NAME]():
                why = rule.misfit(_kind_of[F]())
        if why.byte_length() == 0 and rule.least > rule.most:
            why = "can keep no such rule: the least is above the greatest"
        if why.byte_length() > 0:
            return String(
                "rules of struct ",
                materialize[reflect[T].base_name()](),
                ": '",
                rule.field,
                "' ",
                why,
            )
    return String()


@no_inline
def ruled_schema(
    rules: FieldRules, field: StaticString, var schema: String
) -> String:
    """Adds the rules of a field, among those of the struct, to its schema, the
    JSON text of an object."""
    for ref rule in rules.rules:
        if rule.field == field:
            schema = rule.add_keywords(schema)
    return schema^


def _with_keyword(
    schema: String, keyword: StaticString, value: StringSpan
) -> String:
    """Adds a member to a JSON object, in place of a number that it had."""
    var text = schema
    var name = String(',"', keyword, '":')
    var start = text.find(name)
    if start >= 0:
        var octets = text.as_bytes()
        var end = start + name.byte_length()
        while (
            end < len(octets) and octets.at(end) != 44 and octets.at(end) != 125
        ):
            end += 1
        text = String(schema[byte=:start], schema[byte=end:])
    var comma = "" if text == "{}" else ","
    var head = text[byte = : text.byte_length() - 1]
    return String(head, comma, '"', keyword, '":', value, "}")


@fieldwise_init
struct _Measured(TrivialRegisterPassable):

    var kind: Int
    var whole: Int
    """A whole number, a length, or a count."""
    var real: Float64
    var is_real: Bool


trait _Measurable:
    """A type of the standard library that holds others."""

    @staticmethod
    def rule_kind() -> Int:
        ...

    def rule_measure(self) -> _Measured:
        ...


def _kind_of[F: AnyType]() -> Int:
    comptime if conforms_to(F, _Measurable):
        return F.rule_kind()
    elif F == String:
        return _TEXT
    elif F == Bool:
        return _NOTHING
    elif F == Float64 or F == Float32 or _is_integer[F]():
        return _NUMBER
    else:
        return _NOTHING


def _is_integer[F: AnyType]() -> Bool:
    comptime IS_SIGNED = (
        F == Int or F == Int64 or F == Int32 or F == Int16 or F == Int8
    )
    return IS_SIGNED or F == UInt64 or F == UInt32 or F == UInt16 or F == UInt8


def _measured[F: AnyType](value: F) -> _Measured:
    comptime if conforms_to(F, _Measurable):
        return value.rule_measure()
    elif F == String:
        return _Measured(
            _TEXT, rebind[String](value).count_codepoints(), 0, False
        )
    elif F == Float64:
        return _Measured(_NUMBER, 0, rebind[Float64](value), True)
    elif F == Float32:
        return _Measured(_NUMBER, 0, Float64(rebind[Float32](value)), True)
    elif F == UInt64:
        # Bounds are an `Int`, so all beyond are alike.
        var number = min(rebind[UInt64](value), UInt64(Int.MAX))
        return _Measured(_NUMBER, Int(number), 0, False)
    elif F == Int:
        return _Measured(_NUMBER, rebind[Int](value), 0, False)
    elif F == Int64:
        return _Measured(_NUMBER, Int(rebind[Int64](value)), 0, False)
    elif F == Int32:
        return _Measured(_NUMBER, Int(rebind[Int32](value)), 0, False)
    elif F == Int16:
        return _Measured(_NUMBER, Int(rebind[Int16](value)), 0, False)
    elif F == Int8:
        return _Measured(_NUMBER, Int(rebind[Int8](value)), 0, False)
    elif F == UInt32:
        return _Measured(_NUMBER, Int(rebind[UInt32](value)), 0, False)
    elif F == UInt16:
        return _Measured(_NUMBER, Int(rebind[UInt16](value)), 0, False)
    elif F == UInt8:
        return _Measured(_NUMBER, Int(rebind[UInt8](value)), 0, False)
    else:
        return _Measured(_NOTHING, 0, 0, False)


__extension Optional(_Measurable):
    @staticmethod
    def rule_kind() -> Int:
        """Tells which rules it may have: those of the value."""
        return _kind_of[Self.T]()

    def rule_measure(self) -> _Measured:
        """Measures a value; nothing, if there is none."""
        if self:
            return _measured(self.value())
        return _Measured(_NOTHING, 0, 0, False)


__extension List(_Measurable):
    @staticmethod
    def rule_kind() -> Int:
        return _LIST

    def rule_measure(self) -> _Measured:
        """Measures how many elements a list has."""
        return _Measured(_LIST, len(self), 0, False)
