"""What the benchmark reads from wrk, how it sums up rounds, what it writes."""

import pytest
from suite.budgets import budget_table
from suite.figures import Spread, error_count, errors_text, is_load_bound, ratio, worst_cv
from suite import workload
from suite.programs import BENCH
from suite.tables import detail_tables, label_table, micro_table, peer_tables
from suite.workload import Workload
from suite.load import Load
from suite.metadata import LABELS
from suite.tools import load_command
from suite.wrk import parse_figures, wrk_command

LATENCY = '{"min": 40, "p25": 250, "p50": 400, "p75": 450, "p99": 480, "max": 2500}'
UNTIMED = '{"min": 0, "p25": 0, "p50": 0, "p75": 0, "p99": 0, "max": 0}'
NO_ERRORS = '{"connect": 0, "read": 0, "write": 0, "status": 0, "timeout": 0}'


def output(latency: str = LATENCY, errors: str = NO_ERRORS) -> str:
    return (
        "Running 3s test @ http://127.0.0.1:9302/\n  450000 requests in 3.00s, 60.00MB read\n"
        "Requests/sec: 150000.00\n"
        'figures: {"requests": 450000, "bytes": 60000000, "duration_us": 3000000,'
        f' "latency_us": {latency}, "errors": {errors}}}\n'
    )


def test_reads_the_figures():
    found = parse_figures(output())
    assert (found["requests"], found["rps"], found["bytes_per_s"]) == (450000, 150000, 2e7)
    assert (found["min_ms"], found["p25_ms"], found["p50_ms"]) == (0.04, 0.25, 0.4)
    assert (found["p75_ms"], found["p99_ms"], found["max_ms"]) == (0.45, 0.48, 2.5)
    assert found["errors"] == {}


def test_what_wrk_did_not_time_is_left_out():
    assert not [name for name in parse_figures(output(UNTIMED)) if name.endswith("_ms")]


def test_reads_errors_by_kind():
    errors = NO_ERRORS.replace('"read": 0', '"read": 3').replace('"status": 0', '"status": 2')
    found = parse_figures(output(errors=errors))
    assert found["errors"] == {"read": 3, "status": 2}
    assert errors_text([found, found]) == "6 read, 4 status"
    assert error_count([found]) == 5
    assert errors_text([]) == "0"


@pytest.mark.parametrize("text", ["", "unable to connect to 127.0.0.1:1 Connection refused\n"])
def test_refuses_an_output_without_figures(text):
    with pytest.raises(ValueError, match="there is no line 'figures: '"):
        parse_figures(text)


def test_the_command_is_whole():
    place, load = ("127.0.0.1", 81), Load(2, 64, 3, [0, 1])
    command = load_command(place, Workload("w", "/a", "plain.lua", b""), load)
    assert " ".join(command) == (
        "taskset -c 0,1 wrk -t2 -c64 -d3s --latency -s bench/load/plain.lua http://127.0.0.1:81/a"
    )
    many = Workload("w", "/a", "pipeline.lua", b"", tls=True, pipelined=16, connections=256)
    command = wrk_command(place, many, load)
    assert command[-3:] == ["https://127.0.0.1:81/a", "--", "16"] and "-c256" in command


@pytest.mark.parametrize(
    ("values", "median", "low", "high", "cv"),
    [
        ([5.0], 5, 5, 5, 0),
        ([1.0, 2.0, 3.0], 2, 1, 3, 0.5),
        ([4.0, 4.0, 4.0, 4.0], 4, 4, 4, 0),
        ([0.0, 0.0], 0, 0, 0, 0),
    ],
)
def test_spread(values, median, low, high, cv):
    found = Spread.of(values)
    assert (found.median, found.low, found.high) == (median, low, high)
    assert found.cv == pytest.approx(cv)


def rows(*cpu_us: float, rps: float = 100.0) -> list[dict]:
    return [
        {"cpu_us": used, "rps": rps, "bytes_per_s": 5.0, "requests": 10, "errors": {},
         "p99_ms": 1.5, "memory_len": 2**20, "other_cpus": 0.01, "steal_cpus": 0.0,
         "user_us": used / 2, "system_us": used / 2, "switches": 0.01,
         "load_cpus": 1.0, "server_cpus": 1.0}
        for used in cpu_us
    ]


def test_the_worse_of_two_deviations_counts():
    assert worst_cv(rows(1.0, 1.0)) == 0
    assert worst_cv([rows(1.0, rps=1)[0], rows(1.0, rps=3)[0]]) == pytest.approx(0.7071, abs=1e-3)


def test_ratio_is_the_median_of_the_rounds():
    assert ratio(rows(1.1, 4.0, 4.4), rows(1.0, 2.0, 4.0)) == pytest.approx(1.1)
    assert ratio(rows(1.0), None) is None
    assert ratio(rows(1.0), rows(0.0)) is None


def record(kind: str = "single", **rounds: list[dict]) -> dict:
    about = {"framework": "f", "language": "C", "category": "micro", "cores": 1, "accepts": [],
             "labels": {label: "yes" for label in LABELS}}
    return {
        "origin": {"run": kind, "tree": "clean", "date": "d", "commit": "c" * 40, "cpu": "x"},
        "servers": {name: {**about, "parses": name != "limit"} for name in rounds},
        "workloads": {"w": {"budget": 1.05, "response_len": 13}},
        "rounds": {name: {"w": found} for name, found in rounds.items()},
        "micro_ns": {}, "build_cpu_s": None, "idle_connection_len": None,
    }


