"""How examples and refusals are compared, and what is kept of a crash."""

import examples
import fuzz
import pytest
import refusals
import test as run_tests

EXAMPLE = '''"""Shows an address."""

# Expected output:
#   127.0.0.1
#   port *
#
#   end

from flare.net import IpAddr
'''


def test_reads_expected_output():
    wanted = ["127.0.0.1", "port *", "", "end"]
    assert examples.expected_output(EXAMPLE) == wanted


def test_blank_lines_at_the_end_are_not_expected():
    text = "# Expected output:\n#   one\n#\n#   two\n#\n\n"
    assert examples.expected_output(text) == ["one", "", "two"]


def test_wants_an_expected_output():
    with pytest.raises(ValueError):
        examples.expected_output("def main():\n    print(1)\n")


@pytest.mark.parametrize(
    ("wanted", "got", "fits"),
    [
        (["a"], ["a"], True),
        (["port *"], ["port 8080"], True),
        (["a.c"], ["abc"], False),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        (["a*"], ["ba"], False),
    ],
)
def test_compares_output(wanted, got, fits):
    assert examples.matches(wanted, got) == fits


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 127.0.0.1", ""),
        ("echo 127.0.0.2", "127.0.0.2"),
        ("echo 127.0.0.1; exit 3", "exit 3"),
    ],
)
def test_runs_an_example(tmp_path, script, message):
    binary = tmp_path / "example"
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    trouble = examples.run_one(binary, ["127.0.0.1"])
    assert message in trouble
    assert bool(message) == bool(trouble)


def test_keeps_the_input_of_a_failed_fuzz_target(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "FOLDER", tmp_path)
    monkeypatch.setattr(fuzz, "CRASHES", tmp_path / "crashes")
    assert fuzz.keep_input("json") is None
    (tmp_path / "json.last").write_bytes(b"last")
    assert fuzz.keep_input("json").read_bytes() == b"last"
    # What broke a property was written after the input before it.
    (tmp_path / "json.crash").write_bytes(b"crash")
    assert fuzz.keep_input("json").read_bytes() == b"crash"


def test_knows_the_name_of_a_target(tree):
    text = 'def main() raises:\n    fuzz_main("json_text", JsonTarget())\n'
    root = tree({"fuzz/fuzz_json.mojo": text, "fuzz/fuzz_ip.mojo": ""})
    assert fuzz.engine_name(root / "fuzz/fuzz_json.mojo") == "json_text"
    assert fuzz.engine_name(root / "fuzz/fuzz_ip.mojo") == "ip"


REFUSED = "# Wrong.\n#\n# The build fails with:\n#   route: 'a' is wrong\n"


def test_reads_what_a_build_fails_with():
    assert refusals.wanted_message(REFUSED) == "route: 'a' is wrong"
    with pytest.raises(ValueError):
        refusals.wanted_message("# Wrong.\n")


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("x.mojo:1:2: note: constraint failed: no\n  assert", ""),
        ("", "it was built"),
        ("x.mojo:1:2: error: unknown name 'no'", "got:"),
        ("x.mojo:1:2: note: constraint failed: no way", "got:"),
    ],
    ids=["refused", "built", "another error", "another message"],
)
def test_compares_what_a_build_fails_with(said, trouble):
    outcome = refusals.trouble_of("no", said)
    assert trouble in outcome
    assert bool(outcome) == bool(trouble)


def test_shares_out_what_is_said_of_programs_built_as_one():
    said = (
        "a.mojo:1:1: warning: of none\n"
        "all.mojo:9:5: error: function instantiation failed\n"
        "def root_2() raises:\nb.mojo:1:1: note: constraint failed: of the third\n"
        "all.mojo:3:5: error: function instantiation failed\n"
        "def root_0() raises:\nb.mojo:2:1: note: constraint failed: of the first\n"
        "mojo: error: failed to run the pass manager\n"
    )
    first, second, third = refusals.said_of_each(3, said)
    assert "of the first" in first and "of the third" not in first
    assert not second
    assert "of the third" in third and "of the first" not in third


@pytest.mark.parametrize("path", ["flare/net", "tests/support/", "examples/nosuch", "tests/no"])
def test_a_path_without_tests_does_not_pass(path, monkeypatch, capsys):
    monkeypatch.setattr(run_tests.sys, "argv", ["test.py", path])
    assert run_tests.main() == 1
    assert f"FAILED {path}: there " in capsys.readouterr().out
