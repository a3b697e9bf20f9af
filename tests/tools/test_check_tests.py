"""Each rule of the check of tests, kept and broken, in Mojo and in Python."""

import check_tests
import pytest


def mojo(body: str, more: str = "") -> str:
    """Gives a Mojo file with one test."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{more}def test_a() raises:\n{lines}"


def python(body: str, more: str = "") -> str:
    """Gives a Python file with one test."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{more}def test_a():\n{lines}"


ACCEPTED = {
    "an assertion": {"tests/test_a.mojo": mojo("assert_equal(f(), 1)")},
    "an assertion of a program that users read": {
        "examples/test_a.mojo": mojo(
            "assert_equal(f(), 1)", "from std.testing import assert_equal\n\n"
        )
    },
    "a helper that asserts": {
        "tests/test_a.mojo": mojo(
            "_refused(1)", "def _refused(x: Int) raises:\n    assert_true(x == f())\n\n"
        )
    },
    "a helper of a helper": {
        "tests/test_a.mojo": mojo(
            "_outer()",
            "def _outer() raises:\n    _inner()\n\n"
            "def _inner() raises:\n    raise Error()\n\n",
        )
    },
    "a helper of another file": {
        "tests/support/log.mojo": "def compare(x: Int) raises:\n    assert_true(x == 1)\n",
        "tests/test_a.mojo": mojo(
            "compare(f())", "from tests.support.log import compare\n\n"
        ),
    },
    "a wait in an assertion": {
        "tests/test_a.mojo": mojo("assert_true(wait_until(ready))")
    },
    "an error that is kept": {
        "tests/test_a.mojo": mojo(
            "try:\n    f()\nexcept error:\n    assert_true(g(error))\n    return\nraise Error()"
        )
    },
    "a failure behind the call": {
        "tests/test_a.mojo": mojo(
            "try:\n    f()\nexcept error:\n    assert_true(g(error))\nelse:\n    raise Error()"
        )
    },
    "an assertion in Python": {"tests/test_a.py": python("assert f() == 1")},
    "a raise that is expected": {
        "tests/test_a.py": python("with pytest.raises(ValueError):\n    f()")
    },
    "a fixture's check": {"tests/test_a.py": python("check_answer(1)")},
    "a helper of another Python file": {
        "tests/conftest.py": "def compare(x):\n    assert x == 1\n",
        "tests/test_a.py": python("compare(f())", "from conftest import compare\n\n"),
    },
    "a wait in an assert": {
        "tests/test_a.py": python("assert wait_until(lambda: f())")
    },
    "an error of the network": {
        "tests/test_a.py": python("try:\n    f()\nexcept OSError:\n    pass\nassert g()")
    },
    "two calls that are compared": {
        "tests/test_a.py": python("assert token() != token()")
    },
}

REFUSED = {
    "assertions of the standard library": (
        {
            "tests/test_a.mojo": mojo(
                "assert_equal(f(), 1)", "from std.testing import assert_equal\n\n"
            )
        },
        check_tests.DEAR,
    ),
    "no assertion": ({"tests/test_a.mojo": mojo("_ = f()")}, "asserts nothing"),
    "only its name is in a comment": (
        {"tests/test_a.mojo": mojo("f()  # assert_true(f())")},
        "asserts nothing",
    ),
    "a helper that asserts nothing": (
        {"tests/test_a.mojo": mojo("_do()", "def _do():\n    f()\n\n")},
        "asserts nothing",
    ),
    "a method named as a helper": (
        {
            "tests/test_a.mojo": mojo(
                "f.compare()", "def compare() raises:\n    assert_true(f())\n\n"
            )
        },
        "asserts nothing",
    ),
    "a wait of its own": (
        {"tests/test_a.mojo": mojo("wait_until(ready)\nassert_true(f())")},
        "`wait_until` is thrown away",
    ),
    "a wait that is discarded": (
        {"tests/test_a.mojo": mojo("_ = wait_until(ready)\nassert_true(f())")},
        "`wait_until` is thrown away",
    ),
    "a constant": (
        {"tests/test_a.mojo": mojo("assert_true(True)")},
        "whatever the code does",
    ),
    "a name beside itself": (
        {"tests/test_a.mojo": mojo("assert_equal(x, x, name)")},
        "whatever the code does",
    ),
    "a length": (
        {"tests/test_a.mojo": mojo("assert_true(len(a.b) >= 0)")},
        "whatever the code does",
    ),
    "a swallowed assertion": (
        {"tests/test_a.mojo": mojo("try:\n    assert_true(f())\nexcept:\n    pass")},
        "swallowed",
    ),
    "an error that need not come": (
        {
            "tests/test_a.mojo": mojo(
                "try:\n    _ = f()\nexcept error:\n    assert_true(g(error))\ng()"
            )
        },
        "passes if nothing is raised",
    ),
    "no assertion in Python": (
        {"tests/test_a.py": python("f()")},
        "asserts nothing",
    ),
    "a bare wait in Python": (
        {"tests/test_a.py": python("server.wait_until(f)\nassert g()")},
        "`wait_until` is thrown away",
    ),
    "a comparison that is thrown away": (
        {"tests/test_a.py": python("f() == 1\nassert g()")},
        "whatever the code does",
    ),
    "a tuple": (
        {"tests/test_a.py": python('assert (f(), "text")')},
        "whatever the code does",
    ),
    "a true constant": (
        {"tests/test_a.py": python("assert 1")},
        "whatever the code does",
    ),
    "a value beside itself": (
        {"tests/test_a.py": python("assert a.b == a.b")},
        "whatever the code does",
    ),
    "a swallowed assert": (
        {"tests/test_a.py": python("try:\n    assert f()\nexcept Exception:\n    pass")},
        "swallowed",
    ),
    "an error that need not come in Python": (
        {
            "tests/test_a.py": python(
                "try:\n    f()\nexcept OSError as error:\n    assert error.errno == 1"
            )
        },
        "passes if nothing is raised",
    ),
}


@pytest.mark.parametrize("files", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepts(tree, files):
    assert check_tests.problems(tree(files)) == []


@pytest.mark.parametrize("files,message", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(tree, files, message):
    found = check_tests.problems(tree(files))
    assert len(found) == 1 and message in found[0], found
