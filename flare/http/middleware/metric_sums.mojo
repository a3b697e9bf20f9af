"""Sums of figures that several processes tell as Prometheus text; pure."""

from flare.bytes.checked import *
from flare.bytes.digits import read_digits

comptime _MICRO = 1_000_000
comptime _MICRO_DIGITS = 6
# An Int holds 18 digits.
comptime _WHOLE_DIGITS_MAX = 18


struct MetricSums(Defaultable, Movable):
    """What the figures of several processes come to.

    Lines with the same name and labels are added up, in the order in which they
    came first. Numbers have at most six digits after the point; of others, such
    as `NaN` or `1e9`, the one that was told last stands. What the text has
    beside figures, `# HELP` and `# TYPE`, is written once.
    """

    var _families: List[_Family]
    # By the name of the family, and by a figure's name with its labels.
    var _family_indices: Dict[String, Int]
    var _figure_indices: Dict[String, Int]
    var _figures: List[_Figure]

    @no_inline
    def __deinit__(deinit self):
        return

    def add(mut self, text: StringSpan, *, has_ended: Bool = False):
        """Adds what a process tells, in the text format of Prometheus. If it is
        no more, what it has counted stays, and what it had, its gauges, is
        passed over."""
        var family = -1
        for line in text.split("\n"):
            if line.byte_length() == 0:
                continue
            if line.startswith("# "):
                family = self._take_comment(line, family)
                continue
            var end = line.rfind(" ")
            if end <= 0:
                continue
            var key = String(line[byte=0:end])
            if family < 0:
                family = self._family(_name_of(key))
            if has_ended and not self._families.at(family).counts:
                continue
            self._add_figure(family, key^, line[byte = end + 1 :])

    def write_to(self, mut text: String):
        """Writes the sums in the text format of Prometheus."""
        for index in range(len(self._families)):
            ref family = self._families.at(index)
            if len(family.figures) == 0:
                continue
            text.write(family.head)
            for figure in family.figures:
                self._figures.at(figure).write_to(text)

    def keep(mut self, other: Self):
        """Drops the figures that another one does not have."""
        for index in range(len(self._families)):
            ref family = self._families.at(index)
            var held = List[Int]()
            for figure in family.figures:
                if self._figures.at(figure).key in other._figure_indices:
                    held.append(figure)
            family.figures = held^

    def _take_comment(mut self, line: StringSpan, family: Int) -> Int:
        """Reads `# HELP name ...` or `# TYPE name kind`; gives the family of the
        figures after it."""
        var words = line.split(" ", 3)
        if len(words) < 4 or not (
            words.at(1) == "HELP" or words.at(1) == "TYPE"
        ):
            return family
        var index = self._family(String(words.at(2)))
        ref found = self._families.at(index)
        if words.at(1) == "TYPE":
            if found.has_kind:
                return index
            found.has_kind = True
            found.counts = not (
                words.at(3) == "gauge" or words.at(3) == "untyped"
            )
        elif found.has_help:
            return index
        else:
            found.has_help = True
        found.head.write(line, "\n")
        return index

    def _family(mut self, name: String) -> Int:
        var known = self._family_indices.get(name)
        if known:
            return known.value()
        self._families.append(_Family())
        self._family_indices[name] = len(self._families) - 1
        return len(self._families) - 1

    def _add_figure(mut self, family: Int, var key: String, value: StringSpan):
        var known = self._figure_indices.get(key)
        if known:
            self._figures.at(known.value()).add(value)
            return
        self._figure_indices[key] = len(self._figures)
        self._families.at(family).figures.append(len(self._figures))
        self._figures.append(_Figure(key^))
        self._figures.at(len(self._figures) - 1).add(value)


struct _Family(Copyable, Defaultable, Movable):
    """Figures of one name."""

    var head: String
    var has_help: Bool
    var has_kind: Bool
    # Whether they only grow; gauges go up and down.
    var counts: Bool
    var figures: List[Int]


struct _Figure(Copyable, Movable):
    """One line."""

    var key: String
    var whole: Int
    # Of the same sign as what it was read from.
    var micro: Int
    var has_point: Bool
    # In place of a number; empty if it is one.
    var text: String

    def __init__(out self, var key: String):
        self.key = key^
        self.whole = 0
        self.micro = 0
        self.has_point = False
        self.text = String()

    def add(mut self, value: StringSpan):
        var octets = value.as_bytes()
        var is_negative = len(octets) > 0 and octets.at(0) == UInt8(ord("-"))
        var place = Int(is_negative)
        var point = value.find(".")
        var end = point if point >= 0 else len(octets)
        var whole = _digits(octets.between(min(place, end), end))
        var micro = 0
        if point >= 0:
            var digits = octets.after(point + 1)
            micro = _digits(digits) if len(digits) <= _MICRO_DIGITS else -1
            for _ in range(_MICRO_DIGITS - len(digits)):
                micro *= 10
        if whole < 0 or micro < 0:
            self.text = String(value)
            return
        self.text = String()
        self.has_point |= point >= 0
        self.whole += -whole if is_negative else whole
        self.micro += -micro if is_negative else micro

    def write_to(self, mut text: String):
        text.write(self.key, " ")
        if self.text.byte_length() > 0:
            text.write(self.text, "\n")
            return
        # Rounded down, so that what is after the point is never negative.
        var whole = self.whole + self.micro // _MICRO
        var micro = self.micro % _MICRO
        if whole < 0 and micro > 0:
            whole += 1
            micro = _MICRO - micro
            if whole == 0:
                text.write("-")
        text.write(whole)
        if self.has_point:
            var fraction = String(micro)
            text.write(".")
            for _ in range(_MICRO_DIGITS - fraction.byte_length()):
                text.write("0")
            text.write(fraction)
        text.write("\n")


def _digits(octets: Span[UInt8, _]) -> Int:
    """Reads digits; -1 if there are none, or too many, or others."""
    return read_digits(octets, _WHOLE_DIGITS_MAX)


def _name_of(key: String) -> String:
    var brace = key.find("{")
    return key if brace < 0 else String(key[byte=0:brace])
