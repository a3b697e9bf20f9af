"""The front `flare.http`: everyday names above a mark, old ones below it."""

import re

import pytest
from toolchain import ROOT

MARK = "# Here until 0.2; docs/api-changes.md says which package has each.\n"
IMPORT = re.compile(r"^from \S+ import\s*(\([^)]*\)|[^\n]*)", re.MULTILINE)
DEFINITION = re.compile(r"^(?:struct|trait|def|comptime) (\w+)", re.MULTILINE)
ROW = re.compile(r"^\| `(flare[\w.]*)` \| (.*) \|$", re.MULTILINE)


TAKEN = re.compile(r"^ *from flare\.http import\s*(\([^)]*\)|[^\n]*)", re.MULTILINE)


def names_of(source: str) -> set[str]:
    """Gives the names that a module has: imported, or its own."""
    names = set(DEFINITION.findall(source))
    for found in IMPORT.findall(source):
        names |= set(re.findall(r"\w+", found))
    return names


def source_of(package: str) -> str:
    path = ROOT / package.replace(".", "/")
    front = path / "__init__.mojo"
    return (front if front.exists() else path.with_suffix(".mojo")).read_text()


def front() -> tuple[set[str], set[str]]:
    everyday, old = source_of("flare.http").split(MARK)
    return names_of(everyday), names_of(old)


def test_everyday_names_are_few_and_apart() -> None:
    everyday, old = front()
    assert not everyday & old
    # Names of spec and guides; whoever adds one asks whether most programs
    # need it.
    assert 60 <= len(everyday) <= 90


def test_old_names_have_a_home_that_the_list_tells() -> None:
    _, old = front()
    text = (ROOT / "docs" / "api-changes.md").read_text()
    renamed, leaving = text.split("## Names that leave")
    homes = {
        name: package
        for package, row in ROW.findall(leaving)
        for name in re.findall(r"`(\w+)`", row)
    }
    renames = set(re.findall(r"`(\w+)`", renamed))
    assert not old - set(homes) - renames
    assert not set(homes) - old, "the list names what the front has not"
    for name, package in homes.items():
        assert name in names_of(source_of(package)), (name, package)


@pytest.mark.parametrize("folder", ["README.md", "cli", "deploy", "docs", "examples"])
def test_what_users_copy_has_no_name_that_leaves(folder: str) -> None:
    _, old = front()
    place = ROOT / folder
    files = [place] if place.is_file() else place.rglob("*.m[do]*")
    leaving = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for found in TAKEN.findall(path.read_text())
        for name in re.findall(r"\w+", found)
        if name in old
    }
    assert not leaving
