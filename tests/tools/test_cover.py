"""Which lines ran: tables of lines, traps on them, and what is told."""

import shutil
import subprocess

import cover
import pytest
from cover import Lines, Table, add, functions, read_table, spans, summary, without_code

DUMP = """debug_line[0x00000000]
Line table prologue:
    total_length: 0x000000be
include_directories[  0] = "{root}"
include_directories[  1] = "{root}/flare/url"
include_directories[  2] = "oss/std"
file_names[  0]:
           name: "main.mojo"
      dir_index: 0
file_names[  1]:
           name: "url.mojo"
      dir_index: 1
file_names[  2]:
           name: "list.mojo"
      dir_index: 2

Address            Line   Column File   ISA Discriminator OpIndex Flags
------------------ ------ ------ ------ --- ------------- ------- -------------
0x0000000000001139      7      0      1   0             0       0  is_stmt
0x000000000000113d      8      5      1   0             0       0
0x0000000000001141      9      5      1   0             0       0  is_stmt prologue_end
0x0000000000001145      3      5      2   0             0       0  is_stmt
0x0000000000001149      0      5      1   0             0       0  is_stmt
0x000000000000114d      5      5      0   0             0       0  is_stmt end_sequence
debug_line[0x000000c2]
file_names[  1]:
           name: "json.mojo"
      dir_index: 0
include_directories[  0] = "{root}/flare/json"

0x0000000000002000     30      0      1   0             0       0  is_stmt
"""


def test_tables_are_read_as_far_as_they_are_of_the_library(tmp_path):
    # Folders come behind the names in no dump, but they are looked up late.
    text = DUMP.format(root=tmp_path).replace(
        'file_names[  1]:\n           name: "json.mojo"\n      dir_index: 0\n'
        f'include_directories[  0] = "{tmp_path}/flare/json"\n',
        f'include_directories[  0] = "{tmp_path}/flare/json"\n'
        'file_names[  1]:\n           name: "json.mojo"\n      dir_index: 0\n',
    )
    table = read_table(text.splitlines(), tmp_path)
    assert table.places == {
        0x1139: ("flare/url/url.mojo", 7),
        0x1141: ("flare/url/url.mojo", 9),
        0x2000: ("flare/json/json.mojo", 30),
    }


def test_a_line_has_run_if_code_of_it_did_anywhere():
    table = Table({1: ("flare/a.mojo", 5), 2: ("flare/a.mojo", 5), 3: ("flare/a.mojo", 6)})
    coverage = {}
    add(coverage, table, [1, 2, 3], bytes([0, 1, 0]))
    assert coverage["flare/a.mojo"].made == {5, 6}
    assert coverage["flare/a.mojo"].missed == [6]
    add(coverage, table, [1, 2, 3], bytes([0, 0, 1]))
    assert coverage["flare/a.mojo"].missed == []


SOURCE = '''struct One:
    def first(self) -> Int:
        """What.

        More.
        """
        return 1

    def second[
        T: Movable
    ](
        self,
    ) -> Int:
        return 2


def third():
    pass
'''


def test_functions_have_a_first_and_a_last_line():
    assert list(functions(SOURCE)) == [("first", 2, 7), ("second", 9, 14), ("third", 17, 18)]


def test_functions_of_which_there_is_no_code_are_named(tree):
    root = tree({"flare/one.mojo": SOURCE, "flare/two.mojo": "def other():\n    pass\n"})
    coverage = {"flare/one.mojo": Lines({7, 18}, {7})}
    assert without_code(root, coverage) == {
        "flare/one.mojo": ["second"],
        "flare/two.mojo": ["other"],
    }


def test_what_is_told():
    coverage = {
        "flare/http/h1/chunked.mojo": Lines({1, 2, 3, 4}, {1, 2, 3}),
        "flare/net/ip.mojo": Lines({1, 2}, {1, 2}),
    }
    assert summary(coverage) == [
        " 75.0 %       3 of      4  flare/http/h1",
        "100.0 %       2 of      2  flare/net",
        " 75.0 %       3 of      4  protocol cores",
        "100.0 %       2 of      2  the rest",
    ]
    assert spans([3, 5, 6, 7, 9]) == "3, 5-7, 9"


PROGRAM = """#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sum;

static void *work(void *given) {
    for (int at = 0; at < 100000; at++) {
        sum += at;
    }
    if (given) {
        sum = 7;
    }
    return 0;
}

int main(int count, char **words) {
    pthread_t threads[4];
    struct sigaction own = {.sa_handler = SIG_DFL}; sigaction(SIGTRAP, &own, 0);
    for (int at = 0; at < 4; at++) pthread_create(&threads[at], 0, work, 0);
    for (int at = 0; at < 4; at++) pthread_join(threads[at], 0);
    if (fork() == 0) {
        sum = 3;
        _exit(0);
    }
    wait(0);
    if (count > 5) {
        sum = 9;
    }
    return words ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("llvm-dwarfdump") is None, reason="no llvm-dwarfdump")
def test_traps_find_what_runs_in_threads_and_children(tree, monkeypatch):
    root = tree({"flare/program.c": PROGRAM})
    monkeypatch.setattr(cover, "FOLDER", root)
    binary = root / "program"
    subprocess.run(
        ["cc", "-g", "-O0", "-pthread", str(root / "flare/program.c"), "-o", str(binary)],
        check=True,
    )
    table = cover.table_of(binary, root)
    done, addresses, hits = cover.run_traced([str(binary)], binary, table, 60)
    assert done.returncode == 0, done.stdout
    coverage = {}
    add(coverage, table, addresses, hits)
    lines = coverage["flare/program.c"]
    assert {10, 15, 24, 25, 31} <= lines.run
    assert lines.missed == [13, 29]


@pytest.mark.parametrize("below", ["tests/nosuch", "tests/wire/conftest.py"])
def test_a_path_without_unit_tests_is_refused(below, monkeypatch, capsys):
    """Else nothing would run, and all would be well."""
    monkeypatch.setattr(cover, "cover", lambda *_: pytest.fail("something was built"))
    monkeypatch.setattr(cover.sys, "argv", ["cover.py", below])
    monkeypatch.setattr(cover.shutil, "which", lambda _: "/usr/bin/there")
    assert cover.main() == 2
    assert f"cover: there are no unit tests below {below}" in capsys.readouterr().err
