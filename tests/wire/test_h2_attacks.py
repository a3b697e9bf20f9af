"""Attacks on the HTTP/2 server, one family after the other: each comes to what it
has to, takes no more than its share of memory, and keeps nobody else waiting.

How long others wait is measured by `h2_attacks/attack.py`; here each of their
requests has a deadline.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "h2_attacks"))

from attack import FAMILIES, Case, Neighbour, cases_of, run, serve  # noqa: E402
from conftest import wait_until  # noqa: E402
from processes import anonymous_len  # noqa: E402

# What one attacker may make the server hold; and what a server takes the first
# time that it does something, for nobody in particular: buffers of the worker,
# threads' arenas, pages of the allocator.
HELD_LEN_MAX = 1 << 20
FIRST_USE_LEN = 1 << 20
# Attacks in a row, so that what each leaves behind would add up.
COUNT = 3

ATTACKS = [
    pytest.param(family, name, id=f"{family}: {name}")
    for family in FAMILIES
    for name in cases_of(family)
]


@pytest.fixture(scope="module")
def servers():
    """One server for all attacks with the same options."""
    running: dict[tuple, object] = {}
    yield running
    for server in running.values():
        assert server.is_alive(), "the server died during the attacks"
        assert server.stop() == 0


def server_of(servers: dict, case: Case):
    key = tuple(case.options)
    if key not in servers:
        servers[key] = serve(case)
    return servers[key]


@pytest.mark.parametrize("family, name", ATTACKS)
def test_attack(servers, family, name):
    case = cases_of(family)[name]
    server = server_of(servers, case)
    before = anonymous_len(server.process.pid)
    neighbour = Neighbour(server)
    neighbour.start()
    assert wait_until(lambda: neighbour.waits_s or neighbour.failure)
    try:
        for _ in range(COUNT):
            run(server, case)
    finally:
        neighbour.stop()
    assert neighbour.failure is None, neighbour.failure
    assert neighbour.held_len - before < HELD_LEN_MAX + FIRST_USE_LEN
