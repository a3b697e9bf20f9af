"""Compares flare's parsers with those of other languages: `make differential`.

Each subject has a generator, with a seed, and judges: Go's standard library,
Node, packages of Python. What they answer is compared step by step; the first
difference must be of a class of `classes.py`, or the run fails and prints the
smallest input with such a difference. `--write` puts the classes that were
found into docs/conformance.md.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "differential"
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import classes  # noqa: E402
from arguments import positive  # noqa: E402
import protobuf_words  # noqa: E402
import tables  # noqa: E402
from npm import NoPackage, unpack  # noqa: E402
from protobuf_kinds import PROTOS  # noqa: E402
from subjects import SUBJECTS, Subject  # noqa: E402

BATCH = 20_000
RUN_TIMEOUT_S = 600
# Differences of one kind that are shrunk, and kinds that are printed.
SHOWN_MAX = 60
SHRINK_ROUNDS_MAX = 60
# A class that so many inputs do not show is to be looked at.
UNSEEN_INPUTS = 1_000_000


class Judge:
    """A program that answers cases, one line each."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.command = command

    def answers(self, subject: str, cases: list[bytes]) -> list[str]:
        octets = b"".join(struct.pack(">I", len(case)) + case for case in cases)
        done = subprocess.run(
            [*self.command, subject],
            input=octets,
            capture_output=True,
            timeout=RUN_TIMEOUT_S,
        )
        lines = done.stdout.decode("ascii", "replace").splitlines()
        if done.returncode != 0 or len(lines) != len(cases):
            # The case behind the last answer is the one that killed it.
            culprit = cases[len(lines)] if len(lines) < len(cases) else b""
            raise RuntimeError(
                f"{self.name} ended with {done.returncode} on {subject}, at"
                f" {culprit!r}: {done.stderr[-500:].decode(errors='replace')}"
            )
        return lines


class FlareJudge(Judge):
    """flare, whose messages are put in one order."""

    def answers(self, subject: str, cases: list[bytes]) -> list[str]:
        lines = super().answers(subject, cases)
        if subject.startswith("protobuf"):
            return [protobuf_words.in_order(*pair) for pair in zip(cases, lines)]
        return lines


def flare() -> Judge:
    """Builds the program with flare's parsers."""
    import toolchain

    program = BUILD / "tool"
    judge = FlareJudge("flare", [str(program)])
    sources = [*toolchain.mojo_sources("flare", "tests/differential"), *PROTOS]
    newest = max(path.stat().st_mtime for path in sources)
    if program.exists() and program.stat().st_mtime > newest:
        return judge
    folders = [path.parent for path in PROTOS]
    toolchain.make_messages(PROTOS, folders, BUILD / "differential_messages")
    # Another run may be using the last one.
    built = toolchain.build(
        HERE / "differential_tool.mojo", program.with_suffix(".new"), "-I", str(BUILD)
    )
    if built.returncode != 0:
        sys.exit(built.stdout)
    program.with_suffix(".new").rename(program)
    return judge


def go() -> Judge | None:
    if shutil.which("go") is None:
        return None
    program = BUILD / "go_judge"
    subprocess.run(
        ["go", "build", "-o", str(program), "."],
        cwd=HERE / "go_judge",
        env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"},
        check=True,
    )
    return Judge("Go", [str(program)])


# What judges caches, from npm, with the digest of its archive.
SEMANTICS = "http-cache-semantics@4.2.0"
SEMANTICS_SHA512 = (
    "dTxcvPXqPvXBQpq5dUr6mEMJX4oIEFv6bwom3FDwKRDsuIjjJGANqhBuoAn9c1RQJIdAKav33ED65E2ys+87QQ=="
)


def semantics() -> Path | None:
    """Unpacks the judge of caches, if npm has it."""
    try:
        return unpack(SEMANTICS, SEMANTICS_SHA512, BUILD / "http-cache-semantics")
    except NoPackage:
        return None
    except ValueError as error:
        sys.exit(f"differential: {error}")


class NodeJudge(Judge):
    """Node, which needs a package for caches."""

    def answers(self, subject: str, cases: list[bytes]) -> list[str]:
        if subject == "cache":
            os.environ["CACHE_SEMANTICS"] = str(semantics())
        return super().answers(subject, cases)


def node() -> Judge | None:
    if shutil.which("node") is None:
        return None
    return NodeJudge("Node", ["node", str(HERE / "node_judge.js")])


