"""Packages of npm: their digest, and what becomes of one that is not there."""

import base64
import hashlib
import io
import tarfile

import npm
import pytest


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """Puts an npm into PATH that has one package; gives its digest."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as content:
        info = tarfile.TarInfo("package/index.js")
        info.size = 2
        content.addfile(info, io.BytesIO(b"ok"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "a.tgz").write_bytes(archive.getvalue())
    program = tmp_path / "bin" / "npm"
    program.write_text(
        f'#!/bin/sh\n[ "$3" = a@1.0.0 ] || exit 1\n/bin/cp {tmp_path}/bin/a.tgz . && echo a.tgz\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return base64.b64encode(hashlib.sha512(archive.getvalue()).digest()).decode()


def test_a_package_is_unpacked_once(packed, tmp_path, monkeypatch):
    folder = tmp_path / "modules" / "a"
    assert npm.unpack("a@1.0.0", packed, folder) == folder
    assert (folder / "index.js").read_text() == "ok"
    monkeypatch.setenv("PATH", "")
    assert npm.unpack("a@1.0.0", packed, folder) == folder


def test_what_cannot_be_had(packed, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="a@1.0.0 is another one"):
        npm.unpack("a@1.0.0", packed[::-1], tmp_path / "a")
    assert not (tmp_path / "a").exists()
    with pytest.raises(npm.NoPackage, match="npm has no b@1.0.0"):
        npm.unpack("b@1.0.0", packed, tmp_path / "b")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(npm.NoPackage, match="there is no npm"):
        npm.unpack("a@1.0.0", packed, tmp_path / "a")
