"""Builds the programs that must not build, and compares what the compiler says.

Each program in tests/compile is wrong in one way. Its header names the message
behind `# The build fails with:`.
"""

import re

from programs import write_roots
from report import Report
from toolchain import BUILD, ROOT, build

HEADING = "# The build fails with:"
# The compiler does not stop at 20 errors.
ALL_ERRORS = ("--elaboration-error-limit", "0")
ROOT_ERROR = re.compile(r"(?m)^(?=\S+: error: )")
ROOT_NAME = re.compile(r"def root_(\d+)\(")


def wanted_message(text: str) -> str:
    """Reads the message from a program's header."""
    lines = text.splitlines()
    if HEADING not in lines:
        raise ValueError(f"its header has no `{HEADING}`")
    return lines[lines.index(HEADING) + 1].removeprefix("#").strip()


def trouble_of(wanted: str, said: str) -> str:
    """Says what is wrong with what the compiler said of a program, if anything."""
    if not said:
        return f"it was built; wanted:\n{wanted}"
    ends = f"constraint failed: {wanted}"
    if not any(line.endswith(ends) for line in said.splitlines()):
        return f"wanted:\n{wanted}\ngot:\n{said[-4000:]}"
    return ""


def said_of_each(count: int, output: str) -> list[str]:
    """Shares out what the compiler said of programs that are roots of one file."""
    said = [""] * count
    for part in ROOT_ERROR.split(output)[1:]:
        if (found := ROOT_NAME.search(part)) is not None:
            said[int(found[1])] += part
    return said


def run(report: Report, below: str = "tests/compile") -> None:
    """Builds all programs, or those below a path, as one: each is a root of its own
    of what the compiler makes."""
    sources = [
        source
        for source in sorted((ROOT / "tests" / "compile").glob("*.mojo"))
        if str(source).startswith(str(ROOT / below))
    ]
    texts = {source.stem: source.read_text() for source in sources}
    main = BUILD / "compile" / "refusals.mojo"
    write_roots(main, texts)
    # As users build: what the object leaves to the program refuses as early.
    result = build(main, main.with_suffix(""), *ALL_ERRORS, whole=False)
    said = said_of_each(len(texts), result.stdout)
    if result.returncode and not any(said):
        report.fail("programs that must not build", result.stdout[-4000:])
        return
    for (name, text), message in zip(texts.items(), said):
        if trouble := trouble_of(wanted_message(text), message):
            report.fail(name, trouble)
        else:
            report.passed(name)
