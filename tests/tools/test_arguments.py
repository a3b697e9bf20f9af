"""What the tools say of arguments that they cannot take: what was found and what is
allowed, before anything is built."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBER = "is no whole number above 0"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tools/run.py", "arguments are required: FILE.mojo"),
        ("tools/run.py nowhere.mojo", "there is no file nowhere.mojo"),
        ("tools/run.py README.md", "README.md is no Mojo source"),
        ("tools/run.py examples", "examples is no Mojo source"),
        ("tools/build_size.py /nowhere.mojo", "there is no file /nowhere.mojo"),
        ("tools/build_size.py --nowhere", "unrecognized arguments: --nowhere"),
        ("tools/ir_report.py nowhere.mojo", "there is no file nowhere.mojo"),
        ("tools/ir_report.py nowhere.ll", "nowhere.ll is no Mojo source"),
        ("tools/count_lines.py two", f"'two' {NUMBER}"),
        ("tools/count_lines.py 0", f"'0' {NUMBER}"),
        ("tools/cover.py --lines", "--lines takes one file"),
        ("tools/cover.py --lines nowhere.mojo", "run `make coverage`"),
        ("tools/cover.py tests/url tests/json", "not tests/url tests/json"),
        ("tools/cover.py nowhere", "no unit tests below nowhere"),
        ("tools/fuzz.py --seconds 0 url", f"'0' {NUMBER}"),
        ("tools/fuzz.py --runs -1 url", "'-1' is no whole number"),
        ("tools/simulate.py -n -4", f"'-4' {NUMBER}"),
        ("tools/walk.py nowhere", "there is no walk nowhere; name some of"),
        ("tools/gen_idna.py nowhere", "nowhere has no idna"),
        ("tools/gen_suffixes.py nowhere", "there is no nowhere/publicsuffixlist/"),
        ("tools/h2spec.py --over nowhere", "invalid choice: 'nowhere'"),
        ("tools/grpc_interop.py --case nowhere", "invalid choice: 'nowhere'"),
        ("bench/uneven/uneven.py --nowhere", "unrecognized arguments: --nowhere"),
        ("bench/uneven/uneven.py nan", "'nan' is no number above 0"),
        ("bench/stream/stream.py 10 none", f"'none' {NUMBER}"),
        ("bench/prefork.py", "usage: prefork.py COUNT COMMAND"),
        ("bench/prefork.py two true", "usage: prefork.py COUNT COMMAND"),
        ("bench/prefork.py 0 true", "with a COUNT from 1 on"),
        ("tests/wire/soak.py --minutes -1", "'-1' is no number above 0"),
        ("tests/wire/soak.py --rate nan", "'nan' is no number above 0"),
        ("tests/wire/chat_proof.py --clients 0", f"'0' {NUMBER}"),
        ("tests/differential/differential.py -n -4", f"'-4' {NUMBER}"),
    ],
)
def test_are_refused(words, said):
    result = subprocess.run(
        [sys.executable, *words.split()],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said in result.stderr
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_a_program_is_found_from_any_folder(tmp_path):
    """It is compiled in the root, and named from where its user is."""
    (tmp_path / "broken.mojo").write_text("def main():\n    nowhere()\n")
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "run.py", "broken.mojo"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "use of unknown declaration 'nowhere'" in result.stderr
    assert result.returncode == 1
