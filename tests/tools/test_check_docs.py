"""Each rule of the documents' check, with a page that keeps it and one that breaks it."""

from pathlib import Path
from types import SimpleNamespace

import check_docs
import pytest

BASE = {
    "tools/layers.toml": 'layer = []\n[fronts]\npackages = ["flare/net"]\n',
    "ARCHITECTURE.md": "# Map\n\n- `flare/net/ip.mojo: IpAddr` is an address\n",
    "flare/net/__init__.mojo": "from flare.net.ip import IpAddr\n",
    "flare/net/ip.mojo": "struct IpAddr:\n    def parse(self):\n        x = 1\n",
    "docs/guide.md": "# Guide\n\n## First steps: `bind`\n\n## Again\n\n## Again\n",
}


LAYERS = (
    "".join(
        f'[[layer]]\npackage = "flare/{name}"\nimports = []\n'
        for name in ("bytes", "net", "net/core", "http")
    )
    + '[fronts]\npackages = ["flare/net"]\n'
)


def rows(*names: str) -> dict[str, str]:
    """A map with a table of packages."""
    table = "".join(f"| {name} | is one |\n" for name in names)
    return {
        "tools/layers.toml": LAYERS,
        "ARCHITECTURE.md": f"# Map\n\n| package | holds |\n| --- | --- |\n{table}",
    }


def program(text: str) -> str:
    return f"# Title\n\n```mojo\n{text}```\n"


def documented(name: str, sections: str, summary: str = "Does it.") -> dict[str, str]:
    """A file with a function, and a docstring of summary and sections."""
    return {
        "flare/net/ip.mojo": f"struct IpAddr:\n    pass\n\n\ndef {name}(a: Int) -> Int:\n"
        f'    """{summary}\n\n{sections}    """\n    return a\n'
    }


def summed_up(name: str, summary: str) -> dict[str, str]:
    """A file with a function, and a docstring of a line."""
    return {
        "flare/net/ip.mojo": "struct IpAddr:\n    pass\n\n\n"
        f'def {name}(octet: Int) -> Int:\n    """{summary}"""\n    return octet\n'
    }


ACCEPTED = {
    "entry that says something": documented(
        "find", "    Args:\n        a: Counted from one.\n            On and on.\n"
    ),
    "result of two lines": documented(
        "find", "    Returns:\n        The first of all\n        that there are.\n"
    ),
    "result with a word of its own": documented(
        "find",
        "    Returns:\n        The place of the octet that was found.\n",
        "Finds the place of an octet.",
    ),
    "entry with a name": documented(
        "find", "    Args:\n        a: The `place` of the octet.\n", "Finds the place."
    ),
    "summary with a word of its own": summed_up("find_octet", "Finds the last octet."),
    "summary with a number": summed_up("find_octet", "Finds an octet of 7 bits."),
    "summary of a front": {
        "flare/net/__init__.mojo": "from flare.net.ip import IpAddr, find_octet\n",
        **summed_up("find_octet", "Finds the octet."),
    },
    "noise of a front": {
        "flare/net/__init__.mojo": "from flare.net.ip import IpAddr, parse\n",
        **documented("parse", "    Args:\n        a: The octets.\n"),
    },
    "file": {"README.md": "[a](docs/guide.md) [b](docs)"},
    "anchor elsewhere": {"README.md": "[a](docs/guide.md#first-steps-bind)"},
    "second heading of a name": {"README.md": "[a](docs/guide.md#again-1)"},
    "anchor here": {"README.md": "# Known limits\n\n[a](#known-limits)"},
    "other site": {"README.md": "[a](https://example.com/x)"},
    "link in code": {"README.md": "`[a](none.md)`\n\n```\n[a](none.md)\n```\n"},
    "method in the map": {
        "ARCHITECTURE.md": "`flare/net/ip.mojo: IpAddr.parse`"
    },
    "packages in the order of their layers": rows(
        "`flare/bytes`", "`flare/net`", "`flare/net/part`", "`flare/http`"
    ),
    "name from a front": {
        "README.md": program("from flare.net import IpAddr\n")
    },
    "name from its file": {
        "README.md": program("from flare.net.ip import IpAddr\n")
    },
    "other language": {"README.md": "```python\nfrom flare.no import X\n```\n"},
}

