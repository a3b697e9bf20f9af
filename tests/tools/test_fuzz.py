"""Which targets a run of the fuzzer takes."""

import sys

import fuzz
import pytest


def test_targets_are_named_with_or_without_the_word_of_their_files():
    assert [path.stem for path in fuzz.targets(["json", "fuzz_ip"])] == ["fuzz_ip", "fuzz_json"]
    assert len(fuzz.targets([])) > 50


def test_a_name_of_no_target_is_refused_before_anything_is_built(monkeypatch, capsys):
    """A run that has nothing to run must not pass."""
    monkeypatch.setattr(fuzz, "build_and_run", lambda *_: pytest.fail("something was built"))
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "json", "jsom"])
    with pytest.raises(SystemExit) as end:
        fuzz.main()
    assert end.value.code == 2
    assert "there is no target jsom; name some of accept_encoding, " in capsys.readouterr().err
