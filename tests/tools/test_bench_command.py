"""The command line of the suite: what is typed, and what becomes of it."""

import pytest
from suite import cli
from suite.building import chosen
from suite.load import Load
from suite.remote import over_ssh
from suite.running import Wanted


@pytest.fixture
def wanted(monkeypatch) -> list[Wanted]:
    """What reaches the measuring."""
    found: list[Wanted] = []
    monkeypatch.setattr(cli, "measure", lambda one, *_: found.append(one) or 0)
    return found


def test_short_options_mean_what_the_long_ones_do(wanted):
    short = ["-c", "32", "-d", "7s", "-t", "2", "-r", "9", "-l", "rust"]
    long = ["--connections", "32", "--duration", "7", "--threads", "2", "--rounds", "9"]
    assert cli.main(["run", "nginx", *short]) == 0
    assert cli.main(["bench", "nginx", *long, "--language", "rust"]) == 0
    assert wanted[0] == wanted[1]
    one = wanted[0]
    assert (one.connections, one.seconds, one.threads, one.rounds) == (32, 7, 2, 9)
    assert (one.names, one.languages) == (["nginx"], ["rust"])


@pytest.mark.parametrize(
    ("word", "kind"),
    [("single", "single"), ("singleCore", "single"), ("multi", "multi"), ("multiCore", "multi")],
)
def test_kinds_have_the_names_of_other_suites(wanted, word, kind):
    assert cli.main(["run", "--type", word]) == 0
    assert wanted[0].kind == kind


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--type", "wide"], "'wide'; write single (singleCore) or multi (multiCore)"),
        (["-d", "5m"], "'5m'; write whole seconds, such as 10 or 10s"),
        (["-d", "0"], "'0'; write whole seconds"),
        (["-c", "0"], "greater than or equal to 1"),
        (["-r", "0"], "greater than or equal to 1"),
        (["--base", "/nowhere"], "'/nowhere' does not exist"),
        (["--base", __file__], "is a file"),
    ],
)
def test_what_is_wrong_is_said(wanted, capsys, words, message):
    assert cli.main(["run", *words]) == 2
    assert message in capsys.readouterr().err and wanted == []


def test_a_language_alone_is_all_servers_of_it(wanted):
    assert cli.main(["run", "--quick", "-l", "Go", "-l", "c"]) == 0
    assert (wanted[0].names, wanted[0].languages) == ([], ["Go", "c"])
    assert cli.main(["sweep", "-l", "go", "-c", "8", "-d", "2"]) == 0
    one = wanted[1]
    assert (one.names, one.languages, one.connections, one.seconds) == ([], ["go"], 8, 2)
    assert cli.main(["run", "--quick"]) == 0
    assert len(wanted[2].names) > 2


def test_servers_are_picked_by_language():
    assert {row.program.language for row in chosen([], languages=["RUST", "c"])} == {"Rust", "C"}
    assert [row.program.language for row in chosen(["nginx", "axum"], languages=["rust"])] == [
        "Rust",
    ]
    with pytest.raises(ValueError, match="written in 'cobol'; there are C, C\\+\\+, Go"):
        chosen([], languages=["cobol"])


def test_the_way_to_another_host_is_the_users(wanted):
    assert cli.main(["run", "--remote", "me@far", "--ssh", "ssh -p 2222 -i 'a key'"]) == 0
    assert (wanted[0].remote, wanted[0].ssh) == ("me@far", "ssh -p 2222 -i 'a key'")
    assert Load(1, 1, 1, []).ssh == "ssh"
    words = over_ssh("me@far", ["wrk"], wanted[0].ssh)
    assert words[:5] == ["ssh", "-p", "2222", "-i", "a key"] and words[-2] == "me@far"
