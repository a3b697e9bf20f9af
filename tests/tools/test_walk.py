"""How what a walk passes is read, counted and written."""

import json
import platform
import subprocess

import pytest
import walk
from mojo_source import Source
from walks import askers, breakpoints, counting, debug_info, walking
from walks.counting import Count
from walks.debug_info import Function, Missing

LINES = """\
include_directories[  1] = "./flare/a"
Address            Line   Column File   ISA Discriminator Flags
------------------ ------ ------ ------ --- ------------- -------------
0x0000000000002620      6      0      1   0             0  is_stmt
0x000000000000263e      7     15      1   0             0  is_stmt prologue_end
0x000000000000267d      8      1      1   0             0  is_stmt end_sequence
"""
SOURCE = '''\
struct A:
    def __len__(self) -> Int:
        """Counts.

        In items.
        """
        return 1

    def longer(
        self, x: Int
    ):
        # A comment is no code.
        var a = x

        if a:
            print(a)
        print("""text
            of two lines""")

    def at_once(self): pass
'''
ECHO = """\
#include <stdio.h>
#include <unistd.h>
void never(void) { puts("never"); }
void second(void) { write(1, "200\\n", 4); }
void first(void) { second(); }
int main(void) {
    char line[8];
    write(1, "ready\\n", 6);
    while (read(0, line, 8) > 0) first();
    return line[0] == 'n' ? (never(), 0) : 0;
}
"""
READ = Function("flare/a/b.mojo", 9, "longer")
LEN = Function("flare/a/b.mojo", 2, "__len__")
OTHER = Function("flare/c.mojo", 1, "other")


def frame(file: str, line: int, name: str) -> dict:
    return {"StartFileName": file, "StartLine": line, "FunctionName": name}


def test_lines_begin_where_rows_are_but_for_the_end():
    assert list(debug_info.row_addresses(LINES.splitlines())) == [0x2620, 0x263E]


def test_what_is_inlined_stands_behind_its_caller_and_others_are_left_out():
    answer = {
        "Address": "0x10",
        "Symbol": [
            frame("Mojo/stdlib/std/list.mojo", 3, "__len__"),
            frame("./flare/a/b.mojo", 2, "__len__"),
            frame(f"{debug_info.ROOT}/flare/a/b.mojo", 9, "longer"),
            frame("tools/walks/walked.mojo", 4, "main"),
        ],
    }
    lines = [json.dumps(answer), json.dumps({"Address": "0x20", "Symbol": []})]
    found = dict(debug_info.stacks(lines))
    assert found == {0x10: [READ, LEN], 0x20: []}


def test_all_instances_of_a_function_are_one():
    stacks = {1: [READ, LEN], 2: [OTHER], 3: [OTHER, LEN], 4: []}
    found = counting.functions_of([3, 1, 2, 4, 5], stacks)
    assert list(found) == [OTHER, LEN, READ]


def test_what_one_pass_has_not_found_is_not_counted():
    passes = [dict.fromkeys(x) for x in ([READ, LEN, OTHER], [OTHER, READ])]
    assert counting.in_all(passes) == [READ, OTHER]


def test_a_count_has_functions_and_files():
    assert str(Count.of([READ, LEN, OTHER])) == "3 / 2"
    assert str(Count.of([])) == "0 / 0"


@pytest.mark.parametrize("line, length", [(2, 1), (9, 5), (20, 1)])
def test_a_body_is_its_code_alone(tmp_path, line, length):
    (tmp_path / "a.mojo").write_text(SOURCE)
    source = Source.read(tmp_path, tmp_path / "a.mojo")
    assert counting.body_len(source, line) == length


def test_a_line_without_a_function_is_refused(tmp_path):
    (tmp_path / "a.mojo").write_text(SOURCE)
    source = Source.read(tmp_path, tmp_path / "a.mojo")
    with pytest.raises(ValueError, match="a.mojo:3"):
        counting.body_len(source, 3)


