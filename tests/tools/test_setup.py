"""What the set-up says when something is missing, and what it installs."""

import re
import sys

import pytest
import setup


@pytest.mark.parametrize(
    ("program", "package"), [("cc", "gcc"), ("curl", "curl"), ("openssl", "openssl")]
)
def test_names_the_missing_package(monkeypatch, capsys, program, package):
    monkeypatch.setattr(
        setup.shutil, "which", lambda name: None if name == program else name
    )
    with pytest.raises(SystemExit) as ended:
        setup.check_system()
    assert ended.value.code == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"apt-get install {package}" in message


def test_names_the_package_of_venv(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit):
        setup.check_venv()
    assert "apt-get install python3-venv" in capsys.readouterr().err


def test_every_requirement_has_an_exact_version_and_a_hash():
    text = setup.REQUIREMENTS.read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    entries = [entry for entry in entries if not entry.startswith("#")]
    assert len(entries) >= 4
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+ \\\n", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