def test_the_table_marks_what_is_unstable():
    found = peer_tables(record(limit=rows(1.0, 1.0), flare=rows(2.0, 3.0, 4.0)))
    assert found[4] == (
        "| 1 | limit | 1.000 (1.000 to 1.000) | 1.000 | 0.50 + 0.50 | 100 | 1.50 | 0.010"
        " | 0 | 1.0 | 0.0% |"
    )
    assert found[5].startswith("| 2 | flare |") and found[5].endswith("| **unstable**, 33.3% |")
    assert "Other programs took at most 0.01 CPUs" in found[7]


def test_the_table_needs_no_limit_and_no_second_round():
    row = peer_tables(record(flare=rows(1.0)))[4]
    assert row.startswith("| 1 | flare | 1.000 (1.000 to 1.000) | - |") and row.endswith("| - |")


def test_a_rate_that_the_load_limits_is_a_least_one():
    idle = [{**row, "server_cpus": 0.5} for row in rows(1.0, 1.0)]
    assert "| ≥ 100 |" in peer_tables(record(flare=idle))[4]
    assert "| ≥ 100 |" not in peer_tables(record(flare=rows(1.0, 1.0)))[4]
    remote = [{name: row[name] for name in row if name != "load_cpus"} for row in idle]
    assert not is_load_bound(remote, cores=1, threads=1)


def test_what_must_be_known_of_a_server_is_said():
    run = record(flare=rows(1.0))
    run["servers"]["flare"]["accepts"] = ["no Host"]
    assert label_table(run)[4] == "| flare | C | yes | yes | yes | yes | yes | no Host |"


def test_the_detail_has_the_columns_users_know():
    assert "| C | f | micro | flare | 13 | 20 | 0 | 100 | 5 | - | - | - | - | 1.50 | - |" in (
        detail_tables(record(flare=rows(1.0, 1.0)))
    )


@pytest.mark.parametrize(("used", "verdict"), [(1.05, "met"), (1.06, "**not met**")])
def test_budget_against_the_limit(used, verdict):
    table = budget_table(record(limit=rows(1.0), flare=rows(used)))
    assert table[4].startswith("| w, CPU a request against raw C epoll | at most 1.05 |")
    assert table[4].endswith(f"| {verdict} |")


def test_budget_of_two_workers_is_for_any_run():
    run = record("multi", **{"limit": rows(1.0), "flare": rows(2.0), "flare, 2 threads": rows(2.0)})
    table = budget_table(run)
    assert len(table) == 6 and "flare, 2 threads against flare | at most 1.05 | 1 | met" in table[4]


@pytest.mark.parametrize(("used", "verdict"), [(0.9, "met"), (1.1, "**not met**")])
def test_budget_of_tls_is_nginx(used, verdict):
    run = record(**{"flare, TLS": rows(used), "nginx, TLS": rows(1.0)})
    run["workloads"] = {"TLS keep-alive": run["workloads"].pop("w")}
    for found in run["rounds"].values():
        found["TLS keep-alive"] = found.pop("w")
    table = budget_table(run)
    assert table[4].startswith("| TLS keep-alive, CPU a request against nginx")
    assert table[4].endswith(f"| {verdict} |")


def test_budget_of_a_gateway_is_the_better_of_its_peers():
    peers = {"nginx as gateway": rows(3.0), "haproxy as gateway": rows(2.0)}
    for used, verdict in ((2.0, "met"), (2.1, "**not met**")):
        run = record(**{"flare as gateway": rows(used)}, **peers)
        run["workloads"] = {"gateway, plaintext": run["workloads"].pop("w")}
        for found in run["rounds"].values():
            found["gateway, plaintext"] = found.pop("w")
        row = budget_table(run)[4]
        assert row.startswith("| gateway, plaintext, CPU a request against haproxy as gateway")
        assert row.endswith(f"| {verdict} |")
        del run["rounds"]["haproxy as gateway"]
        assert "against nginx as gateway" in budget_table(run)[4]


@pytest.mark.parametrize(("name", "budget"), [
    # As the design has them; heads are 0.7, 0.4 and 0.4 of what httparse takes.
    ("parse head, 50 bytes", 31), ("parse head, 564 bytes", 106), ("parse head, 1421 bytes", 200),
    # 70 and 40 GB/s.
    ("masking, 1 KiB, worst alignment", 14.6), ("masking, 64 KiB, worst alignment", 1638),
])
def test_budgets_of_pieces(name, budget):
    for used, verdict in ((budget, "met"), (budget + 1, "**not met**")):
        run = record()
        run["micro_ns"] = {name: used}
        row = budget_table(run)[4]
        assert row.startswith(f"| {name} | at most {budget} ns |") and row.endswith(f"| {verdict} |")


def test_budgets_of_workloads_are_those_of_the_design():
    budgets = {one.name: one.budget for one in workload.load(BENCH, []) if one.budget}
    assert budgets == {
        "plaintext": 1.03, "pipelined x16": 1.1, "64 KiB response": 1.0, "16 KiB upload": 1.2,
        # fastwebsockets' against raw C; raw C itself where copies count.
        "WebSocket echo, 64 B": 1.05, "WebSocket echo, 1 KiB": 1.05, "WebSocket echo, 64 KiB": 1.0,
    }


def test_no_figures_make_no_budget_table():
    assert budget_table(record("multi", flare=rows(1.0))) == []
    assert micro_table(record()) == []
