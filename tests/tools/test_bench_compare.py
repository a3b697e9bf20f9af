"""Intervals, ties, and what is a regression between two runs."""

import random

import pytest
from suite.compare import comparison
from suite.intervals import bootstrap, change, is_change, places
from test_bench_figures import record, rows

FIVE = [2.0, 2.02, 1.99, 2.01, 1.98]


def noisy(median: float, seed: int, count: int = 9) -> list[float]:
    """Makes rounds that deviate by 2 %, as a quiet machine's do."""
    draw = random.Random(seed)
    return [median * draw.gauss(1, 0.02) for _ in range(count)]


def test_an_interval_holds_the_median_and_is_the_same_each_time():
    found = bootstrap(FIVE)
    assert found == bootstrap(FIVE) and found.median == 2.0
    assert 1.98 <= found.low < 2.0 < found.high <= 2.02


def test_one_round_has_an_interval_of_no_width():
    assert (bootstrap([3.0]).low, bootstrap([3.0]).high) == (3.0, 3.0)


def test_an_interval_holds_the_true_median_nearly_always():
    held = 0
    for seed in range(40):
        found = bootstrap(noisy(10, seed))
        held += found.low <= 10 <= found.high
    assert held >= 34  # of 40; 38 are expected


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (FIVE, False),
        ([value * 1.1 for value in FIVE], True),
        ([value * 0.9 for value in FIVE], True),
        ([value * 1.02 for value in FIVE], False),  # beyond chance, but no news
        ([1.6, 2.1, 2.4, 2.0, 2.3], False),  # large, but chance
    ],
)
def test_a_change_is_beyond_chance_and_large(after, changed):
    assert is_change(change(FIVE, after)) is changed


def test_rows_whose_intervals_overlap_tie():
    assert places({"slow": [3.0, 3.1, 3.2], "a": [1.0, 1.1, 1.2], "b": [1.1, 1.15, 1.3]}) == {
        "a": "1, tie", "b": "1, tie", "slow": "3",
    }
    assert places({"b": [2.0, 2.0], "a": [1.0, 1.0]}) == {"a": "1", "b": "2"}


def test_two_runs_of_the_same_server_show_no_regression():
    for seed in range(20):
        old = record(limit=rows(*noisy(5, seed)), flare=rows(*noisy(5.2, seed + 100)))
        new = record(limit=rows(*noisy(5, seed + 200)), flare=rows(*noisy(5.2, seed + 300)))
        assert comparison(old, new)[1] == []


def test_a_server_slowed_by_a_tenth_is_flagged():
    for seed in range(20):
        old = record(limit=rows(*noisy(5, seed)), flare=rows(*noisy(5.2, seed + 100)))
        new = record(limit=rows(*noisy(5, seed + 200)), flare=rows(*noisy(5.72, seed + 300)))
        text, worse = comparison(old, new)
        assert worse == ["w, flare"] and "| **regression** |" in text
        assert comparison(new, old)[1] == [] and "| better |" in comparison(new, old)[0]


def test_a_slower_day_of_the_machine_is_no_regression():
    old = record(limit=rows(5.0, 5.1, 4.9), flare=rows(5.2, 5.3, 5.1))
    new = record(limit=rows(6.0, 6.12, 5.88), flare=rows(6.24, 6.36, 6.12))
    text, worse = comparison(old, new)
    assert "against limit" in text and "| the yardstick |" in text and worse == []


def test_the_yardstick_is_judged_where_it_is_alone():
    assert comparison(record(limit=rows(*FIVE)), record(limit=rows(*(1.1 * x for x in FIVE))))[
        1
    ] == ["w, limit"]


def test_many_rows_of_the_same_servers_show_no_regression():
    """Each is judged with the others in mind, and one that is slower is seen."""

    def run(seed: int, count: int, slowed: float = 1) -> dict:
        found = {f"s{row}": rows(*noisy(5, seed + row, count)) for row in range(60)}
        return record(**found | {"s7": rows(*noisy(5 * slowed, seed + 99, count))})

    for seed in range(0, 1000, 200):
        assert comparison(run(seed, 5), run(seed + 100, 5))[1] == []
    assert comparison(run(0, 9), run(100, 9, slowed=1.1))[1] == ["w, s7"]


