"""What the benchmark reads: servers, workloads, CPUs and its command line."""

from dataclasses import replace
from pathlib import Path

import pytest
from suite import metadata, workload
from suite.cli import main
from suite.layout import Layout, layout, pinned
from suite.server import Failed, Server, build, filled

BENCH = Path(__file__).resolve().parents[2] / "bench"
HERE, TREE = Path("tree/bench/peers/x"), Path("tree")
GOOD = """
framework = "x"
language = "C"
category = "micro"
needs = { cc = "gcc" }
build = ["cc", "-o", "{build}/server", "{here}/server.c"]
labels = { router = "yes", headers = "parsed", deadlines = "on", date = "sent", settings = "default" }

[[row]]
name = "x"
cores = 1
run = ["{build}/server", "{port}"]

[[row]]
name = "x, 2 workers"
cores = 2
run = ["{build}/server", "{port}", "2"]
env = { A = "b" }
parses = false
"""


def read(text: str) -> list[metadata.Row]:
    return metadata.read_rows(text, "x", HERE, TREE)


def test_reads_a_file():
    one, two = read(GOOD)
    assert one.program is two.program
    assert (one.program.key, one.program.needs) == ("x", {"cc": "gcc"})
    assert (one.name, one.cores, one.env, one.parses) == ("x", 1, {}, True)
    assert (two.name, two.cores, two.env, two.parses) == ("x, 2 workers", 2, {"A": "b"}, False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[row]]", "[[rows]]", "no [[row]]"),
        ('"micro"', '"fast"', "category is 'fast'; write one of micro, platform"),
        ("cores = 1", "cores = 0", "cores is 0"),
        ("cores = 1", 'cores = "1"', "cores is '1'; write a int"),
        ("cores = 1", "cores = true", "cores is True"),
        ("cores = 1\n", "", "missing 1 required positional argument: 'cores'"),
        ("framework", "frame", "there is no 'frame'; known are framework"),
        ("needs = {", "needs = [", "x: "),
        ('run = ["{build}', 'run = "{build}', "x: "),
        ("language = ", "key = ", "there is no 'key'"),
        ('router = "yes"', 'router = "fast"', "the label router is 'fast'; write one of yes, no"),
        ('date = "sent", ', "", "the label date is None"),
        ('settings = "default"', 'settings = "tuned"', "the label settings is 'tuned'"),
    ],
)
def test_refuses(old, new, message):
    with pytest.raises(ValueError, match="^x: ") as caught:
        read(GOOD.replace(old, new))
    assert message in str(caught.value)


def test_every_server_of_the_suite_reads():
    rows = metadata.load(BENCH)
    parses = [row.parses for row in rows]
    assert rows[0].name == "C epoll, no parsing" and parses == sorted(parses)
    names = {row.name for row in rows}
    for wanted in (
        "flare", "flare, whole", "flare, 2 threads", "flare, prefork 1", "flare, prefork 2",
        "nginx", "nginx, 2 workers", "Go net/http", "Go net/http, GOMAXPROCS 2",
        "fasthttp", "fasthttp, prefork 1", "fasthttp, prefork 2", "C epoll, no parsing",
        "C io_uring, no parsing", "h2o", "haproxy", "actix-web", "hyper", "axum",
        "may_minihttp", "Node http", "uvicorn", "m0",
    ):
        assert wanted in names
    for row in rows:
        for words in (row.run, row.program.build, *row.program.versions.values()):
            filled(row.program, words, port=1, upstream=2, scratch=HERE, host="h")


def test_a_name_is_used_once(tree):
    root = tree({"bench/peers/a/server.toml": GOOD, "bench/peers/b/server.toml": GOOD})
    with pytest.raises(ValueError, match="two rows have the name 'x'"):
        metadata.load(root / "bench")


NGINX = ["nginx", "nginx, 2 workers", "nginx, TLS", "nginx, HTTP/2", "nginx, TLS HTTP/2"]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["flare, 2 thr"], ["flare, 2 threads"]),
        (["nginx"], NGINX),
        (["flare"], ["flare"]),
        (["bench/peers/nginx/"], NGINX),
        (["hello"], ["flare", "flare, HTTP/2"]),
        (["rust_hyper"], ["hyper", "hyper, 2 threads", "hyper, HTTP/2"]),
        (["haproxy, T"], ["haproxy, TLS"]),
        (["nginx, 2 workers", "flare"], ["flare", "nginx, 2 workers"]),
    ],
)
def test_selects(wanted, names):
    assert [row.name for row in metadata.select(metadata.load(BENCH), wanted)] == names


def test_selects_nothing_by_an_unknown_name():
    with pytest.raises(ValueError, match="no server has 'zzz' in its name; there are x"):
        metadata.select(read(GOOD), ["zzz"])


def test_a_single_run_has_rows_of_one_core():
    rows = read(GOOD)
    assert [row.cores for row in metadata.of_kind(rows, "single")] == [1]
    assert [row.cores for row in metadata.of_kind(rows, "multi")] == [1, 2]


def test_our_rows_are_copied_from_another_tree():
    rows = read(GOOD) + read(GOOD.replace('framework = "x"', 'framework = "flare"'))
    copies = metadata.from_tree(rows, Path("base"))
    assert [copy.name for copy in copies] == ["x (base)", "x, 2 workers (base)"]
    assert (copies[0].program.root, copies[0].program.here) == (
        Path("base"), Path("base/bench/peers/x"),
    )
    assert copies[0].program.key == "base_x"


def test_a_command_names_what_is_known():
    with pytest.raises(Failed, match="{prot}; known are build, here"):
        filled(read(GOOD)[0].program, ["server", "{prot}"], port=1)


