"""Turns a function of the library into a row of an object's table: the type of
the row, what the machine fills it with, and how the interface calls it."""

import re
from dataclasses import dataclass

from mojo_flare.object.library import ORIGINS, Library, origin_kinds
from mojo_flare.object.source import SELF, Definition, Signature, split_top, words


@dataclass
class Row:
    """A function of the machine, and how the interface calls it."""

    number: int
    type: str
    wrapper: list[str]
    body: list[str]


class Border:
    """Turns a function into a row of the table."""

    def __init__(
        self,
        library: Library,
        module: str,
        known: Signature,
        made: Definition,
        owner: Definition | None,
    ) -> None:
        self.library = library
        self.module = module
        self.known = known
        self.made = made
        self.owner = owner
        self.origins: list[str] = []
        self.fails = False

    def row(self) -> Row | None:
        known, owner = self.known, self.owner
        is_static = "@staticmethod" in self.made.decorators
        if known.parameters:
            for part in split_top(known.parameters):
                if part == "//":
                    continue
                name, _, kind = part.partition(":")
                if kind.strip() not in ORIGINS:
                    return None
                types = (x.type for x in known.arguments)
                if not any(name.strip() in words(x) for x in types):
                    return None  # the caller has to name it
                self.origins.append(f"{name.strip()}: {kind.strip()}")
        own = ""
        if owner:
            own = owner.name
            if owner.parameters:
                kinds = origin_kinds(owner.parameters)
                if not kinds or is_static:
                    return None
                names = [x.partition(":")[0].strip() for x in split_top(owner.parameters) if x != "//"]
                self.origins = [f"{n}: {k}" for n, k in zip(names, kinds)] + self.origins
                own += f"[{', '.join(names)}]"
        makes = owner is not None and known.name == "__init__"
        if makes and owner.parameters:
            return None
        taken: list[tuple[str, str, str]] = []  # declared, type, as passed on
        given: list[str] = []  # as the interface passes it
        for argument in known.arguments:
            if argument.name == "self" and owner and not is_static:
                if makes:
                    if argument.convention != "out":
                        return None
                    continue
                convention = argument.convention
                if convention in ("ref", "out") or argument.type:
                    return None
                takes = convention in ("deinit", "var")
                word = "var " if takes else "mut " if convention == "mut" else ""
                taken.append((f"{word}self: {own}", word + own, "self^" if takes else "self"))
                given.append("self^" if takes else "self")
                continue
            if argument.convention in ("ref", "out", "deinit"):
                return None
            bound, lends = self._bind(argument.type, own)
            if self.fails or not bound:
                return None
            word = {"var": "var ", "mut": "mut "}.get(argument.convention, "")
            passed = f"{argument.name}^" if word == "var " else argument.name
            by = f"{argument.name}={passed}" if argument.by_name else passed
            taken.append((f"{word}{argument.name}: {bound}", word + bound, by))
            given.append(f"{passed}.as_imm()" if lends and word == "" else passed)
        result = own if makes else self._result(own)
        if self.fails:
            return None
        origins = f"[{', '.join(self.origins)}]" if self.origins else ""
        raises = f" {known.raises}" if known.raises else ""
        raises = SELF.sub(own.split("[")[0], raises) if own else raises
        type_ = f"def{origins}({', '.join(r[1] for r in taken)}) thin{raises} -> {result or 'None'}"
        head = f"def _object_{{N}}{origins}({', '.join(r[0] for r in taken)}){raises}"
        head += f" -> {result}:" if result else ":"
        if makes:
            call = f"{own}({', '.join(r[2] for r in taken)})"
        elif owner and is_static:
            call = f"{own}.{known.name}({', '.join(r[2] for r in taken)})"
        elif owner:
            call = f"{taken[0][2]}.{known.name}({', '.join(r[2] for r in taken[1:])})"
        else:
            call = f"{known.name}({', '.join(r[2] for r in taken)})"
        # Behind a call that never returns there is nothing to return.
        gives = bool(result) and result != "Never"
        wrapper = ["@no_inline", head, f"    return {call}" if gives else f"    {call}"]
        inner = f"_object().f{{N}}({', '.join(given)})"
        body = f"self = {inner}" if makes else f"return {inner}" if gives else inner
        return Row(-1, type_, wrapper, [body])

    def _result(self, own: str) -> str:
        text = self.known.result
        if not text or text == "None":
            return ""
        if re.search(r"\bref\b|origin_of|\b_\b|\bout\b|\btype_of\b|^def|^\(", text):
            self.fails = True
            return ""
        text = self._selfless(text, own)
        self._check_bound(text)
        return text

    def _check_bound(self, text: str) -> None:
        for name in words(text):
            if self.library.is_parametric(self.module, name):
                if not re.search(rf"\b{name}\[", text):
                    self.fails = True

    def _selfless(self, text: str, own: str) -> str:
        base = own.split("[")[0]
        if self.owner and self.owner.parameters:
            for part in split_top(self.owner.parameters):
                name = part.partition(":")[0].strip()
                text = re.sub(rf"\bSelf\.{name}\b", name, text)
        text = re.sub(r"\bSelf\.", f"{base}.", text)
        return SELF.sub(own, text)

    def _origin(self, kind: str) -> str:
        name = f"o{len(self.origins)}_"
        self.origins.append(f"{name}: {kind}")
        return name

    def _bind(self, text: str, own: str) -> tuple[str, bool]:
        """Gives a type with all its parameters named, and whether a span of
        either kind is lent as one that cannot be written to."""
        text = self._selfless(text, own)
        if re.search(r"\bSome\b|\bdef\b|\btype_of\b|\borigin_of\b|\bAnyOrigin\b", text):
            self.fails = True
            return "", False
        if text in ("StringSpan", "StringSpan[_]"):
            return f"StringSpan[{self._origin('ImmOrigin')}]", True
        if found := re.fullmatch(r"(Span|ImmSpan)\[(.+), _\]", text):
            if "_" in words(found[2]):
                self.fails = True
            return f"Span[{found[2]}, {self._origin('ImmOrigin')}]", True
        if found := re.fullmatch(r"MutSpan\[(.+), _\]", text):
            return f"Span[{found[1]}, {self._origin('MutOrigin')}]", False
        if kinds := self.library.lent.get(self.library.find(self.module, text)):
            names = [self._origin(kind) for kind in kinds]
            return f"{text}[{', '.join(names)}]", False
        if "_" in words(text):
            self.fails = True
        self._check_bound(text)
        return text, False