def python() -> Judge:
    return Judge("Python", [sys.executable, str(HERE / "python_judge.py")])


MAKERS: dict[str, Callable[[], Judge | None]] = {
    "Go": go,
    "Node": node,
    "Python": python,
}


def steps(answer: str, subject: Subject) -> list[tuple[str, ...]]:
    """Splits an answer into messages and how it ends."""
    words = answer.split(" ")
    found, start = [], 0
    while start < len(words):
        count = {"M": 1 + len(subject.parts)}.get(words[start], 2)
        found.append(tuple(words[start : start + count]))
        start += count
    return found


def verdict(step: tuple[str, ...], subject: Subject) -> str:
    """Names a step; of a reason, what stands before what it quotes."""
    if step[0] == "M" and subject.parts[0] == "event":
        return step[1]
    if step[0] != "E":
        return {"M": "take", "I": "interim"}[step[0]]
    return re.split(r"[\"'(]", step[1])[0].rstrip("_:")


def difference(ours: str, theirs: str, subject: Subject) -> str | None:
    """Names the first difference, as `flare's verdict / the other's`."""
    if ours == theirs:
        return None
    mine, others = steps(ours, subject), steps(theirs, subject)
    for one, other in zip(mine, others):
        if one == other:
            continue
        if one[0] == other[0] == "M":
            # `~` stands for what a judge does not say.
            parts = [
                name
                for name, left, right in zip(subject.parts, one[1:], other[1:])
                if right not in (left, "~")
                # Of an event, what stands behind a colon is flare's own.
                and not (name == "event" and left.split(":")[0] == right)
            ]
            if not parts:
                continue
            if parts[0] == "event":
                return f"{one[1]} / {other[1]}"
            return "differ:" + "+".join(parts[:1] if subject.by_part else parts)
        left, right = verdict(one, subject), verdict(other, subject)
        if left.startswith("refuse") and right.startswith("refuse"):
            return None
        return f"{left} / {right}"
    return None


@dataclass
class Found:
    """What a run has found of one subject."""

    inputs: int
    seed: int
    seconds: float = 0
    # By class, then judge: how many inputs.
    counts: dict[str, Counter] = field(default_factory=lambda: defaultdict(Counter))
    # By judge and difference: inputs of no class.
    unknown: dict[tuple[str, str], list[bytes]] = field(
        default_factory=lambda: defaultdict(list)
    )


class Run:
    def __init__(self, judges: dict[str, Judge], tool: Judge) -> None:
        self.judges = judges
        self.tool = tool

    def names(self, subject: Subject) -> list[str]:
        names = [name for name in subject.judges if name in self.judges]
        if subject.name == "cache" and semantics() is None:
            names.remove("Node")
        return names

    def compare(
        self, subject: Subject, cases: list[bytes], names: Iterable[str]
    ) -> Iterable[tuple[str, int, str]]:
        """Gives judge, index and difference, where there is one."""
        with ThreadPoolExecutor() as pool:
            ours = pool.submit(self.tool.answers, subject.name, cases)
            theirs = {
                name: pool.submit(self.judges[name].answers, subject.name, cases)
                for name in names
            }
        mine = ours.result()
        for name, answers in theirs.items():
            for index, answer in enumerate(answers.result()):
                found = difference(mine[index], answer, subject)
                if found is not None:
                    yield name, index, found

    def subject(self, subject: Subject, count: int, seed: int) -> Found:
        found = Found(count, seed)
        began = time.monotonic()
        random = Random(f"{seed} {subject.name}")
        left = count
        while left > 0:
            cases = [subject.make(random) for _ in range(min(BATCH, left))]
            left -= len(cases)
            for name, index, what in self.compare(subject, cases, self.names(subject)):
                row = classes.find(subject.name, name, what, cases[index])
                if row is not None:
                    found.counts[row.name][name] += 1
                else:
                    found.unknown[name, what].append(cases[index])
        found.seconds = time.monotonic() - began
        return found

    def shrink(self, subject: Subject, name: str, what: str, case: bytes) -> bytes:
        """Takes octets out as long as the difference is still of no class."""
        for _ in range(SHRINK_ROUNDS_MAX):
            smaller = list(dict.fromkeys(shorter(case)))
            kept = None
            for _, index, now in self.compare(subject, smaller, [name]):
                row = classes.find(subject.name, name, now, smaller[index])
                if now == what and row is None:
                    if kept is None or len(smaller[index]) < len(kept):
                        kept = smaller[index]
            if kept is None:
                return case
            case = kept
        return case


