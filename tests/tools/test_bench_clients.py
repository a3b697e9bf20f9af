"""What the benchmark does with clients: metadata, rounds, tables."""

import sys
from pathlib import Path

import pytest
from suite import clients
from suite.budgets import CLIENT_LIMIT
from suite.metadata import Program
from suite.server import Failed
from suite.workload import Workload

BENCH = Path(__file__).resolve().parents[2] / "bench"
WORKLOAD = Workload("w", "/", "plain.lua", b"ab")
PROGRAM = Program("x", BENCH, BENCH.parent, "x", "Python", "micro")
ANSWERS = """
import sys
for line in sys.stdin:
    print(sys.argv[1], flush=True)
"""


def rounds(cpu_us: float) -> list[dict]:
    figures = {"cpu_us": cpu_us, "rps": 10.0, "errors": {}, "memory_len": 2**20}
    return [{**figures, "other_cpus": 0.01}] * 2


def record(parallel: int) -> dict:
    names = {"flare": 5.0, "libcurl, easy": 10.0}
    return {
        "origin": {"date": "today"},
        "clients": {name: {"parallel": parallel} for name in names},
        "workloads": {"plain": {}, "never run": {}},
        "left_out": {"Go": "go is missing: apt-get install golang-go"},
        "rounds": {name: {"plain": rounds(cpu)} for name, cpu in names.items()},
    }


@pytest.fixture
def client():
    """Makes a client that answers every line with the same text."""
    made = []

    def make(answer: str) -> clients.Client:
        literal = answer.replace("{", "{{").replace("}", "}}")
        command = [sys.executable, "-c", ANSWERS, literal]
        row = clients.ClientRow(PROGRAM, "x", 1, command)
        made.append(clients.Client(row, WORKLOAD, []))
        made[-1].start(80)
        return made[-1]

    yield make
    for one in made:
        one.stop()


def test_the_metadata_of_all_clients_is_good():
    rows = clients.load_rows(BENCH)
    assert {row.parallel for row in rows} == {1, 64}
    assert any(row.name.startswith(clients.LIMIT) for row in rows)
    assert len({row.name for row in rows}) == len(rows)


def test_a_client_answers_each_line(client):
    one = client('{"requests": 3, "bytes": 6, "failures": 0, "duration_us": 9}')
    assert one.ask(1)["requests"] == one.ask(1)["requests"] == 3


@pytest.mark.parametrize(
    "answer",
    [
        "no figures",
        '{"requests": 0, "bytes": 0, "failures": 0, "duration_us": 9}',
        '{"requests": 3, "bytes": 6, "failures": 1, "duration_us": 9}',
        '{"requests": 3, "bytes": 5, "failures": 0, "duration_us": 9}',
    ],
)
def test_a_client_that_fails_has_no_row(client, answer):
    with pytest.raises(Failed):
        client(answer).ask(1)


def test_a_client_that_ends_has_no_row(client):
    one = client("x")
    one.process.kill()
    one.process.wait()
    with pytest.raises(Failed, match="it ended with -9"):
        one.ask(1)


@pytest.mark.parametrize("parallel,title", [(1, "one request"), (64, "64 requests")])
def test_the_page(parallel, title):
    text = clients.summary(record(parallel))
    assert f"### plain, {title} at a time" in text
    assert "| flare | 5.00 (5.00 to 5.00) | 0.50 | 10 | 0 | 1.0 | 0.0% |" in text
    assert "| libcurl, easy | 10.00 (10.00 to 10.00) | 1.00 |" in text
    assert "Go has no row: go is missing" in text
    assert "never run" not in text


@pytest.mark.parametrize("cpu,verdict", [(9.28, "1.28 | met"), (10.1, "1.39 | **not met**")])
def test_the_budget_of_the_client(cpu, verdict):
    found = record(1)
    found["rounds"] = {
        "flare": {"plaintext": rounds(cpu)},
        "C socket, no parsing": {"plaintext": rounds(7.25)},
    }
    assert f"raw C socket | at most 1.28 | {verdict} |" in clients.summary(found)
    del found["rounds"]["C socket, no parsing"]
    assert "Budgets" not in clients.summary(found)


def test_the_raw_socket_is_a_client_of_the_metadata():
    assert CLIENT_LIMIT in {row.name for row in clients.load_rows(BENCH)}
