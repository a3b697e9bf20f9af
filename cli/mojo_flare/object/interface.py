"""Makes two trees of sources out of the library's: the interface that programs
are built with, and the machine that is compiled once.

Both have the same structs. A function whose types are all known is in the
machine; in the interface its body is one call through a table of functions
that the machine fills. What depends on types of the program's own (generic
functions), is run by the compiler, or is so short that a call would cost more
stays as it is. Whatever the interface does not reach any more is left out, so
that the compiler does not read it again with each program.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from mojo_flare.object.border import Border, Row
from mojo_flare.object.library import Library
from mojo_flare.object.source import (
    SELF,
    Definition,
    Module,
    blank,
    bracket_end,
    code_lines,
    docs_end,
    signature,
    without_docs,
    words,
)

SHORT_LEN = 2
"""Most lines of a body that stays as it is, since a call would be no shorter."""

_KNOWN_TRAITS = frozenset(
    "Movable Copyable Deinitable ImplicitlyCopyable Writable Equatable Comparable"
    " TrivialRegisterPassable Defaultable Hashable Sized Boolable Writer".split()
)
_KEPT_DECORATORS = ("@always_inline", "@inline", "@export", "@parameter")
_METHOD = re.compile(r"\.([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\(")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\(")
_MEMBER = re.compile(r"\.([A-Za-z_]\w*)")


@dataclass
class Part:
    """A function, or the rest of a definition, as the interface has it."""

    lines: list[str]
    names: "Names"
    row: Row | None = None
    body: list[str] = field(default_factory=list)
    """What the compiler runs in place of the row; nothing if it never does."""


@dataclass
class Names:
    """What a text names."""

    all: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    """Those behind a dot, so that they may be methods."""

    def add(self, text: str) -> None:
        self.all |= words(text)
        self.members.update(_MEMBER.findall(text))


@dataclass
class Node:
    """A definition at the top of a module, with all of its overloads."""

    module: str
    name: str
    frame_names: Names = field(default_factory=Names)
    functions: list[tuple[Definition, Part]] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)


@dataclass(frozen=True)
class Unit:
    """What is compiled as one, and what it is compiled with as it stands."""

    holds: tuple[str, ...]
    inside: tuple[str, ...]


def _flat(name: str) -> str:
    return name.replace(".", "_")


class Interface:
    """What programs see of a library, and what the machine has to hold for it."""

    def __init__(
        self,
        library: Library,
        exported: list[tuple[str, str]],
        kept: set[str],
        units: dict[str, "Unit"],
        run_by_compiler: frozenset[str] = frozenset(),
    ) -> None:
        self.library = library
        self._run_by_compiler = run_by_compiler
        self.kept = kept | library.below(tuple(kept))
        self.units = {name: library.below(unit.holds) for name, unit in units.items()}
        taken = set().union(*self.units.values())
        free = set(library.modules) - library.fronts - taken
        self._inside = {name: library.below(unit.inside) for name, unit in units.items()}
        for name, unit in units.items():
            if not unit.holds:
                self.units[name] = free
        self.nodes: dict[tuple[str, str], Node] = {}
        self.comptime_names: set[tuple[str, str]] = set()
        for module in library.modules.values():
            self._note_nodes(module)
        self._asked_by_traits = {
            member.name
            for module in library.modules.values()
            for made in module.definitions
            if made.kind == "trait"
            for member in made.members
        }
        self._note_comptime()
        for node in self.nodes.values():
            self._make(node)
        self.reached = self._reach(exported + self._needs_of_units())
        self._number()

    # What there is.

    def _note_nodes(self, module: Module) -> None:
        for made in module.definitions:
            key = (module.name, made.name)
            self.nodes.setdefault(key, Node(*key)).definitions.append(made)

    def _note_comptime(self) -> None:
        """Notes what the compiler runs: called by constants, and all within."""
        found: set[tuple[str, str]] = set()
        self.comptime_methods: set[int] = set()
        self._structs: dict[str, list[tuple[Module, Definition]]] = {}
        queue: list[tuple[str, str]] = []
        for module in self.library.modules.values():
            for statement in _comptime_statements(module):
                self._follow(module, statement, found, queue)
            for made in _functions(module):
                for argument in signature(made).arguments:
                    if argument.default:
                        self._follow(module, argument.default, found, queue)
            for made in module.definitions:
                self._follow_members(module, made, self._run_by_compiler, found, queue)
        while queue:
            place = queue.pop()
            module = self.library.modules[place[0]]
            for made in self.nodes[place].definitions:
                runs = [made] if made.kind == "def" else [
                    x for x in made.members if x.name == "__init__"
                ]
                for run in runs:
                    text = module.blanked(run.line, run.end)
                    self._follow(module, SELF.sub(made.name, text), found, queue)
        self.comptime_names = found

    def _follow(
        self,
        module: Module,
        text: str,
        found: set[tuple[str, str]],
        queue: list[tuple[str, str]],
    ) -> None:
        """Notes what code calls that the compiler runs."""
        for name in _CALL.findall(text):
            called = self.library.find(module.name, name)
            if called and called not in found:
                found.add(called)
                queue.append(called)
        methods = set(_METHOD.findall(text))
        for other, made in self._structs_of(module):
            self._follow_members(other, made, methods, found, queue)

    def _follow_members(
        self,
        module: Module,
        made: Definition,
        names: Set[str],
        found: set[tuple[str, str]],
        queue: list[tuple[str, str]],
    ) -> None:
        """Notes methods that the compiler runs, and what they call."""
        for member in made.members:
            if member.name in names and id(member) not in self.comptime_methods:
                self.comptime_methods.add(id(member))
                within = module.blanked(member.line, member.end)
                within = SELF.sub(made.name, within)
                self._follow(module, within, found, queue)

    def _structs_of(self, module: Module) -> list[tuple[Module, Definition]]:
        """Lists the structs that a module makes or names."""
        if module.name not in self._structs:
            places = {self.library.find(*x) for x in module.imports.values()} - {None}
            names = {module.name} | {place[0] for place in places}
            self._structs[module.name] = [
                (self.library.modules[name], made)
                for name in sorted(names)
                for made in self.library.modules[name].definitions
                if made.kind == "struct"
            ]
        return self._structs[module.name]

    # What becomes of each definition.

    def _make(self, node: Node) -> None:
        module = self.library.modules[node.module]
        for made in node.definitions:
            if made.kind == "def":
                node.functions.append((made, self._function(module, made, None)))
                continue
            for piece in _pieces(module, made):
                if isinstance(piece, Definition):
                    node.functions.append((piece, self._function(module, piece, made)))
                else:
                    node.frame_names.add(blank("\n".join(piece)))

    def _function(
        self, module: Module, made: Definition, owner: Definition | None
    ) -> Part:
        row = None
        if self._may_move(module, made, owner):
            row = self._row(module, made, owner)
        names = Names()
        header = module.lines[made.start : made.body]
        body: list[str] = []
        if row is None or self._is_run_by_compiler(module, made, owner):
            body = _body_lines(module.lines[made.body : made.end], made.indent + 4)
        names.add(blank("\n".join(header + body)))
        if row is None:
            if owner and owner.kind == "trait":
                names.members.add(made.name)  # what conforms to it has it
            return Part(header + body, names)
        names.add(row.type)
        return Part(header, names, row, body)

    def _is_run_by_compiler(
        self, module: Module, made: Definition, owner: Definition | None
    ) -> bool:
        """Tells whether the compiler may run a function, beside programs."""
        if id(made) in self.comptime_methods:
            return True
        place = (module.name, owner.name if owner else made.name)
        return place in self.comptime_names and (owner is None or made.name == "__init__")

    def _may_move(
        self, module: Module, made: Definition, owner: Definition | None
    ) -> bool:
        if any(x.startswith(_KEPT_DECORATORS) for x in made.decorators):
            return False
        place = (module.name, owner.name if owner else made.name)
        name = f"{module.name}.{owner.name + '.' if owner else ''}{made.name}"
        if module.name in self.kept or name in self.kept or ".".join(place) in self.kept:
            return False
        if owner and (owner.kind != "struct" or made.name == "__deinit__"):
            return False
        body = _body_lines(module.code[made.body : made.end], made.indent + 4)
        return len([x for x in body if x.strip()]) > SHORT_LEN

    def _row(
        self, module: Module, made: Definition, owner: Definition | None
    ) -> Row | None:
        known = signature(made)
        if not known.is_plain:
            return None
        return Border(self.library, module.name, known, made, owner).row()

    def inside(self, unit: str) -> set[str]:
        """Lists the modules that a unit is compiled with as they stand."""
        return self.units[unit] | self._inside[unit]

    def _needs_of_units(self) -> list[tuple[str, str]]:
        """Lists what units name of each other."""
        self._members: dict[str, set[str]] = {unit: set() for unit in self.units}
        found = set()
        for unit in self.units:
            inside = self.inside(unit)
            for name in inside:
                module = self.library.modules[name]
                outside = False
                for source, there in module.imports.values():
                    place = self.library.find(source, there)
                    if place and place[0] not in inside:
                        found.add(place)
                        outside = True
                for star in module.stars:
                    if star in self.library.modules and star not in inside:
                        outside = True
                if outside:
                    self._members[unit].update(_MEMBER.findall("\n".join(module.code)))
        return sorted(found)

    # What is reached.

    def _reach(self, roots: list[tuple[str, str]]) -> dict[tuple[str, str], set[int]]:
        """Walks from the roots; gives the functions kept of each definition."""
        reached: dict[tuple[str, str], set[int]] = {}
        exported = set(roots)
        used: set[tuple[str, str]] = set()
        waiting: dict[tuple[str, str], list[tuple[tuple[str, str], int]]] = defaultdict(list)
        queue: list[tuple[tuple[str, str], int]] = []

        def use(module: str, names: Names) -> None:
            for name in names.all:
                if place := self.library.find(module, name):
                    enter(place)
            for name in names.members:
                member = self._member(module, name)
                if member not in used:
                    used.add(member)
                    queue.extend(waiting.pop(member, ()))

        def enter(place: tuple[str, str]) -> None:
            if place in reached:
                return
            reached[place] = set()
            node = self.nodes[place]
            for index, (made, _) in enumerate(node.functions):
                if self._is_needed(node, made, place in exported, used):
                    queue.append((place, index))
                else:
                    waiting[self._member(place[0], made.name)].append((place, index))
            use(place[0], node.frame_names)
            for star in self.library.modules[place[0]].stars:
                if star in self.library.modules:
                    for made in self.library.modules[star].definitions:
                        enter((star, made.name))

        for module in self.library.modules.values():
            if module.name in {place[0] for place in roots}:
                for made in module.definitions:
                    if made.kind == "__extension":
                        enter((module.name, made.name))
        for place in roots:
            enter(place)
        while True:
            while queue:
                place, index = queue.pop()
                if index in reached[place]:
                    continue
                reached[place].add(index)
                use(place[0], self.nodes[place].functions[index][1].names)
            # Extensions of the modules that are there.
            before = len(reached)
            there = {place[0] for place in reached}
            for name in there:
                for made in self.library.modules[name].definitions:
                    if made.kind == "__extension":
                        enter((name, made.name))
            if len(reached) == before and not queue:
                return reached

    def _member(self, module: str, name: str) -> tuple[str, str]:
        """Tells methods apart: only its own module calls a private one, unless a
        trait asks for it."""
        is_private = name.startswith("_") and name not in self._asked_by_traits
        return (module if is_private else "", name)

    def _is_needed(
        self, node: Node, made: Definition, is_exported: bool, used: set[tuple[str, str]]
    ) -> bool:
        if made.indent == 0 or made.name.startswith("__"):
            return True
        if self._member(node.module, made.name) in used or self._is_named_elsewhere(node, made):
            return True
        if made.name in ("write_to", "write_repr_to", "write_string"):
            return True
        first = node.definitions[0]
        is_trait = first.kind in ("trait", "__extension")
        is_trait = is_trait or bool(self._foreign_traits(node.module, first))
        return is_trait or (is_exported and not made.name.startswith("_"))

    def _is_named_elsewhere(self, node: Node, made: Definition) -> bool:
        """Tells whether a unit names a method that is compiled outside of it."""
        return not made.name.startswith("_") and any(
            made.name in members and node.module not in self.inside(unit)
            for unit, members in self._members.items()
        )

    def _foreign_traits(self, module: str, made: Definition) -> set[str]:
        """Names the traits of a struct that may ask for methods of any name."""
        found = re.search(r"\(([^()]*)\)\s*:$", made.header)
        names = words(found[1]) if found else set()
        return {
            name
            for name in names - _KNOWN_TRAITS
            if name[0].isupper() and not self.library.find(module, name)
        }

    # What is written.

    def _number(self) -> None:
        self.rows: dict[str, list[Row]] = defaultdict(list)
        for name, module in self.library.modules.items():
            for made in module.definitions:
                place = (name, made.name)
                if place not in self.reached or made is not self.nodes[place].definitions[0]:
                    continue
                for index in sorted(self.reached[place]):
                    row = self.nodes[place].functions[index][1].row
                    if row:
                        row.number = len(self.rows[name])
                        self.rows[name].append(row)

    def table(self, name: str, is_machine: bool) -> list[str]:
        """Writes the table of a module."""
        rows = self.rows[name]
        lines = ["", "", "struct _ObjectTable(TrivialRegisterPassable):"]
        lines += [f"    var f{row.number}: {row.type}" for row in rows]
        if not is_machine:
            return lines + [
                "",
                "",
                "@always_inline",
                "def _object() -> ref[ImmUntrackedOrigin] _ObjectTable:",
                f'    return object_table["{_flat(name)}"]().unsafe_bitcast[_ObjectTable]()[]',
            ]
        lines += ["", "    def __init__(out self):"]
        lines += [f"        self.f{row.number} = _object_{row.number}" for row in rows]
        for row in rows:
            lines += ["", ""] + [x.replace("{N}", str(row.number)) for x in row.wrapper]
        return lines

    def write_unit(
        self, unit: str, folder: Path, identity: str, symbols: list[str]
    ) -> Path:
        """Writes the sources of a unit of the machine, and its main file; each
        table gets a symbol for each of some beginnings."""
        inside = self.inside(unit)
        self.write_interface(folder, inside)
        main = ['"""What is compiled once."""', ""]
        exports: list[str] = []
        for name in sorted(inside):
            module = self.library.modules[name]
            # Whoever edits a docstring compiles nothing anew.
            text = without_docs(module)
            if self.rows.get(name) and name in self.units[unit]:
                text += "\n".join(self.table(name, True)) + "\n"
                main.append(f"from {name} import _ObjectTable as _Table{len(exports)}")
                exports.append(name)
            _write(folder, self._path(name), text)
        main += ["from std.builtin.globals import global_constant", ""]
        for number, name in enumerate(exports):
            main += ["", f"comptime _TABLE_{number} = _Table{number}()"]
            for level, symbol in enumerate(symbols):
                main += [
                    "",
                    "",
                    f'@export("{symbol}_{_flat(name)}")',
                    f'def table_{number}_{level}() abi("C") -> OpaquePointer[ImmUntrackedOrigin]:',
                    f"    return Pointer(to=global_constant[_TABLE_{number}]()).unsafe_bitcast[NoneType]().unsafe_origin_cast[ImmUntrackedOrigin]()",
                ]
        if unit == next(iter(self.units)):
            main += [
                "",
                "",
                '@export("flare_object_identity")',
                'def identity() abi("C") -> ImmPointer[UInt8, ImmUntrackedOrigin]:',
                f'    return "{identity}".ptr().unsafe_bitcast[UInt8]().unsafe_origin_cast[ImmUntrackedOrigin]()',
            ]
        path = folder / f"flare_{unit}.mojo"
        path.write_text("\n".join(main) + "\n")
        return path

    def write_interface(self, folder: Path, without: set[str] = frozenset()) -> None:
        """Writes what programs are built with."""
        names = {place[0] for place in self.reached}
        fronts = {x for x in self.library.fronts if self._front_lines(x, names)}
        for name in sorted(names | fronts | self._parents(names | fronts)):
            if name not in self.library.modules or name in without:
                continue
            if name in self.library.fronts:
                lines = self._front_lines(name, names)
            else:
                lines = self._module_lines(name)
            _write(folder, self._path(name), "\n".join(lines) + "\n")

    def _parents(self, names: set[str]) -> set[str]:
        found = set()
        for name in names:
            while "." in name:
                name = name.rpartition(".")[0]
                found.add(name)
        return found

    def _path(self, name: str) -> Path:
        path = Path(*name.split("."))
        return path / "__init__.mojo" if name in self.library.fronts else path.with_suffix(".mojo")

    def _front_lines(self, name: str, modules: set[str]) -> list[str]:
        module = self.library.modules[name]
        lines = []
        for here, (source, there) in module.imports.items():
            place = self.library.find(source, there)
            if place in self.reached or place is None and not source.startswith("flare"):
                lines.append(_import_line(source, there, here))
        for made in module.definitions:
            lines += module.lines[made.start : made.end]
        return lines

    def _module_lines(self, name: str) -> list[str]:
        module = self.library.modules[name]
        lines: list[str] = []
        for made in module.definitions:
            place = (name, made.name)
            if place in self.reached:
                lines += ["", ""] + self._definition_lines(module, made, place)
        if self.rows.get(name):
            lines += self.table(name, False)
        used = words(blank("\n".join(lines)))
        imports = []
        for here, (source, there) in module.imports.items():
            if here in used:
                imports.append(_import_line(source, there, here))
        imports += [f"from {star} import *" for star in module.stars]
        if self.rows.get(name):
            imports.append("from flare.object_table import object_table")
        return imports + lines

    def _definition_lines(
        self, module: Module, made: Definition, place: tuple[str, str]
    ) -> list[str]:
        node = self.nodes[place]
        kept = self.reached[place]
        parts = {id(d): (i, p) for i, (d, p) in enumerate(node.functions)}
        if made.kind == "def":
            return self._part_lines(made, parts[id(made)][1])
        lines: list[str] = []
        for piece in _pieces(module, made):
            if isinstance(piece, Definition):
                index, part = parts[id(piece)]
                if index in kept:
                    lines += [""] + self._part_lines(piece, part)
            else:
                lines += piece
        has_body = any(
            x.startswith(" ") for x in lines[made.body - made.start :] if x.strip()
        )
        if not has_body and made.kind in ("struct", "trait"):
            lines.append("    pass")
        return lines

    def _part_lines(self, made: Definition, part: Part) -> list[str]:
        if part.row is None:
            return part.lines
        lead = " " * (made.indent + 4)
        calls = [x.replace("{N}", str(part.row.number)) for x in part.row.body]
        if not part.body:
            return part.lines + [lead + x for x in calls]
        if not calls[-1].startswith("return "):
            calls.append("return")
        return (
            part.lines
            + [lead + "if not __is_run_in_comptime_interpreter:"]
            + [lead + "    " + x for x in calls]
            + part.body
        )


def _import_line(source: str, there: str, here: str) -> str:
    return f"from {source} import {there}" + (f" as {here}" if here != there else "")


def _write(folder: Path, path: Path, text: str) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def _functions(module: Module) -> list[Definition]:
    """Lists all functions and methods of a module."""
    found = []
    for made in module.definitions:
        found += [made] if made.kind == "def" else [
            x for x in made.members if x.kind == "def"
        ]
    return found


def _comptime_statements(module: Module) -> list[str]:
    """Gives the statements that the compiler runs."""
    found = []
    for at, line in enumerate(module.code):
        if re.match(r"\s*comptime\b", line):
            # The body of a `comptime if` is no part of its condition.
            statement = " ".join(module.code[at : bracket_end(module.code, at)])
            owners = [x for x in module.definitions if x.start <= at < x.end]
            if owners and owners[0].kind != "def":
                statement = SELF.sub(owners[0].name, statement)
            found.append(statement)
    return found


def _pieces(module: Module, made: Definition) -> Iterator[Definition | list[str]]:
    """Gives a definition in order: its functions, and the code around them, which
    is its header and its fields."""
    at = made.start
    for member in made.members:
        if member.kind == "def":
            yield code_lines(module.lines[at : member.start])
            yield member
            at = member.end
    yield code_lines(module.lines[at : made.end])


def _body_lines(lines: list[str], indent: int) -> list[str]:
    """Gives a body without its docstring and comments."""
    at = next((n for n, line in enumerate(lines) if line.strip()), 0)
    rest = code_lines(lines[docs_end(lines, at) :], has_docs=False)
    return rest if rest else [" " * indent + "pass"]