REFUSED = {
    "entry of three words": (
        documented("find", "    Args:\n        a: The one octet.\n"),
        "flare/net/ip.mojo:9: `a: The one octet.` says what the name says",
    ),
    "result in the words of the summary": (
        documented(
            "find",
            "    Returns:\n        True if an octet is\n        in the last place.\n",
            "Tells whether the octet is in last place.",
        ),
        "flare/net/ip.mojo:9: `True if an octet is in the last place.` says what",
    ),
    "entry in the words of summary and signature": (
        documented(
            "find_place", "    Args:\n        a: The place of the octets.\n", "Reads an octet."
        ),
        "flare/net/ip.mojo:9: `a: The place of the octets.` says what summary",
    ),
    "summary in the words of the signature": (
        summed_up("octet_count", "Tells how many octets there are in the count."),
        "flare/net/ip.mojo:6: `Tells how many octets there are in the count.` says",
    ),
    "result of two words": (
        documented("find", "    Returns:\n        The octet.\n"),
        "flare/net/ip.mojo:9: `The octet.` says",
    ),
    "file": ({"README.md": "\n[a](none.md)"}, "README.md:2: broken link"),
    "from its own folder": (
        {"docs/b.md": "[a](docs/guide.md)"},
        "docs/b.md:1: broken link",
    ),
    "page that only the site has": (
        {
            "mkdocs.yml": "extra: {generated: [reference/]}\nnav: [guide.md]\n",
            "docs/guide.md": "[a](reference/index.md)",
        },
        "docs/guide.md:1: broken link",
    ),
    "anchor": ({"README.md": "[a](docs/guide.md#none)"}, "no heading #none"),
    "anchor here": ({"README.md": "# A\n\n[a](#b)"}, "no heading #b"),
    "file of the map": (
        {"ARCHITECTURE.md": "`flare/no.mojo: A`"},
        "no file flare/no",
    ),
    "symbol of the map": (
        {"ARCHITECTURE.md": "`flare/net/ip.mojo: IpNet`"},
        "defines no IpNet",
    ),
    "method of the map": (
        {"ARCHITECTURE.md": "`flare/net/ip.mojo: IpAddr.no`"},
        "defines no IpAddr.no",
    ),
    "packages in another order": (
        rows("`flare/net`", "`flare/bytes`", "`flare/http`"),
        "ARCHITECTURE.md:6: flare/bytes is below flare/net in layers.toml",
    ),
    "package without a row": (
        rows("`flare/bytes`, `flare/net`"),
        "no row for the package flare/http",
    ),
    "symbol of a page": (
        {"README.md": "\n`flare/net/ip.mojo: test_no`"},
        "README.md:2: flare/net/ip.mojo defines no test_no",
    ),
    "name": (
        {"README.md": program("\nfrom flare.net import IpNet\n")},
        "README.md:5: flare.net has no IpNet",
    ),
    "module": (
        {"docs/b.md": program("from flare.no import A\n")},
        "no module flare.no",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(tree, name):
    assert check_docs.problems(tree(BASE | ACCEPTED[name])) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tree, name):
    files, message = REFUSED[name]
    problems = check_docs.problems(tree(BASE | files))
    assert len(problems) == 1
    assert message in problems[0]


def test_wants_a_map(tree):
    files = {
        name: text for name, text in BASE.items() if name != "ARCHITECTURE.md"
    }
    [problem] = check_docs.problems(tree(files))
    assert "missing" in problem


GAP = "warning: public symbol 'parse' is missing a doc string"


@pytest.mark.parametrize("name, is_kept", [("IpAddr", True), ("_Cut", False)])
def test_docstrings_are_asked_of_what_fronts_offer(tree, name, is_kept):
    text = f"struct Other:\n    var x: Int\n\nstruct {name}:\n    def parse(self):\n"
    root = tree(BASE | {"flare/net/ip.mojo": text})
    output = f"{root}/flare/net/ip.mojo:5:9: {GAP}\n    def parse\n        ^"
    kept = check_docs.gaps_of_fronts(root, output)
    assert kept == (output if is_kept else "")


@pytest.mark.parametrize("is_told", [True, False])
def test_a_method_may_leave_words_to_a_trait_or_a_field(tree, is_told):
    text = "struct IpAddr:\n    def parse(self):\n        x = 1\n"
    root = tree(BASE | {"flare/net/ip.mojo": text})
    output = f"{root}/flare/net/ip.mojo:2:9: {GAP}\n    def parse\n        ^"
    asked = []

    def answer(*place):
        asked.append(place)
        return is_told

    kept = check_docs.gaps_of_fronts(root, output, SimpleNamespace(is_told=answer))
    assert kept == ("" if is_told else output)
    assert asked == [(Path("flare/net/ip.mojo"), "IpAddr", "parse")]


def test_a_failure_without_a_place_is_told(tree):
    root = tree(BASE)
    failure = "mojo: error: failed to parse the provided Mojo source module"
    assert check_docs.gaps_of_fronts(root, failure) == failure
