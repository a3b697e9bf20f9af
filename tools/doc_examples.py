"""Makes programs of the examples in docstrings, so that the compiler checks them.

An example of a public name's docstring is indented code or, where there is nothing
else, a fence. It shows a call, not a program: what it names of the library is imported here, and what it
takes for granted (a router, a request, a user of the program) comes from
`doc_prelude.txt` and from the table of variables below.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from doc_blocks import Block, Snippet, is_declaration
from docs_reference import Entry, Lines, Node, Reference
from mojo_source import Problem, Source

PRELUDE = Path("tools/doc_prelude.txt")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
STANDARD = {"assert_equal": "std.testing"}
# A method that an example shows alone, and the trait that asks for it.
OWNERS = {"serve": "Handler", "policy_for": "Handler", "check": "Checked"}
FENCED = re.compile(r"^```mojo\n(.*?)^```$", re.DOTALL | re.MULTILINE)
UNMARKED = re.compile(r"(?:def|struct|var|for|while|with) .*[:)\]]$")
NAME = re.compile(r"^(?:struct|trait|def|comptime)\s+(\w+)", re.MULTILINE)
# Variables that an example may use without making them, by their declaration.
VARIABLES = {
    "changed": "changed: Condvar",
    "channel": "channel: GrpcChannel",
    "client": "mut client: HttpClient",
    "config": "config: SessionConfig",
    "chat": "var chat: Echo",
    "hub": "hub: EventHub",
    "id": "id: Int",
    "keys": "var keys: SigningKeys",
    "log": "log: Log",
    "metrics": "metrics: Metrics",
    "mutex": "mutex: Mutex[Counters]",
    "now_s": "now_s: Int",
    "octets": "octets: List[UInt8]",
    "queue": "queue: Mutex[Jobs]",
    "redis": "mut redis: RedisClient",
    "req": "req: Request",
    "request": "var request: ClientRequest",
    "response": "mut response: Response",
    "results": "results: List[SendResult]",
    "router": "var router: Router",
    "server": "server: HttpServer",
    "state": "state: State[Counters]",
    "token": "token: String",
    "total": "total: Float64",
    "tracer": "tracer: Tracer",
    "url": "url: String",
    "user": "user: User",
}


def docstring_snippets(root: Path, reference: Reference) -> Iterator[Snippet]:
    """Gives the examples of all public names as modules."""
    prelude = read_prelude((root / PRELUDE).read_text())
    seen: set[tuple[str, str]] = set()
    for front in reference.fronts:
        for entry in front.entries:
            if (entry.module, entry.name) in seen:
                continue
            seen.add((entry.module, entry.name))
            for number, example in enumerate(examples_of(entry)):
                text = as_module(example, reference, prelude)
                place = entry.path.with_suffix("") / f"{entry.name}.mojo"
                yield Snippet(Block(place, number, "mojo", text), "", None)


def read_prelude(text: str) -> dict[str, str]:
    """Takes the definitions of the prelude apart, by name."""
    found = {}
    for chunk in re.split(r"\n{2,}(?=@|struct|def|comptime)", text):
        if match := NAME.search(chunk):
            found[match[1]] = chunk.strip() + "\n"
    return found


def examples_of(entry: Entry) -> Iterator[str]:
    """Finds the examples in the docstrings of a name and its methods."""
    for text in docstrings_of(entry):
        yield from code_of(text)


def docstrings_of(entry: Entry) -> Iterator[str]:
    """Gives the docstrings of a name and its methods, but their first sentence."""
    nodes: list[Node] = [entry.node, *entry.node.get("functions", [])]
    for node in nodes:
        for told in node.get("overloads", [node]):
            yield told.get("description") or ""


def code_of(text: str) -> Iterator[str]:
    """Finds what stands in a fence, or is indented."""
    for fence in FENCED.finditer(text):
        yield fence[1]
    outside = FENCED.sub("", text) + "\n"
    for block in re.finditer(r"(?:^    .*\n|^\n)+", outside, re.MULTILINE):
        if block[0].strip():
            lines = block[0].strip("\n").splitlines()
            yield "\n".join(line.removeprefix("    ") for line in lines) + "\n"


def unmarked_code(root: Path, reference: Reference) -> Iterator[Problem]:
    """Looks for code in docstrings that is not indented, and so not checked."""
    for front in reference.fronts:
        for entry in front.entries:
            for text in docstrings_of(entry):
                for line in FENCED.sub("", text).splitlines():
                    if line.startswith("```") or UNMARKED.match(line):
                        message = f"{entry.name}: put '{line}' into a fence of mojo"
                        line_number = Lines(Source.read(root, entry.path)).top(entry.name)
                        yield Problem(entry.path, line_number, message)


def as_module(example: str, reference: Reference, prelude: dict[str, str]) -> str:
    """Completes an example: imports, definitions, and a function around calls."""
    declared, statements = [], []
    here = declared
    for line in example.splitlines():
        if is_declaration(line):
            here = declared
        elif line and not line[0].isspace() and line[0] not in ")]}":
            here = statements
        here.append(line)
    function = _function(statements) if statements else ""
    declared = _with_owner(declared)
    own = set(NAME.findall("\n".join(declared)))
    outside = re.sub(r'"[^"\n]*"|#.*', "", "\n".join([*declared, function]))
    words = set(WORD.findall(outside)) - own
    used: list[str] = []
    while found := [n for n in prelude if n in words and n not in used]:
        used += found
        words |= {word for name in found for word in WORD.findall(prelude[name])}
    parts = [prelude[name] for name in prelude if name in used]
    text = "\n\n".join([*parts, "\n".join(declared)])
    if function:
        text += "\n\n\n" + function
    homes = reference.homes | STANDARD
    names = sorted(
        name
        for name in set(WORD.findall(text)) & set(homes)
        if name not in set(NAME.findall(text)) and _is_named(name, text)
    )
    imports = [f"from {homes[name]} import {name}" for name in names]
    return "\n".join([*imports, "", "", text]).rstrip() + "\n"


def _with_owner(declared: list[str]) -> list[str]:
    """Puts methods without a struct into one that has what they may use."""
    if not any(re.match(r"def \w+\((mut )?self\b", line) for line in declared):
        return declared
    text = "\n".join(declared)
    trait = next((t for m, t in OWNERS.items() if f"def {m}(" in text), "Movable")
    fields = ["    var handler: FnHandler"]
    if "def serve(" not in text and trait == "Handler":
        fields += ["", "    def serve(self, req: Request) raises -> Response:"]
        fields += ["        return self.handler.serve(req)"]
    head = ["@fieldwise_init", f"struct Owner({trait}):", *fields, ""]
    return head + [f"    {line}" if line else "" for line in declared]


def _is_named(name: str, text: str) -> bool:
    """Tells a name from a method or a variable that is spelled like it."""
    pattern = rf"(?<![.\w]){name}" + (r"\b" if name[0].isupper() else r"[(\[]")
    return bool(re.search(pattern, text))


def _function(statements: list[str]) -> str:
    """Puts statements into a function that has the variables they use."""
    text = "\n".join(statements)
    used = [
        declaration
        for name, declaration in VARIABLES.items()
        if re.search(rf"(?<![.\w\"]){name}\b(?!\s*=[^=])", text)
        and not re.search(rf"\bvar {name}\b|\bas {name}:", text)
    ]
    body = [f"    {line}" if line.strip() else "" for line in statements]
    result = " -> Response" if re.search(r"^\s*return ", text, re.MULTILINE) else ""
    end = ["    return ok()"] if result else []
    head = f"def statements({', '.join(used)}) raises{result}:"
    return "\n".join([head, *body, *end]) + "\n"
