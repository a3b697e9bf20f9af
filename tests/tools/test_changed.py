"""Which tests a change runs, and what it says is left out."""

import subprocess
from pathlib import Path

import changed
import pytest

SOURCES = {
    "flare/__init__.mojo": "from flare.till.coin import Coin\n",
    "flare/till/__init__.mojo": "from flare.till.coin import Coin\n",
    "flare/till/coin.mojo": "struct Coin:\n    var size: Int\n",
    "flare/till/drawer.mojo": "from flare.till.coin import Coin\n",
    "flare/till/shop.mojo": "from flare.till.drawer import Coin, open_it\n",
    "tests/till/test_shop.mojo": "from flare.till.shop import open_it\n",
    "tests/till/test_coin.mojo": "from flare.till.shop import open_it\n",
    "tests/till/test_front.mojo": "from flare import Coin\n",
    "tests/till/test_other.mojo": "from std.os import abort\n",
    "tests/wire/servers/shop.mojo": "from flare import Coin\n",
    "tests/wire/test_shop.py": "",
    "tests/wire/test_till.py": "",
    "tests/tools/test_counts.py": "import counting\n",
    "tests/tools/test_else.py": "import recounting\n",
    "tests/cli/test_object.py": "",
    "tools/counting.py": "",
    "cli/mojo_flare/object/store.py": "",
    "examples/hello.mojo": "",
    "tests/compile/wrong.mojo": "",
    "README.md": "",
    "docs/where.md": (
        "| you want to | change | test |\n| --- | --- | --- |\n"
        "| mint | `Coin` in `flare/till/coin.mojo`, `drawer.mojo` beside it |"
        " `tests/wire/test_shop.py`, `test_till.py` | |\n"
        "| look | `flare/till/shop.mojo` | `tests/till/test_shop.mojo` | |\n"
    ),
}

ROWS = [
    # By the name, then by the front; shop is two steps away.
    (
        "flare/till/coin.mojo",
        ["till/test_coin", "till/test_front", "till/test_shop"],
        ["tests/wire/test_shop.py", "tests/wire/test_till.py"],
    ),
    ("flare/till/shop.mojo", ["till/test_shop", "till/test_coin"], []),
    ("tests/till/test_other.mojo", ["till/test_other"], []),
    ("tests/wire/test_till.py", [], ["tests/wire/test_till.py"]),
    ("tools/counting.py", [], ["tests/tools/test_counts.py"]),
    ("tests/tools/test_else.py", [], ["tests/tools/test_else.py"]),
    ("cli/mojo_flare/object/store.py", [], ["tests/cli/test_object.py"]),
    ("examples/hello.mojo", [], ["examples/hello.mojo"]),
    ("tests/compile/wrong.mojo", [], ["tests/compile/wrong.mojo"]),
    ("README.md", [], []),
    # It is gone.
    ("examples/gone.mojo", [], []),
]


@pytest.mark.parametrize("file, unit, paths", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_change_runs(tree, file, unit, paths):
    choice = changed.choose(tree(SOURCES), [Path(file)])
    assert choice.unit == [Path(f"tests/{name}.mojo") for name in unit]
    assert choice.paths == [Path(path) for path in paths]
    assert choice.has_docs == file.endswith(".md")


def test_what_is_left_out_is_told(tree):
    many = {
        f"tests/till/test_{number}.mojo": "from flare.till.coin import Coin\n"
        for number in range(changed.UNIT_FILES_MAX + 1)
    }
    root = tree({**SOURCES, **many})
    choice = changed.choose(root, [Path("flare/till/coin.mojo")])
    assert len(choice.unit) == changed.UNIT_FILES_MAX
    assert choice.left == ["4 more files of unit tests reach it: ONLY=unit"]
    choice = changed.choose(root, [Path("flare/till/shop.mojo")])
    assert choice.left == [
        "no row of docs/where.md has a wire test for flare/till/shop.mojo: ONLY=wire"
    ]


def test_what_has_changed(tree):
    """What differs from the last commit; else what that has changed."""
    root = tree({"a": "1", "b": "1", ".gitignore": "built\n"})

    def git(*words):
        own = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *own, *words], cwd=root, check=True, stdout=subprocess.DEVNULL)

    git("init")
    git("add", ".")
    git("commit", "-m", "First")
    assert changed.changed_files(root) == [Path(".gitignore"), Path("a"), Path("b")]
    tree({"a": "2"})
    git("commit", "-am", "Second")
    assert changed.changed_files(root) == [Path("a")]
    tree({"b": "2", "new": "1", "built": "1"})
    assert changed.changed_files(root) == [Path("b"), Path("new")]