def test_tables_have_a_row_for_each_walk_and_folder(tree):
    root = tree({"flare/a/b.mojo": SOURCE, "flare/c.mojo": "def other():\n    pass\n"})
    found = {"http1": [READ, LEN, OTHER], "routed": [OTHER]}
    assert walk.table(found, root).splitlines()[2:] == [
        "| HTTP/1.1 GET | 3 / 2 | 1 / 1 | 20 / 8 |",
        "| the same behind a `Router` | 1 / 1 | 0 / 0 | - |",
    ]
    assert walk.by_folder(found).splitlines() == [
        "| folder | http1 | routed |",
        "| --- | --- | --- |",
        "| `flare` | 1 | 1 |",
        "| `flare/a` | 2 | - |",
    ]
    assert walk.listing([READ, LEN], root).splitlines() == [
        "* flare/a/b.mojo:9 longer",
        "  flare/a/b.mojo:2 __len__",
    ]


def test_tables_are_put_between_the_markers_of_a_page():
    page = "a\n<!-- walks -->\nold\n<!-- /walks -->\nb\n"
    assert walk.published(page, "new") == page.replace("old", "new")
    with pytest.raises(ValueError, match="walks"):
        walk.published("a\n", "new")


def test_the_page_has_its_markers():
    page = walk.PAGE.read_text()
    assert walk.published(page, "new") != page


def test_a_program_begins_where_its_first_mapping_does():
    maps = (
        "7f00-7f10 r-xp 00000000 fd:00 1 /lib/libc.so.6\n"
        "5000-6000 r--p 00000000 fd:00 1 /w/walked\n"
        "6000-9000 r-xp 00001000 fd:00 1 /w/walked\n"
        "a000-b000 rw-p 00000000 00:00 0\n"
    )
    assert breakpoints.base_of(maps, "/w/walked") == 0x5000
    with pytest.raises(Missing):
        breakpoints.base_of(maps, "/w/other")


@pytest.fixture
def echo(tmp_path):
    """A program that answers lines, and where its functions begin."""
    source, binary = tmp_path / "echo.c", tmp_path / "echo"
    source.write_text(ECHO)
    subprocess.run(["cc", "-O0", "-pie", "-fPIE", source, "-o", binary], check=True)
    told = subprocess.run(["nm", binary], capture_output=True, text=True, check=True)
    places = {x.split()[2]: x.split()[0] for x in told.stdout.splitlines() if x[0] != " "}
    return binary, {name: int(places[name], 16) for name in ("first", "second", "never")}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="breakpoints are of x86-64")
def test_each_question_tells_what_is_passed_once_and_in_order(echo):
    binary, places = echo
    names = {address: name for name, address in places.items()}
    with walking.Started(binary) as started:
        process = started.program()
        asker = askers.LineAsker(process)
        watch = breakpoints.Watch([process.pid], binary, list(names))
        started.call_at_end(watch.close)
        for _ in range(2):
            passed = watch.passed(asker.ask, asker.is_answered)
            assert [names[x] for x in passed] == ["first", "second"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="breakpoints are of x86-64")
def test_a_program_that_ends_is_no_answer(echo):
    binary, places = echo
    with walking.Started(binary) as started:
        process = started.program()
        watch = breakpoints.Watch([process.pid], binary, list(places.values()))
        started.call_at_end(watch.close)
        with pytest.raises(ChildProcessError, match="has ended"):
            watch.passed(process.stdin.close, lambda: False)


def test_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Missing, match="apt-get install llvm"):
        debug_info.addresses_of(walk.PROGRAM)


@pytest.mark.parametrize("octets, is_whole", [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", False),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", False),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", True),
])  # fmt: skip
def test_a_response_is_whole_with_its_content(octets, is_whole):
    assert askers.is_whole_response(octets) == is_whole


def test_another_status_is_no_answer():
    with pytest.raises(askers.WrongAnswer):
        askers.is_whole_response(b"HTTP/1.1 503 no\r\n\r\n")


def test_frames_are_cut_where_they_end():
    one = askers.frame(askers.DATA, askers.END_STREAM, 3, b"abc")
    found, rest = askers.frames(one + one[:5])
    assert found == [(askers.DATA, askers.END_STREAM, 3, b"abc")]
    assert rest == one[:5]
