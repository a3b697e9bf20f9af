"""A server that is configured from outside, and the lines of its log."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest
from conftest import LIMIT_NAME, START_TIMEOUT_S, Client, wait_until
from processes import next_line, workers
from toolchain import environment
from wire_programs import built

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n"
LINE_LEN_MAX = 4096


class Program:
    """The server, its table of settings, and a file of its standard error."""

    def __init__(self, process: subprocess.Popen, log) -> None:
        self.process = process
        self.log = log
        self.table: list[str] = []
        while True:
            line = next_line(process, START_TIMEOUT_S)
            if line.startswith("listening on "):
                break
            self.table.append(line)
        self.port = int(line.rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def connect(self, timeout: float = 5.0):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def text(self) -> str:
        return self.log.read_bytes().decode()

    def lines(self, message: str) -> list[dict]:
        """The whole lines of a message; every line has to be JSON."""
        found = []
        for line in self.text().split("\n")[:-1]:
            read = json.loads(line)
            assert datetime.fromisoformat(read["time"]).tzinfo
            if read["msg"].startswith(message):
                found.append(read)
        return found

    def get(self, path: str, fields: bytes = b"") -> int:
        with Client(self) as client:
            client.send(GET % (path.encode(), fields))
            return client.response().status


@contextmanager
def running(tmp_path, *arguments: str, **variables: str) -> Iterator[Program]:
    log = tmp_path / "stderr"
    with open(log, "w") as stderr:
        process = subprocess.Popen(
            [built("log_server"), *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment() | {"APP_PORT": "0"} | variables,
        )
    try:
        program = Program(process, log)
        yield program
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(5)
        process.stdout.close()


def ended(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    """Runs the server until it ends by itself, for what it was told is bad."""
    return subprocess.run(
        [built("log_server"), *arguments],
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
    )


def test_variables_and_options_are_in_force_and_shown(tmp_path):
    with running(
        tmp_path,
        "--max-body-size",
        "10KiB",
        "--workers=2",
        APP_MAX_BODY_SIZE="20KiB",
        APP_MAX_HEADER_SIZE="9000",
    ) as program:
        table = {line.split()[0]: line.split()[1:] for line in program.table}
        assert table["max_body_size"] == ["10240", "--max-body-size"]
        assert table["max_header_size"] == ["9000", "APP_MAX_HEADER_SIZE"]
        assert table["workers"] == ["2", "--workers"]
        assert table["idle_timeout_ms"] == ["60000", "default"]
        with Client(program) as client:
            client.send(
                b"POST /paid/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 10241\r\n\r\n"
            )
            assert client.response().status == 413
        assert program.get("/paid/1", b"A: " + b"x" * 8800 + b"\r\n") == 200
        assert program.get("/paid/1", b"A: " + b"x" * 9100 + b"\r\n") == 431


def test_all_that_is_wrong_is_told_and_nothing_is_served():
    result = ended(
        "--worker=3",
        APP_MAX_BODY_SIZE="many",
        APP_MAXBODY_SIZE="1",
        APP_PORT="tcp://10.0.0.1:80",
    )
    assert result.returncode == 1
    assert result.stdout == ""
    for part in [
        "--worker is no option; did you mean --workers?",
        "APP_MAX_BODY_SIZE is 'many'; it takes a number of bytes",
        "APP_MAXBODY_SIZE names no setting; did you mean APP_MAX_BODY_SIZE?",
        "APP_PORT is 'tcp://10.0.0.1:80'; it takes an integer",
    ]:
        assert part in result.stderr


def test_contradictions_are_refused_with_their_origin():
    result = ended("--max-body-size=100", APP_MAX_HEADER_SIZE="5000")
    assert result.returncode == 1
    assert "max_body_size (100) must not be less than" in result.stderr
    assert "max_body_size is from --max-body-size" in result.stderr
    assert "max_header_size is from APP_MAX_HEADER_SIZE" in result.stderr


def test_help_is_printed_and_ends_the_program():
    result = ended("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for part in [
        "--max-body-size=BYTES\n      Most content of a request (413).\n"
        "      Default 10485760. Variable APP_MAX_BODY_SIZE.",
        "--log-level=VALUE",
        "--prefork\n",
    ]:
        assert part in result.stdout


JSON = {"APP_LOG_FORMAT": "json"}


def test_a_line_has_what_is_known_of_its_request(tmp_path):
    with running(tmp_path, **JSON) as program:
        forged = b'agent: x"} {"level":"error\r\n'
        assert program.get("/paid/17%0A%E2%80%AE", forged) == 200
        (line,) = program.lines("paid")
        assert line["level"] == "info"
        assert line["order"] == "17\n\u202e"
        assert line["agent"] == 'x"} {"level":"error'
        assert line["route"] == "/paid/:id"
        assert len(line["request_id"]) == 32
        assert program.lines("looking") == []
    assert program.text().isascii()


def test_text_lines_are_words_that_nobody_can_add_to(tmp_path):
    with running(tmp_path, "--log-level=debug") as program:
        assert program.get("/paid/17%20level=error%0Ax") == 200
    lines = program.text().splitlines()
    # What depends on the limit of descriptors of this machine.
    looking, paid = [line for line in lines if LIMIT_NAME not in line]
    assert " level=debug msg=looking " in looking
    assert ' order="17 level=error\\nx" ' in paid
    assert " route=/paid/:id " in looking


def test_what_the_library_tells_is_in_the_same_log(tmp_path):
    with running(tmp_path, **JSON) as program:
        assert program.get("/fail?%0A") == 500
        (line,) = program.lines("handler failed")
        assert line["level"] == "error" and line["logger"] == "flare"
        assert line["error"] == "no\nlevel=error forged%0A"
        assert (line["method"], line["target"]) == ("GET", "/fail?%0A")
        assert line["route"] == "/fail" and len(line["request_id"]) == 32
        assert program.get("/busy") == 200
        assert program.get("/paid/1") == 200
        assert wait_until(lambda: program.lines("the handler of route /busy"))


def test_nothing_is_written_if_the_level_is_off(tmp_path):
    with running(tmp_path, APP_LOG_LEVEL="off") as program:
        assert program.get("/paid/1") == 200
        assert program.get("/fail") == 500
    assert program.text() == ""


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_log_that_nobody_reads_stops_nobody(tmp_path, form):
    """The pipe is the queue: what it does not take is counted, and told."""
    read, write = os.pipe()
    process = subprocess.Popen(
        [built("log_server"), f"--log-format={form}"],
        stdout=subprocess.PIPE,
        stderr=write,
        env=environment() | {"APP_PORT": "0"},
    )
    os.close(write)
    try:
        program = Program(process, None)
        for _ in range(3):
            assert program.get("/flood") == 200
        kept = os.read(read, 1 << 20)
        assert program.get("/paid/2") == 200
        process.terminate()
        assert process.wait(20) == 0
        while piece := os.read(read, 1 << 20):
            kept += piece
    finally:
        process.kill()
        process.wait(5)
        process.stdout.close()
        os.close(read)
    assert kept.endswith(b"\n")
    lines = kept.decode().splitlines()
    floods = [line for line in lines if "flood" in line]
    (lost,) = [line for line in lines if "were dropped" in line]
    if form == "json":
        assert all(json.loads(line) for line in lines)
        lost = json.loads(lost)["msg"]
    else:
        lost = lost.split('msg="')[1]
    assert 0 < len(floods) < 600
    assert int(lost.split()[0]) == 600 - len(floods)
    assert "lines for standard error were dropped" in lost
    assert any("paid" in line for line in lines)


def test_worker_processes_share_the_log(tmp_path):
    with running(
        tmp_path, "--prefork", "--workers=2", "--listener=shared", **JSON
    ) as program:
        assert wait_until(lambda: len(workers(program.process.pid)) == 2)
        pids = workers(program.process.pid)
        for number in range(20):
            assert program.get(f"/paid/{number}") == 200
        orders = [line["order"] for line in program.lines("paid")]
        assert sorted(map(int, orders)) == list(range(20))
        os.kill(pids[0], signal.SIGKILL)
        assert wait_until(
            lambda: any(
                "SIGKILL" in line["msg"] and line["logger"] == "flare"
                for line in program.lines("")
            )
        )
        assert wait_until(lambda: len(workers(program.process.pid)) == 2)


def test_lines_of_several_threads_do_not_mix(tmp_path):
    with running(tmp_path, "--workers=2", **JSON) as program:
        for _ in range(4):
            assert program.get("/flood") == 200
        lines = program.lines("flood")
    assert len(lines) == 800
    assert all(len(line["filler"]) == 1000 for line in lines)


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
@pytest.mark.parametrize("mode", [[], ["--prefork"]])
def test_without_standard_error_lines_go_nowhere(closed, mode):
    """Not to the first descriptor that is opened, which would be the listener or,
    once that is closed, a client."""
    process = subprocess.Popen(
        ["bash", "-c", f'exec "$@" {closed}', "bash", built("log_server"), *mode],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment() | {"APP_PORT": "0", "APP_WORKERS": "1"},
    )
    try:
        program = Program(process, None)
        assert program.get("/fail") == 500
        for pid in [process.pid, *workers(process.pid)]:
            assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
            assert os.readlink(f"/proc/{pid}/fd/2") == "/dev/null"
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(5)
        process.stdout.close()