def test_without_the_raw_server_in_both_the_time_itself_counts():
    text, worse = comparison(record(flare=rows(*FIVE)), record(limit=rows(1.0), flare=rows(*FIVE)))
    assert "CPU alone" in text and worse == []


def test_rows_of_one_run_alone_are_named_and_not_compared():
    old, new = record(gone=rows(1.0), it=rows(1.0)), record(new=rows(1.0), it=rows(1.0))
    text, worse = comparison(old, new)
    assert "| gone |" not in text and "| new |" not in text and worse == []
    assert "Not compared, only in the old run: w, gone.\n" in text
    assert "Not compared, only in the new run: w, new.\n" in text


def test_runs_without_a_row_in_common_are_refused():
    sweep = {"origin": record()["origin"], "sweep": {}}
    for new in (record(new=rows(1.0)), record(gone=[]), sweep):
        with pytest.raises(ValueError, match="no row in common"):
            comparison(record(gone=rows(1.0)), new)


def test_what_two_runs_differ_in_is_said():
    old, new = record(it=rows(1.0)), record("multi", it=rows(1.0))
    new["origin"]["connections"] = 64
    told = "**the runs differ in run (single, then multi), connections (None, then 64):"
    assert told in comparison(old, new)[0]
    assert "differ" not in comparison(old, old)[0]


def test_runs_of_clients_are_compared():
    old, new = record("client", it=rows(*FIVE)), record("client", it=rows(*[2 * it for it in FIVE]))
    del old["servers"], new["servers"]
    assert comparison(old, new)[1] == ["w, it"]


def single(**values: float) -> dict:
    """Makes a record of a run of `micro`."""
    found = record("micro")
    return found | {"servers": {}, "micro_ns": values, "rounds": {}}


def test_pieces_are_compared():
    old = single(parse=100.0, write=50.0, gone=1.0) | {"build_cpu_s": 10.0}
    new = single(parse=109.0, write=56.0, new=1.0) | {"build_cpu_s": 8.0}
    text, worse = comparison(old, new)
    assert worse == ["write, ns"]
    assert "| parse, ns | 100 | 109 | +9.0% | no change |" in text
    assert "| build, CPU s | 10 | 8 | -20.0% | better |" in text
    assert "gone" not in text and "new, ns" not in text


def swept(**servers: list[tuple[int, bool, float]]) -> dict:
    """Makes a record of a sweep: rate, whether it was met, 99 % latency."""
    points = {
        name: [{"rate": rate, "is_met": met, "p99_ms": late} for rate, met, late in found]
        for name, found in servers.items()
    }
    return {"origin": record("sweep")["origin"], "sweep": points, "left_out": {}}


def test_sweeps_are_compared():
    old = swept(it=[(10, True, 0.2), (20, True, 0.4), (40, False, 9)], gone=[(10, True, 1)])
    slower = swept(it=[(10, True, 0.39), (20, True, 0.8), (40, False, 9)])
    text, worse = comparison(old, slower)
    assert worse == ["it at 20"] and "| it | 10 | 0.200 | 0.390 | no change |" in text
    weaker = swept(it=[(10, True, 0.2), (20, False, 9)])
    text, worse = comparison(old, weaker)
    assert worse == ["it, highest rate met"] and "| it | highest met | 20 | 10 |" in text
    assert comparison(weaker, old)[1] == [] and "better" in comparison(weaker, old)[0]


def test_pieces_and_sweeps_without_a_row_in_common_are_refused():
    for old, new in (
        (single(a=1.0), single(b=1.0)),
        (swept(a=[(1, True, 1)]), swept(b=[(1, True, 1)])),
        (single(a=1.0), swept(a=[(1, True, 1)])),
    ):
        with pytest.raises(ValueError, match="no row in common"):
            comparison(old, new)
