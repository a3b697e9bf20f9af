"""All modules of a library, and what their names stand for."""

from pathlib import Path

from mojo_flare.object.source import Module, split_top

ORIGINS = ("ImmOrigin", "MutOrigin")
_PARAMETRIC = frozenset(
    "StringSpan Span MutSpan ImmSpan StringLiteral IntLiteral List Dict Set Deque Optional"
    " Array SIMD Scalar Pointer MutPointer ImmPointer OptionalPointer OpaquePointer Tuple"
    " Variant ArcPointer OwnedPointer Atomic StringDict".split()
)
"""Types of the standard library that are no types without their brackets."""


class Library:
    """All modules below a folder, and what their names stand for."""

    def __init__(self, root: Path, package: str = "flare") -> None:
        self.modules: dict[str, Module] = {}
        self.fronts: set[str] = set()
        for path in sorted((root / package).rglob("*.mojo")):
            parts = list(path.relative_to(root).with_suffix("").parts)
            is_front = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_front else parts)
            self.modules[name] = Module.read(name, path.read_text())
            if is_front:
                self.fronts.add(name)
        # Structs with parameters: those of origins alone, and others.
        self.lent: dict[tuple[str, str], list[str]] = {}
        self.generic: set[tuple[str, str]] = set()
        for module in self.modules.values():
            for made in module.definitions:
                if made.kind == "struct" and made.parameters:
                    place = (module.name, made.name)
                    if kinds := origin_kinds(made.parameters):
                        self.lent[place] = kinds
                    else:
                        self.generic.add(place)

    def is_parametric(self, module: str, name: str) -> bool:
        """Tells whether a type takes parameters, as far as that is known."""
        place = self.find(module, name)
        return place in self.lent or place in self.generic or name in _PARAMETRIC

    def exported(self, modules: tuple[str, ...]) -> list[tuple[str, str]]:
        """Lists what programs may name: what the fronts of packages give, and
        the public names of some modules."""
        found = {("flare.sys.weak_symbol", "weak_symbol")}
        for front in self.fronts:
            module = self.modules[front]
            for source, there in module.imports.values():
                if place := self.find(source, there):
                    found.add(place)
            found |= {(front, made.name) for made in module.definitions}
        for name in modules:
            for made in self.modules[name].definitions:
                if made.name and not made.name.startswith("_"):
                    found.add((name, made.name))
        return sorted(found)

    def below(self, packages: tuple[str, ...]) -> set[str]:
        """Lists the modules, but fronts, of some packages."""
        return {
            name
            for name in self.modules
            if name not in self.fronts
            and any(name == x or name.startswith(x + ".") for x in packages)
        }

    def find(self, module: str, name: str) -> tuple[str, str] | None:
        """Finds where a name of a module is defined."""
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            here = self.modules.get(module)
            if here is None:
                return None
            if any(made.name == name for made in here.definitions):
                return module, name
            if name in here.imports:
                module, name = here.imports[name]
                continue
            for star in here.stars:
                if found := self.find(star, name):
                    return found
            return None
        return None


def origin_kinds(parameters: str) -> list[str]:
    kinds = []
    for part in split_top(parameters):
        if part == "//":
            continue
        _, _, kind = part.partition(":")
        if kind.strip() not in ORIGINS:
            return []
        kinds.append(kind.strip())
    return kinds
