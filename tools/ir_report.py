"""Tells where the lines of a program's unoptimised IR come from.

    .venv/bin/python tools/ir_report.py PROGRAM.mojo [--top N] [--find TEXT] [--whole]

Built beside the object that programs are built with, or with the library.
Four lists, each with the most lines first:

functions   each function with its own lines, and the lines that only exist
            because of it: those of all functions that nothing else reaches
modules     lines by the module they stand in, inlined code included
bodies      lines by the function they were written in, wherever they were
            inlined, and into how many functions
instances   functions of one name with different parameters

`--find TEXT` shows for each function with TEXT in its name who refers to it;
`--sites NAME` where functions of that name are inlined, line by line.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from arguments import mojo_source, positive
from toolchain import BUILD, build

NAME = re.compile(r'@("[^"]+"|[\w.$]+)')
DEBUG = re.compile(r"!dbg !(\d+)")
NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$")
FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|![\d]+|[^,]+)')


class Program:
    """Functions, their lines, their references, and where each line is from."""

    def __init__(self, text: str) -> None:
        self.lines: Counter[str] = Counter()
        self.refers: dict[str, set[str]] = {}
        self.places: dict[str, Counter[str]] = {}
        self.nodes: dict[str, tuple[str, dict[str, str]]] = {}
        self.globals: dict[str, set[str]] = {}
        self._read(text)

    def _read(self, text: str) -> None:
        current = ""
        for line in text.splitlines():
            if current:
                if line == "}":
                    current = ""
                elif line.strip():
                    self._read_line(current, line)
            elif line.startswith("define"):
                current = NAME.search(line).group(1).strip('"')
                self.lines[current] = 2
                self.refers[current] = set()
                self.places[current] = Counter()
            elif line.startswith("@"):
                names = [n.strip('"') for n in NAME.findall(line)]
                self.globals[names[0]] = set(names[1:])
            elif line.startswith("!"):
                match = NODE.match(line)
                if match:
                    fields = dict(FIELD.findall(match.group(3)))
                    self.nodes[match.group(1)] = (match.group(2), fields)

    def _read_line(self, current: str, line: str) -> None:
        self.lines[current] += 1
        names = (n.strip('"') for n in NAME.findall(line))
        self.refers[current].update(n for n in names if n != current)
        debug = DEBUG.search(line)
        if debug:
            self.places[current][debug.group(1)] += 1

    def subprogram(self, number: str) -> tuple[str, str]:
        """Names the function and the module of a scope."""
        kind, fields = self.nodes.get(number, ("", {}))
        while kind and kind != "DISubprogram":
            number = fields.get("scope", "!")[1:]
            kind, fields = self.nodes.get(number, ("", {}))
        if not kind:
            return "?", "?"
        file = self.nodes.get(fields.get("file", "!")[1:], ("", {}))[1]
        module = file.get("filename", "?").strip('"').removeprefix("./")
        name = fields.get("linkageName", fields.get("name", "?")).strip('"')
        return name, module

    def chain(self, location: str) -> list[tuple[str, str]]:
        """Names the functions of a line: where it was written first."""
        found = []
        while location in self.nodes:
            fields = self.nodes[location][1]
            found.append(self.subprogram(fields.get("scope", "!")[1:]))
            location = fields.get("inlinedAt", "!")[1:]
        return found


    def site(self, location: str, body: str) -> str:
        """Names the line of this project that calls what inlines `body`."""
        inside = False
        while location in self.nodes:
            fields = self.nodes[location][1]
            name, module = self.subprogram(fields.get("scope", "!")[1:])
            inside = inside or plain(name).split("{")[0].endswith(body)
            if inside and not module.startswith(("Mojo/", "<", "?")):
                return f"{module}:{fields['line']}:{fields['column']}"
            location = fields.get("inlinedAt", "!")[1:]
        return "the standard library" if inside else ""


def plain(name: str) -> str:
    """Takes the parameters off a mangled name."""
    depth, kept = 0, []
    name = name.split("),")[0]
    for letter in name:
        if letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif depth == 0:
            kept.append(letter)
    return "".join(kept).split(",")[0]


def dominated(program: Program, root: str = "main") -> Counter[str]:
    """Counts for each function the lines that nothing else reaches."""
    graph = {**program.globals, **program.refers}
    order, parents, seen = [], defaultdict(set), {root}
    stack = [(root, iter(sorted(graph.get(root, ()))))]
    while stack:
        node, rest = stack[-1]
        child = next(rest, None)
        if child is None:
            order.append(node)
            stack.pop()
            continue
        if child not in graph:
            continue
        parents[child].add(node)
        if child not in seen:
            seen.add(child)
            stack.append((child, iter(sorted(graph[child]))))
    rank = {node: place for place, node in enumerate(order)}
    above = {root: root}

    def meet(one: str, other: str) -> str:
        while one != other:
            while rank[one] < rank[other]:
                one = above[one]
            while rank[other] < rank[one]:
                other = above[other]
        return one

    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == root:
                continue
            known = [p for p in parents[node] if p in above]
            new = known[0]
            for parent in known[1:]:
                new = meet(new, parent)
            if above.get(node) != new:
                above[node] = new
                changed = True
    sums = Counter(program.lines)
    for node in order:
        if node != root:
            sums[above[node]] += sums[node]
    program.above = above
    return sums


def show(title: str, rows: list[tuple[str, ...]], top: int) -> None:
    print(f"\n== {title}")
    for row in rows[:top]:
        print("  ".join(f"{x:>8}" if isinstance(x, int) else x for x in row))


def source_or_ir(text: str) -> Path:
    """Reads the name of a program, or of its IR (`.ll`) as an earlier run left it."""
    path = Path(text)
    return path if path.suffix == ".ll" and path.is_file() else mojo_source(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=source_or_ir)
    parser.add_argument("--top", type=positive, default=60)
    parser.add_argument("--find")
    parser.add_argument("--whole", action="store_true", help="without the object")
    parser.add_argument("--sites")
    options = parser.parse_args()
    path = options.program
    if path.suffix != ".ll":
        path = BUILD / "ir" / f"{options.program.stem}.ll"
        result = build(
            *(options.program, path, "--emit", "llvm", "-g1"),
            whole=options.whole,
        )
        if result.returncode:
            sys.exit(result.stdout)
    program = Program(path.read_text())
    sums = dominated(program)
    if options.find:
        for name in program.lines:
            if options.find not in name:
                continue
            print(f"{program.lines[name]} {sums[name]} {name[:300]}")
            for other in program.refers:
                if name in program.refers[other]:
                    print(f"    {program.lines[other]} {other[:300]}")
        return
    if options.sites:
        sites: Counter[str] = Counter()
        for places in program.places.values():
            for location, count in places.items():
                sites[program.site(location, options.sites)] += count
        del sites[""]
        for site, count in sites.most_common(options.top):
            print(f"{count:>6}  {site}")
        return
    total = sum(program.lines.values())
    print(f"{total} lines in {len(program.lines)} functions")
    show(
        "functions: own lines, lines only reached from here",
        [
            (own, sums[name], plain(name) + "  " + name[len(plain(name)) :][:90])
            for name, own in program.lines.most_common()
        ],
        options.top,
    )
    show(
        "reach: lines only reached from here, own lines",
        [
            (count, program.lines[name], plain(name))
            for name, count in sums.most_common()
            if name in program.lines
        ],
        options.top,
    )
    modules, bodies, into = Counter(), Counter(), defaultdict(set)
    deep: Counter[str] = Counter()
    for name, places in program.places.items():
        for location, count in places.items():
            chain = program.chain(location)
            if not chain:
                continue
            modules[chain[0][1]] += count
            bodies[plain(chain[0][0])] += count
            for body in {plain(function) for function, _ in chain[:-1]}:
                deep[body] += count
                into[body].add(name)
    show("modules", [(n, m) for m, n in modules.most_common()], options.top)
    show("bodies", [(n, b) for b, n in bodies.most_common()], options.top)
    show(
        "inlined: lines with what they inline, functions they stand in",
        [(n, len(into[b]), b) for b, n in deep.most_common()],
        options.top,
    )
    instances: dict[str, list[int]] = defaultdict(list)
    for name, count in program.lines.items():
        instances[plain(name)].append(count)
    rows = sorted(
        ((sum(c), len(c), n) for n, c in instances.items() if len(c) > 1),
        reverse=True,
    )
    show("instances: lines, how many, name", rows, options.top)


if __name__ == "__main__":
    main()
