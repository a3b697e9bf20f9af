"""What the benchmark reads from wrk, and how it compares rounds."""

import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "bench" / "bench.py"
SPEC = importlib.util.spec_from_file_location("bench", SOURCE)
bench = importlib.util.module_from_spec(SPEC)
sys.modules["bench"] = bench
SPEC.loader.exec_module(bench)

OUTPUT = """Running 3s test @ http://127.0.0.1:9302/
  Latency Distribution
     50%  400.00us
     99%    {tail}
  450000 requests in 3.01s, 60.00MB read
{errors}Requests/sec: 149501.66
Transfer/sec:     19.93MB
"""


@pytest.mark.parametrize(
    ("tail", "p99_ms"), [("480.00us", 0.48), ("1.50ms", 1.5), ("2.00s", 2000.0)]
)
def test_reads_the_tail(tail, p99_ms):
    found = bench.parse_wrk(OUTPUT.format(tail=tail, errors=""))
    assert found["requests"] == 450000
    assert found["rps"] == 149501.66
    assert found["p99_ms"] == pytest.approx(p99_ms)
    assert found["errors"] == {}


def test_a_tail_of_zero_is_none():
    assert "p99_ms" not in bench.parse_wrk(
        OUTPUT.format(tail="0.00us", errors="")
    )


def test_reads_errors_by_kind():
    errors = (
        "  Socket errors: connect 0, read 3, write 0, timeout 7\n"
        "  Non-2xx or 3xx responses: 2\n"
    )
    found = bench.parse_wrk(OUTPUT.format(tail="1.00ms", errors=errors))
    assert found["errors"] == {"read": 3, "timeout": 7, "status": 2}
    assert bench.errors_text([found, found]) == "6 read, 14 timeout, 4 status"
    assert bench.error_count([found]) == 12


def test_ratio_is_the_median_of_the_rounds():
    base, server = bench.Server("base", [], 1), bench.Server("ours", [], 2)
    base.rounds["w"] = [{"cpu_us": us} for us in (1.0, 2.0, 4.0)]
    server.rounds["w"] = [{"cpu_us": us} for us in (1.1, 4.0, 4.4)]
    assert bench.ratio(server, base, "w") == pytest.approx(1.1)
    assert bench.ratio(server, base, "other") is None
