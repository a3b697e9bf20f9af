"""Each rule of the layer check, with a tree that keeps it and one that breaks it."""

import check_layers
import pytest

LAYERS = """
[[layer]]
package = "flare/low"
imports = []
[[layer]]
package = "flare/high"
imports = ["flare/low"]
[[layer]]
package = "flare/high/inner"
imports = []
[fronts]
packages = ["flare", "flare/high"]
"""
BASE = {
    "tools/layers.toml": LAYERS,
    "flare/low/a.mojo": "struct A:\n    var x: Int\n",
    "flare/low/__init__.mojo": "",
    "flare/high/__init__.mojo": "from flare.high.b import B\n",
    "flare/high/b.mojo": "from flare.low.a import A\n\nstruct B:\n    pass\n",
}

ACCEPTED = {
    "downward": {},
    "same package": {"flare/high/c.mojo": "from flare.high.b import B\n"},
    "several lines": {
        "flare/high/c.mojo": "from flare.low.a import (\n    A,\n    A as Z,\n)\n"
    },
    "only words in a string": {
        "flare/low/c.mojo": '"""\nfrom flare.high.b import B\n"""\n'
    },
    "methods of an extension": {
        "flare/low/e.mojo": "__extension List:\n    def at(self):\n        return\n",
        "flare/high/c.mojo": "from flare.low.e import *\n",
    },
    "relative, made by flare proto": {
        "tests/made/t.mojo": "# Made by `flare proto` of t.proto\nfrom .s import S\n",
    },
    "standard library": {"flare/low/c.mojo": "from std.sys import argv\n"},
    "front in a test": {"tests/t.mojo": "from flare.high import B\n"},
    "defining file in an example": {"examples/e.mojo": "from flare.low.a import A\n"},
    "support of tests": {
        "tests/support/s.mojo": "struct S:\n    pass\n",
        "tests/t.mojo": "from tests.support.s import S\n",
    },
    "exception with a reason": {
        "tools/layers.toml": LAYERS
        + '[[exception]]\nfrom = "flare/low/c.mojo"\nto = "flare/high/d.mojo"\n'
        + 'reason = "shown here"\n',
        "flare/high/d.mojo": "struct D:\n    pass\n",
        "flare/low/c.mojo": "from flare.high.d import D\n",
    },
}

REFUSED = {
    "allowed for nothing": (
        {
            "tools/layers.toml": LAYERS.replace(
                'inner"\nimports = []', 'inner"\nimports = ["flare/low"]'
            )
        },
        "flare/high/inner imports nothing of flare/low",
    ),
    "allowed out of order": (
        {
            "tools/layers.toml": LAYERS.replace(
                'low"\nimports = []', 'low"\nimports = ["flare/high"]'
            )
        },
        "flare/low stands before flare/high",
    ),
    "upward": ({"flare/low/c.mojo": "from flare.high.b import B\n"}, "upward edge"),
    "all names": ({"flare/high/c.mojo": "from flare.low.a import *\n"}, "does not define"),
    "unlisted package": (
        {"flare/other/c.mojo": "from flare.low.a import A\n"},
        "upward edge",
    ),
    "the longer path wins": (
        {"flare/high/inner/c.mojo": "from flare.low.a import A\n"},
        "upward edge",
    ),
    "through a front": (
        {"flare/high/c.mojo": "from flare.high import B\n"},
        "import through flare/high/__init__.mojo",
    ),
    "through another file": (
        {"flare/high/c.mojo": "from flare.high.b import A\n"},
        "does not define A; import it from the file that does",
    ),
    "unknown name": (
        {"flare/high/c.mojo": "from flare.low.a import Q\n"},
        "does not define Q",
    ),
    "unknown module": ({"tests/t.mojo": "from flare.no import Q\n"}, "no module"),
    "name not in the front": (
        {"tests/t.mojo": "from flare.high import Q\n"},
        "has no Q",
    ),
    "package that is no front": (
        {"flare/low/__init__.mojo": "from flare.low.a import A\n"},
        "flare/low is no package front",
    ),
    "in a function": (
        {"flare/high/c.mojo": "def f():\n    from flare.low.a import A\n"},
        "import inside a function",
    ),
    "relative": (
        {"flare/high/c.mojo": "from .b import B\n"},
        "relative import; write `from flare.high.b`",
    ),
    "whole module": ({"tests/t.mojo": "import flare.low.a\n"}, "whole-module"),
    "cycle": (
        {
            "flare/low/c.mojo": "from flare.low.d import D\n\nstruct C:\n    pass\n",
            "flare/low/d.mojo": "from flare.low.c import C\n\nstruct D:\n    pass\n",
        },
        "cycle: flare/low/c.mojo -> flare/low/d.mojo -> flare/low/c.mojo",
    ),
    "library imports tests": (
        {
            "tests/support/s.mojo": "struct S:\n    pass\n",
            "flare/high/c.mojo": "from tests.support.s import S\n",
        },
        "not part of it",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(tree, name):
    assert check_layers.problems(tree(BASE | ACCEPTED[name])) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tree, name):
    files, message = REFUSED[name]
    problems = check_layers.problems(tree(BASE | files))
    assert len(problems) == 1
    assert message in problems[0]


def test_names_file_and_line(tree):
    files = {"flare/low/c.mojo": '"""C."""\n\nfrom flare.high.b import B\n'}
    [problem] = check_layers.problems(tree(BASE | files))
    assert problem.startswith("flare/low/c.mojo:3: ")


def test_exception_needs_a_reason(tree):
    bare = LAYERS + '[[exception]]\nfrom = "a"\nto = "b"\n'
    with pytest.raises(SystemExit):
        check_layers.problems(tree(BASE | {"tools/layers.toml": bare}))