def test_a_build_that_fails_says_why():
    program = read(GOOD.replace('build = ["cc", "-o", "{build}/server", "{here}/server.c"]',
                                'build = ["{python}", "-c", "exit(\'no way\')"]'))[0].program
    with pytest.raises(Failed, match="its build failed: no way"):
        build(replace(program, here=Path(), needs={}))
    with pytest.raises(Failed, match="no-such-program is missing: apt-get install none"):
        build(replace(program, needs={"no-such-program": "none"}))


def test_a_server_that_ends_says_why():
    rows = read(GOOD.replace('run = ["{build}/server", "{port}"]',
                             'run = ["{python}", "-c", "exit(\'no way\')"]'))
    server = Server(rows[0], [])
    with pytest.raises(Failed, match="it ended with 1; it said: no way"):
        server.start(workload.load(BENCH, [])[0])
    assert server.process is None and not server.scratch.exists()


def test_workloads_say_what_is_sent_and_answered():
    found = {item.name: item for item in workload.load(BENCH, [])}
    assert list(found) == [
        "plaintext", "pipelined x16", "10-field browser request", "JSON", "route parameter",
        "64 KiB response", "16 KiB upload", "connection churn", "plaintext, 256 connections",
        "plaintext, 1024 connections", "WebSocket echo, 64 B", "WebSocket echo, 1 KiB",
        "WebSocket echo, 64 KiB", "TLS keep-alive", "TLS 64 KiB response", "TLS handshakes",
        "HTTP/2, 64 connections", "HTTP/2, 16 connections of 16 streams",
        "HTTP/2, 64 KiB response", "HTTP/2, 16 KiB upload", "TLS HTTP/2, 64 connections",
        "gateway, plaintext", "gateway, plaintext, 1024 connections",
        "gateway, 64 KiB response", "gateway, 16 KiB upload", "TLS gateway, plaintext",
    ]
    assert found["64 KiB response"].body == b"x" * 65536
    for item in found.values():
        if item.message_len:
            continue
        assert item.fields["Content-Length"] == str(len(item.body))
        assert item.streams or (BENCH / "load" / item.script).exists()
    assert found["plaintext"].request() == b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n"
    head, _, data = found["16 KiB upload"].request().partition(b"\r\n\r\n")
    assert head.endswith(b"Content-Length: 16384") and data == b"u" * 16384


def test_workloads_are_picked_by_a_part_of_their_name():
    assert [item.name for item in workload.load(BENCH, ["KiB"])] == [
        "64 KiB response", "16 KiB upload", "WebSocket echo, 1 KiB", "WebSocket echo, 64 KiB",
        "TLS 64 KiB response", "HTTP/2, 64 KiB response", "HTTP/2, 16 KiB upload",
        "gateway, 64 KiB response", "gateway, 16 KiB upload",
    ]
    assert [item.name for item in workload.load(BENCH, ["plaintext"])] == ["plaintext"]
    with pytest.raises(ValueError, match="no workload has 'zzz'"):
        workload.load(BENCH, ["plain", "zzz"])


@pytest.mark.parametrize(
    ("cpus", "kind", "cores", "widest", "server", "load"),
    [
        ([0], "single", 1, 1, [], []),
        ([0, 1], "single", 1, 1, [1], [0]),
        ([2, 5, 7], "single", 1, 1, [7], [2]),
        ([0, 1], "multi", 1, 2, [1], [0, 1]),
        ([0, 1], "multi", 2, 2, [0, 1], [0, 1]),
        ([0, 1, 2], "multi", 2, 2, [1, 2], [0, 1, 2]),
        ([0, 1, 2, 3], "multi", 1, 2, [3], [0, 1]),
        ([0, 1, 2, 3], "multi", 2, 2, [2, 3], [0, 1]),
        ([0, 1], "multi", 1, 1, [1], [0]),
    ],
)
def test_layout(cpus, kind, cores, widest, server, load):
    assert layout(cpus, kind, cores, widest) == Layout(server, load)


def test_layout_has_no_more_cpus_than_there_are():
    with pytest.raises(ValueError, match="it wants 2 CPUs and there are 1"):
        layout([0], "multi", 2, 2)


def test_pinned():
    assert pinned([0, 1]) == ["taskset", "-c", "0,1"]
    assert pinned([]) == []


def test_a_narrow_run_has_headline_rows_in_all_and_others_in_what_is_for_everyone():
    items = workload.load(BENCH, [], with_extra=False)
    rows = {row.name: row for row in metadata.load(BENCH)}
    plain = [
        item.name for item in items if not (item.tls or item.streams or item.gateway)
    ]
    assert [item.name for item in workload.of_row(items, rows["flare"], narrow=True)] == plain
    assert [item.name for item in workload.of_row(items, rows["uvicorn"], narrow=True)] == [
        "plaintext"
    ]
    echoes = [item.name for item in items if item.message_len]
    assert [item.name for item in workload.of_row(items, rows["uvicorn"])] == [
        name for name in plain if name not in echoes
    ]
    assert [item.name for item in workload.of_row(items, rows["axum"], narrow=True)] == [
        "plaintext", *echoes,
    ]


@pytest.mark.parametrize(
    "words",
    [["list", "no such server"], ["run", "--rounds", "0"], ["run", "--type", "x"], ["nothing"],
     ["sweep", "--rates", "-1,2"], ["run", "--threads", "-1"]],
)
def test_what_is_wrong_with_the_command_line_is_one_line(words, capsys):
    assert main(words) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and words[-2 if len(words) > 2 else -1] in told
