"""What is unused is found, and what is used is not."""

import check_unused
import pytest


def library(text: str) -> dict[str, str]:
    """Lays out one file of the library, with a program that uses it."""
    user = "from flare.x.a import f\n\ndef main():\n    f()\n"
    return {"flare/x/a.mojo": text, "examples/e.mojo": user}


ACCEPTED = {
    "modules of a template": {
        "cli/mojo_flare/templates/a/main.mojo": (
            "from app.x import g\n\ndef main():\n    g()\n"
        ),
        "cli/mojo_flare/templates/a/app/x.mojo": (
            "from .y import f\n\ndef g():\n    f()\n"
        ),
        "cli/mojo_flare/templates/a/app/y.mojo": "def f():\n    x = 1\n",
    },
    "name that a front gives on": {
        "flare/x/a.mojo": "def f():\n    x = 1\n",
        "flare/x/__init__.mojo": "from .a import f\n",
    },
    "name with another name elsewhere": {
        "flare/x/a.mojo": "def f():\n    x = 1\n",
        "examples/e.mojo": "from flare.x.a import f as g\n\ndef main():\n    g()\n",
    },
    "routes of a template, which `flare routes` asks for": {
        "cli/mojo_flare/templates/a/main.mojo": (
            "from app.x import routes\n\ndef main():\n    x = 1\n"
        ),
        "cli/mojo_flare/templates/a/app/x.mojo": "def routes():\n    x = 1\n",
    },
    "star": library("from flare.y import *\n\ndef f():\n    x = 1\n"),
}

REFUSED = {
    "unused file": (
        {"flare/x/a.mojo": "def f():\n    f()\n"},
        "no file imports",
    ),
    "file that only tests use": (
        {
            "flare/x/a.mojo": "def f():\n    x = 1\n",
            "tests/test_f.mojo": "from flare.x.a import f\n\ndef test_f():\n    f()\n",
        },
        "no file imports",
    ),
    "unused import": (
        library("from flare.y import (\n    g,\n    h,\n)\n\ndef f():\n    g()\n"),
        "`h` is imported and not used",
    ),
    "unused import by another name": (
        library("from flare.y import g as h\n\ndef f():\n    g()\n"),
        "`h` is imported and not used",
    ),
    "unused name": (
        library("comptime ONE = 1\n\ndef f():\n    x = 1\n"),
        "nothing uses `ONE`",
    ),
    "name that only comments have": (
        library("comptime ONE = 1\n\ndef f():\n    # ONE\n    x = \"ONE\"\n"),
        "nothing uses `ONE`",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(tree, name):
    assert check_unused.problems(tree(ACCEPTED[name])) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tree, name):
    files, message = REFUSED[name]
    [problem] = check_unused.problems(tree(files))
    assert message in problem