def shorter(case: bytes) -> Iterable[bytes]:
    """Gives the case without one piece, of each length and place."""
    size = len(case) // 2
    while size > 0:
        for start in range(0, len(case), max(1, size // 2)):
            yield case[:start] + case[start + size :]
        size //= 2


def tell(run: Run, subject: Subject, found: Found, verbose: bool) -> bool:
    """Prints what was found; True if all of it has a class."""
    total = sum(sum(counts.values()) for counts in found.counts.values())
    unknown = sum(map(len, found.unknown.values()))
    print(
        f"{subject.name}: {found.inputs:,} inputs in {found.seconds:.0f} s beside"
        f" {', '.join(run.names(subject))}: {total + unknown:,} differences in"
        f" {len(found.counts)} classes, {unknown} of no class",
        flush=True,
    )
    unseen = [row.name for row in classes.of(subject.name) if row.name not in found.counts]
    if unseen and found.inputs >= UNSEEN_INPUTS:
        print(f"  classes that nothing showed: {'; '.join(unseen)}")
    if verbose:
        for name, counts in sorted(found.counts.items()):
            print(f"  {name}: {', '.join(f'{j} {n:,}' for j, n in sorted(counts.items()))}")
    ranked = sorted(found.unknown.items(), key=lambda item: -len(item[1]))
    for (name, what), cases in ranked[:SHOWN_MAX]:
        small = run.shrink(subject, name, what, min(cases, key=len))
        print(f"  UNKNOWN {len(cases):>6} {name}: {what}\n    {small!r}", flush=True)
    for (name, what), cases in ranked[SHOWN_MAX:]:
        print(f"  UNKNOWN {len(cases):>6} {name}: {what}")
    return not found.unknown


def run(report, count: int, wanted: Iterable[str] = ()) -> None:
    """Runs all subjects for tools/test.py, beside the judges that are here."""
    BUILD.mkdir(parents=True, exist_ok=True)
    made = {name: MAKERS[name]() for name in wanted or MAKERS}
    whole = Run({name: judge for name, judge in made.items() if judge}, flare())
    for subject in SUBJECTS:
        if not whole.names(subject):
            report.skipped("differential", f"no judge of {subject.name} is here")
            continue
        found = whole.subject(subject, count, seed=1)
        if tell(whole, subject, found, verbose=False):
            report.passed(f"differential {subject.name}")
        else:
            report.fail(f"differential {subject.name}", "see above")
    for name, judge in made.items():
        if judge is None:
            report.skipped("differential", f"{name} is not installed")


def refuse_unknown(
    parser: argparse.ArgumentParser, what: str, names: list[str], known: Iterable[str]
) -> None:
    """Ends the program if a name is none of those that are known."""
    for name in names:
        if name not in known:
            parser.error(f"there is no {what} {name}; name some of {', '.join(known)}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", help="subjects; all if none is named")
    parser.add_argument("-n", type=positive, default=10_000, help="inputs a subject")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judges", default="", help="such as Python,Go; else all")
    parser.add_argument("--quiet", action="store_true", help="no counts by class")
    parser.add_argument("--write", action="store_true", help="write the documents")
    options = parser.parse_args(arguments)
    known = {subject.name: subject for subject in SUBJECTS}
    refuse_unknown(parser, "subject", options.subjects, known)
    wanted = options.judges.split(",") if options.judges else list(MAKERS)
    refuse_unknown(parser, "judge", wanted, MAKERS)
    BUILD.mkdir(parents=True, exist_ok=True)
    judges = {name: judge for name in wanted if (judge := MAKERS[name]())}
    whole = Run(judges, flare())
    for name in set(wanted) - set(judges):
        print(f"differential: without {name}, which is not installed")
    print(f"differential: seed {options.seed}, {options.n:,} inputs a subject")
    chosen = [known[name] for name in options.subjects] or SUBJECTS
    is_good = True
    for subject in chosen:
        if not whole.names(subject):
            print(f"{subject.name}: skipped, no judge of it is here")
            continue
        found = whole.subject(subject, options.n, options.seed)
        is_good &= tell(whole, subject, found, not options.quiet)
        if options.write:
            tables.write(subject, found.inputs, found.seed, found.counts)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
