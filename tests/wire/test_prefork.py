"""Worker processes under a supervisor: their lives, deaths and successors."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import (
    START_TIMEOUT_S,
    Client,
    environment,
    read_all,
    read_to,
    refusal,
    wait_until,
)
from load import (
    REQUEST_AND_CLOSE,
    FreshConnections,
    KeptConnections,
    answers_at_once,
)
from processes import (
    LISTEN,
    can_unshare,
    children,
    descriptor_count,
    end_session,
    in_session,
    is_alive,
    next_line,
    server_end,
    stopped,
    tcp_sockets,
    workers,
)
from ready import ready
from wire_programs import built

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
CRASH = re.compile(
    r"flare: worker (\d+) \(pid (\d+)\) was killed by signal 9 \(SIGKILL\) "
    r"after [\d.]+ s; crash (\d+) of (\d+) within \d+ ms; "
    r"starting again in (\d+) ms"
)
# What a service manager does: a socket as descriptor 3, and who it is for.
HANDING_OVER = [
    sys.executable,
    "-c",
    "import os, sys; os.dup2(int(sys.argv[1]), 3);"
    "os.environ['LISTEN_PID'] = str(os.getpid());"
    "os.execv(sys.argv[2], sys.argv[2:])",
]


@pytest.fixture
def prefork(start):
    launched = []

    def launch(**config):
        config.setdefault("workers", 2)
        server = start("workers_server", mode="prefork", **config)
        launched.append(server)
        count = config["workers"]
        assert wait_until(lambda: f"hook: ready {count}" in server.stderr())
        return server

    yield launch
    for server in launched:
        pids = workers(server.process.pid) if server.is_alive() else []
        server.process.kill()
        server.process.wait(5)
        assert wait_until(lambda: not any(is_alive(pid) for pid in pids), 3)


def fetch(server, path: str, timeout: float = 5.0) -> bytes:
    with Client(server, timeout) as client:
        client.send(GET % path.encode())
        return client.response().body


def all_ready(server, count: int) -> bool:
    """Waits until so many processes answer."""
    seen = set()

    def look() -> bool:
        seen.add(int(fetch(server, "/pid")))
        alive = {pid for pid in seen if is_alive(pid)}
        return len(alive) == count

    return wait_until(look, 30)


def listener_count(port: int) -> int:
    """Counts the sockets that listen at a port."""
    return sum(row.port == port and row.state == LISTEN for row in tcp_sockets())


def listeners_of(pid: int, port: int) -> int:
    """Counts the sockets at a port that a process holds and listens with."""
    rows = tcp_sockets()
    inodes = [row.inode for row in rows if row.port == port and row.state == LISTEN]
    held = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            held.add(os.readlink(link))
        except OSError:
            continue
    return sum(f"socket:[{inode}]" in held for inode in inodes)


@pytest.mark.parametrize("reuseport", [0, 1])
def test_all_processes_serve(prefork, reuseport):
    server = prefork(workers=3, reuseport=reuseport)
    with_slow = [Client(server) for _ in range(30)]
    for client in with_slow:
        client.send(GET % b"/slow/20")
    for client in with_slow:
        assert client.response().body == b"slept 20 "
    master = server.process.pid
    assert len(workers(master)) == 3
    assert listener_count(server.port) == (3 if reuseport else 1)
    if reuseport:
        assert all_ready(server, 3)
    assert int(fetch(server, "/pid")) in workers(master)


def test_figures_of_all_can_be_read_from_any(prefork):
    server = prefork(workers=2)
    for _ in range(50):
        fetch(server, "/")

    def look() -> bool:
        figures = json.loads(fetch(server, "/stats"))
        return figures["requests"] >= 50 and all(
            worker[0] > 5 for worker in figures["workers"]
        )

    assert wait_until(look)
    figures = json.loads(fetch(server, "/stats"))
    assert {w[2] for w in figures["workers"]} == set(
        workers(server.process.pid)
    )


def metrics(server) -> dict[str, int]:
    """Gives the figures for Prometheus, of all workers."""
    lines = fetch(server, "/metrics").decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if line[0] != "#"]
    return {name: int(value) for name, value in pairs if value.isdigit()}


def test_a_handler_that_aborts_takes_one_worker_with_it(prefork):
    server = prefork(workers=2, delay_first_ms=1)
    assert all_ready(server, 2)
    before = workers(server.process.pid)
    with pytest.raises(EOFError):
        fetch(server, "/abort/7")
    assert wait_until(lambda: "was killed by signal 4 (SIGILL)" in server.stderr())
    assert "[GET /abort/7]" in server.stderr()
    assert wait_until(
        lambda: len(workers(server.process.pid)) == 2
        and workers(server.process.pid) != before
    )
    assert len(set(workers(server.process.pid)) & set(before)) == 1
    for _ in range(20):
        assert fetch(server, "/") == b"Hello, World!"


def test_metrics_are_those_of_all_workers_the_dead_included(prefork):
    server = prefork(workers=2, delay_first_ms=1)
    assert all_ready(server, 2)
    for _ in range(40):
        fetch(server, "/fail")
    failed = 'http_requests_total{method="GET",status="500",route="/fail"}'
    # Any worker tells the same.
    for _ in range(10):
        figures = metrics(server)
        assert figures[failed] == 40
        assert figures["http_requests_in_flight"] == 1
    before = workers(server.process.pid)
    with pytest.raises(EOFError):
        fetch(server, "/crash/9")
    assert wait_until(
        lambda: len(workers(server.process.pid)) == 2
        and workers(server.process.pid) != before
    )
    assert all_ready(server, 2)
    fetch(server, "/fail")
    # What the dead one had in hand is neither answered nor under way.
    for _ in range(10):
        figures = metrics(server)
        assert figures[failed] == 41
        assert figures["http_requests_in_flight"] == 1
    assert wait_until(lambda: metrics(server)["http_connections_open"] == 1)
    assert metrics(server)["worker_restarts_total"] == 1


@pytest.mark.parametrize("mode", ["threads", "prefork"])
def test_server_that_stops_is_not_ready(start, mode):
    server = start("workers_server", mode=mode, workers=1)
    asking = GET % b"/ready"
    with Client(server) as idle, Client(server) as late:
        idle.send(asking)
        assert idle.response().status == 200
        late.send(asking[:-2])
        server.process.send_signal(signal.SIGTERM)
        assert idle.is_closed()
        late.send(asking[-2:])
        response = late.response()
        assert response.status == 503
        assert json.loads(response.body)["switch"] == "off"
        assert response.fields["connection"] == "close"
    assert server.process.wait(5) == 0


def test_each_worker_process_hears_that_it_starts(prefork):
    server = prefork(workers=2, delay_first_ms=20)

    def started() -> set[int]:
        found = re.findall(r"hook: started \d (\d+)", server.stderr())
        return {int(pid) for pid in found}

    first = set(workers(server.process.pid))
    assert started() == first
    os.kill(min(first), signal.SIGKILL)
    assert wait_until(lambda: "hook: recovered" in server.stderr())
    assert started() == first | set(workers(server.process.pid))


def test_killed_worker_costs_only_its_own_requests(prefork):
    server = prefork(workers=2, delay_first_ms=100)
    master = server.process.pid
    kept = KeptConnections(server.port, 256)
    kept.start()
    assert wait_until(lambda: kept.answered > 2_000, 60)
    victim = workers(master)[0]
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    assert wait_until(lambda: "hook: recovered" in server.stderr())
    assert len(workers(master)) == 2
    back_s = time.monotonic() - killed
    answered = kept.answered
    assert wait_until(lambda: kept.answered > answered + 2_000, 60)
    kept.stop()
    print(
        f"{kept.answered} answered, {len(kept.lost)} lost with the killed"
        f" worker, back after {back_s * 1e3:.0f} ms"
    )
    assert kept.refused == 0
    assert 0 < len(kept.lost) <= 256
    assert set(kept.lost) <= {victim, None}
    # Those that had no answer yet were served by the other, or waited for the
    # successor, which has new connections again.
    assert kept.lost.count(None) <= kept.lost.count(victim)
    assert all_ready(server, 2)


def slowest_s(server, count: int, others: set[int]) -> float:
    """Opens connections, each from a port of its own, so that the kernel
    spreads them over all listeners; gives the longest time to an answer."""
    longest = 0.0
    for _ in range(count):
        began = time.monotonic()
        assert int(fetch(server, "/pid", 30)) in others
        longest = max(longest, time.monotonic() - began)
    return longest


def test_listener_of_a_dead_worker_is_served_by_the_others(prefork):
    """Its share of the connections does not wait for the backoff."""
    server = prefork(
        workers=3, delay_first_ms=60_000, delay_max_ms=60_000,
        settle_ms=60_000, restarts_max=1_000,
    )
    master = server.process.pid
    assert all_ready(server, 3)
    for alive in (2, 1):
        os.kill(workers(master)[0], signal.SIGKILL)
        assert wait_until(lambda: len(workers(master)) == alive)
        took_s = slowest_s(server, 60, set(workers(master)))
        print(f"{alive} of 3 workers: each answered within {took_s * 1e3:.1f} ms")
        assert took_s < 20
    last = workers(master)[0]
    assert listeners_of(last, server.port) == 3
    # Replacing it takes the lent sockets along.
    server.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: last not in workers(master) and workers(master))
    assert slowest_s(server, 60, set(workers(master))) < 20
    assert listener_count(server.port) == 3
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 0


def test_listener_is_given_back_to_a_worker_that_is_back(prefork):
    server = prefork(workers=2, delay_first_ms=20, settle_ms=1)
    master = server.process.pid
    assert all_ready(server, 2)
    dead, other = workers(master)
    assert listeners_of(other, server.port) == 1
    for count in range(1, 4):
        os.kill(dead, signal.SIGKILL)
        assert wait_until(
            lambda: server.stderr().count("hook: recovered") == count
        )
        assert wait_until(lambda: listeners_of(other, server.port) == 1)
        dead = next(pid for pid in workers(master) if pid != other)
    assert all_ready(server, 2)


def test_listener_of_a_worker_that_was_added_is_served_too(prefork):
    """The others have never had its socket."""
    server = prefork(
        workers=1, delay_first_ms=60_000, delay_max_ms=60_000, settle_ms=60_000
    )
    master = server.process.pid
    first = workers(master)[0]
    server.process.send_signal(signal.SIGTTIN)
    assert wait_until(lambda: len(workers(master)) == 2)
    assert all_ready(server, 2)
    os.kill(next(p for p in workers(master) if p != first), signal.SIGKILL)
    assert wait_until(lambda: workers(master) == [first])
    assert slowest_s(server, 60, {first}) < 20


def test_ten_kills_follow_the_backoff_and_the_budget(prefork):
    server = prefork(
        workers=2,
        delay_first_ms=40,
        delay_max_ms=400,
        settle_ms=60_000,
        restarts_max=9,
        window_ms=60_000,
    )
    master = server.process.pid
    for count in range(1, 11):
        seen = server.stderr()
        victim = int(re.findall(r"hook: spawned 0 (\d+)", seen)[-1])
        assert wait_until(
            lambda: f"hook: recovered 0 {victim}" in server.stderr()
            or count == 1
        )
        os.kill(victim, signal.SIGKILL)
        if count == 10:
            break
        assert wait_until(
            lambda: len(
                re.findall(r"hook: spawned 0 (\d+)", server.stderr())
            )
            == count + 1,
            5,
        )
    assert server.process.wait(10) == 1
    delays = []
    for worker, _, number, most, delay in CRASH.findall(server.stderr()):
        assert worker == "0" and most == "9"
        assert int(number) == len(delays) + 1
        delays.append(int(delay))
    print("waits:", delays)
    for index, delay in enumerate(delays):
        full = min(40 * 2**index, 400)
        assert full // 2 <= delay <= full
    assert len(delays) == 9
    text = server.stderr()
    assert f"pid {victim}) was killed by signal 9 (SIGKILL)" in text
    assert "crash 10 within 60000 ms and 9 are allowed: giving up" in text
    assert not workers(master)


@pytest.mark.unsanitized
def test_an_outage_is_no_longer_than_a_first_wait(prefork):
    """Whoever dies last comes back soon, however often that has happened."""
    server = prefork(
        workers=2,
        delay_first_ms=50,
        delay_max_ms=60_000,
        settle_ms=60_000,
        restarts_max=1_000,
    )
    master = server.process.pid
    waits = []
    killed = 0
    for _ in range(8):
        victims = workers(master)
        # It sees the end of both before it starts another.
        with stopped(master):
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            assert wait_until(lambda: not any(map(is_alive, victims)))
        killed += len(victims)
        assert wait_until(
            lambda: len(CRASH.findall(server.stderr())) == killed
        )
        waits.append(int(CRASH.findall(server.stderr())[-1][4]))
        assert int(fetch(server, "/pid", 30)) not in victims
    print("waits of who died last:", waits)
    assert max(waits) <= 50


def test_a_crash_loop_where_nobody_is_left_ends_with_its_error(prefork):
    server = prefork(
        workers=1, delay_first_ms=20, settle_ms=60_000, restarts_max=6
    )
    for count in range(1, 8):
        os.kill(workers(server.process.pid)[0], signal.SIGKILL)
        if count < 7:
            assert wait_until(
                lambda: server.stderr().count("hook: recovered") == count
            )
    assert server.process.wait(10) == 1
    assert "crash 7 within 60000 ms and 6 are allowed: giving up" in server.stderr()


def test_worker_that_lived_long_enough_is_restarted_soon(prefork):
    server = prefork(
        workers=1, delay_first_ms=20, delay_max_ms=5_000, settle_ms=1
    )
    for count in range(1, 7):
        os.kill(workers(server.process.pid)[0], signal.SIGKILL)
        assert wait_until(
            lambda: server.stderr().count("hook: recovered") == count
        )
    delays = [int(crash[4]) for crash in CRASH.findall(server.stderr())]
    assert len(delays) == 6 and max(delays) <= 20


@pytest.mark.parametrize(
    "mode, start_timeout_ms, said",
    [
        ("mute", 200, "took too long to start and is killed"),
        ("failing", 30_000, "worker 0: there is no database"),
        ("halfway", 30_000, "worker 0: there is no queue"),
    ],
)
def test_worker_that_never_becomes_ready_is_a_crash(start, mode, start_timeout_ms, said):
    server = start(
        "workers_server",
        mode=mode,
        workers=1,
        start_timeout_ms=start_timeout_ms,
        delay_first_ms=20,
        restarts_max=2,
    )
    assert server.process.wait(20) == 1
    assert server.stderr().count(said) == 3
    assert "crash 3 within 60000 ms and 2 are allowed" in server.stderr()


def test_a_program_that_cannot_start_ends_though_its_waits_are_long(start):
    """Longer than the window, so that no crash stands beside another."""
    server = start(
        "workers_server",
        mode="failing",
        workers=1,
        delay_first_ms=20,
        delay_max_ms=20,
        window_ms=1,
        restarts_max=3,
    )
    assert server.process.wait(10) == 1
    assert server.stderr().count("worker 0: there is no database") == 4
    assert (
        "; that is one more start in a row that came to nothing and 3 are allowed:"
        " giving up"
    ) in server.stderr()


@pytest.mark.unsanitized
def test_crash_says_which_worker_died_of_what(prefork):
    server = prefork(workers=2, delay_first_ms=20)
    master = server.process.pid
    for number, name in [(11, "SIGSEGV"), (6, "SIGABRT")]:
        with Client(server) as client:
            client.send(GET % f"/crash/{number}".encode())
            with pytest.raises((EOFError, ConnectionResetError)):
                client.response()
        assert wait_until(
            lambda: f"was killed by signal {number} ({name}) after"
            in server.stderr()
        ), server.stderr()
    assert wait_until(lambda: len(workers(master)) == 2)


def test_nothing_is_lost_by_rolling_restarts_and_upgrades(prefork):
    """A new connection for each request, while workers and programs are replaced one
    after the other."""
    server = prefork(workers=2, inherits=1)
    masters = [server.process.pid]
    loads = [FreshConnections(server.port) for _ in range(4)]
    wanted = {signal.SIGTTIN: 3}
    upgrades = 0

    def answered() -> int:
        return sum(load.answered for load in loads)

    def processes() -> set[int]:
        return set().union(*(load.processes for load in loads))

    def is_done(number: int, before: set[int]) -> bool:
        """Tells whether an order is carried out, and all that are there now have
        answered."""
        newer = re.findall(r"new program \(pid (\d+)\) is ready", server.stderr())
        if len(newer) < upgrades:
            return False
        masters[1:] = [int(pid) for pid in newer]
        now = set(workers(masters[-1]))
        if number in (signal.SIGHUP, signal.SIGUSR2) and now & before:
            return False
        return len(now) == wanted.get(number, 2) and now <= processes()

    try:
        for load in loads:
            load.start()
        for number in [
            *[signal.SIGHUP] * 3, signal.SIGTTIN, signal.SIGTTOU,
            signal.SIGUSR2, signal.SIGHUP, signal.SIGUSR2,
        ]:  # fmt: skip
            before = set(workers(masters[-1]))
            upgrades += number == signal.SIGUSR2
            os.kill(masters[-1], number)
            assert wait_until(lambda: is_done(number, before), 60), number
            count = answered()
            assert wait_until(lambda: answered() > count + 100, 60)
        for load in loads:
            load.stop()
        failures = [text for load in loads for text in load.failures]
        print(
            f"{answered()} answered by {len(processes())} processes,"
            f" {len(failures)} failed"
        )
        assert len(masters) == 3
        assert failures == []
        # Two at first, three rolls, one more, two new programs and a roll: each with
        # new processes, and all of them served.
        assert len(processes()) >= 2 + 6 + 1 + 2 + 2 + 2
        assert server.process.wait(10) == 0
    finally:
        if masters[-1] != masters[0]:
            os.kill(masters[-1], signal.SIGTERM)
            assert wait_until(lambda: not is_alive(masters[-1]))


def test_new_program_that_fails_is_rolled_back(tmp_path, start):
    program = tmp_path / "workers_server"
    shutil.copy(built("workers_server"), program)
    process = subprocess.Popen(
        [str(program), "0", "mode=prefork", "workers=2", "inherits=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        port = int(next_line(process, START_TIMEOUT_S).rsplit(":", 1)[1])
        os.set_blocking(process.stderr.fileno(), False)
        log = ""

        def logged(text: str) -> bool:
            nonlocal log
            log += (process.stderr.read() or b"").decode()
            return text in log

        assert wait_until(lambda: logged("hook: ready 2"))
        before = set(workers(process.pid))
        load = FreshConnections(port)
        load.start()
        for broken in (b"#!/bin/sh\nexit 3\n", b"no program at all"):
            program.unlink()
            program.write_bytes(broken)
            program.chmod(0o755)
            log = ""
            process.send_signal(signal.SIGUSR2)
            assert wait_until(lambda: logged("the old one goes on")), log
        assert set(workers(process.pid)) == before
        # Master and later workers hear signals as before.
        process.send_signal(signal.SIGHUP)
        assert wait_until(
            lambda: len(workers(process.pid)) == 2
            and not before & set(workers(process.pid))
        )
        load.stop()
        assert load.failures == [] and load.answered > 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait(5)


def test_upgrade_needs_few_descriptors(prefork):
    server = prefork(
        inherits=1,
        popen={
            "preexec_fn": lambda: resource.setrlimit(
                resource.RLIMIT_NOFILE, (256, 256)
            )
        },
    )
    server.process.send_signal(signal.SIGUSR2)
    assert server.process.wait(10) == 0
    newer = int(
        re.search(r"new program \(pid (\d+)\) is ready", server.stderr())[1]
    )
    assert fetch(server, "/") == b"Hello, World!"
    os.kill(newer, signal.SIGTERM)
    assert wait_until(lambda: not is_alive(newer), 10)


def slow_to_start(program: Path, time_s: float) -> None:
    """Replaces a program by one that takes its time before it is the same."""
    program.unlink()
    program.write_text(
        f'#!/bin/sh\nsleep {time_s}\nexec {built("workers_server")} "$@"\n'
    )
    program.chmod(0o755)


@contextlib.contextmanager
def upgradable(program: Path, log: Path):
    """A program in a session of its own, ready to be replaced; and its port."""
    options = ["inherits=1", "handler_threads=1", "linger_timeout_ms=100"]
    process = subprocess.Popen(
        [str(program), "0", "mode=prefork", *options],
        stdout=subprocess.PIPE,
        stderr=log.open("w"),
        env=environment(),
        start_new_session=True,
    )
    try:
        port = int(next_line(process, START_TIMEOUT_S).rsplit(":", 1)[1])
        assert wait_until(lambda: "hook: ready 2" in log.read_text())
        yield process, port
        assert process.wait(20) == 0
        assert wait_until(lambda: not in_session(process.pid), 20)
    finally:
        end_session(process)


@pytest.mark.parametrize("goes_to_group", [False, True])
def test_stop_while_a_new_program_starts_stops_both(tmp_path, goes_to_group):
    """What was under way is finished, and nothing serves afterwards."""
    program = tmp_path / "workers_server"
    shutil.copy(built("workers_server"), program)
    log = tmp_path / "log"
    with upgradable(program, log) as (process, port):
        # The group's signal ends it before it is the same.
        slow_to_start(program, 60 if goes_to_group else 0.4)
        before = set(children(process.pid))
        with socket.create_connection(("127.0.0.1", port), 10) as sock:
            sock.sendall(GET % b"/busy/1500")
            process.send_signal(signal.SIGUSR2)
            assert wait_until(lambda: set(children(process.pid)) - before)
            if goes_to_group:
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.send_signal(signal.SIGTERM)
            assert read_to(sock, b"busy 1500")
        assert process.wait(20) == 0
        assert ("is ready" in log.read_text()) == (not goes_to_group)


def test_stop_after_an_upgrade_does_not_cut_the_old_program_short(tmp_path):
    """The old program finishes what is under way; one order to stop, which
    went to the whole group, say, is its first."""
    log = tmp_path / "log"
    with upgradable(built("workers_server"), log) as (process, port):
        with socket.create_connection(("127.0.0.1", port), 20) as sock:
            sock.sendall(GET % b"/busy/4000")
            process.send_signal(signal.SIGUSR2)
            assert wait_until(lambda: ") is ready" in log.read_text(), 10)
            os.killpg(process.pid, signal.SIGTERM)
            assert read_to(sock, b"busy 4000")


def test_new_program_that_hangs_is_killed(tmp_path):
    program = tmp_path / "workers_server"
    shutil.copy(built("workers_server"), program)
    process = subprocess.Popen(
        [
            str(program), "0", "mode=prefork", "inherits=1",
            "upgrade_timeout_ms=300",
        ],
        stdout=subprocess.PIPE,
        stderr=(tmp_path / "log").open("w"),
        env=environment(),
    )
    log = tmp_path / "log"
    try:
        assert wait_until(lambda: "hook: ready 2" in log.read_text())
        program.unlink()
        program.write_text("#!/bin/sh\nexec sleep 60\n")
        program.chmod(0o755)
        process.send_signal(signal.SIGUSR2)
        assert wait_until(lambda: "the old one goes on" in log.read_text())
        assert "was killed by signal 9" in log.read_text()
        assert len(workers(process.pid)) == 2
    finally:
        process.kill()
        process.wait(5)


def test_upgrade_is_refused_without_the_option(prefork):
    server = prefork()
    server.process.send_signal(signal.SIGUSR2)
    assert wait_until(
        lambda: "SIGUSR2: this program does not hand" in server.stderr()
    )
    assert len(workers(server.process.pid)) == 2
    assert fetch(server, "/") == b"Hello, World!"


@pytest.mark.parametrize("busy", [False, True])
def test_no_worker_outlives_its_master(prefork, busy):
    server = prefork(workers=3)
    pids = workers(server.process.pid)
    clients = [Client(server) for _ in range(12)]
    if busy:
        for client in clients:
            client.send(GET % b"/slow/60000")
        # A worker at work reads no more.
        assert wait_until(
            lambda: any(server_end(server.port, c.sock).to_read_len == 0 for c in clients)
        )
    server.process.kill()
    began = time.monotonic()
    server.process.wait(5)
    assert wait_until(lambda: not any(is_alive(pid) for pid in pids))
    print(f"all gone after {time.monotonic() - began:.2f} s")
    if not busy:
        assert server.stderr().count("hook: master died") == 3


def test_short_requests_are_finished_when_the_master_dies(prefork):
    server = prefork(workers=1)
    with accepted(server) as client:
        client.send(GET % b"/slow/200")
        server.process.kill()
        assert client.response().body == b"slept 200 "


@pytest.mark.skipif(not can_unshare(), reason="unshare is not allowed here")
def test_process_number_one_reaps_strangers(tmp_path):
    log = (tmp_path / "log").open("w")
    outer = subprocess.Popen(
        [
            "unshare", "--pid", "--fork", "--kill-child",
            str(built("workers_server")), "0", "mode=prefork", "workers=2",
            "inherits=1",
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        env=environment(),
    )
    try:
        port = int(next_line(outer, START_TIMEOUT_S).rsplit(":", 1)[1])
        master = children(outer.pid)[0]
        assert wait_until(
            lambda: "hook: ready" in (tmp_path / "log").read_text()
        )
        assert len(workers(master)) == 2
        for _ in range(5):
            # A process of that world whose parent goes: number one's now.
            subprocess.run(
                [
                    "nsenter", "-t", str(master), "-p",
                    "sh", "-c", "(sleep 1 &)",
                ],
                check=True,
            )
        assert wait_until(lambda: len(children(master)) > 2)
        assert wait_until(lambda: len(children(master)) == 2)
        with socket.create_connection(("127.0.0.1", port), 5) as sock:
            sock.sendall(REQUEST_AND_CLOSE)
            # Numbers of that world.
            body = read_all(sock).rsplit(b"\r\n", 1)[1]
            assert 1 < int(body) < 100
        # All would end with number one, the new program too.
        os.kill(master, signal.SIGUSR2)
        assert wait_until(
            lambda: "cannot be replaced" in (tmp_path / "log").read_text()
        )
        assert len(workers(master)) == 2
        os.kill(master, signal.SIGTERM)
        assert outer.wait(10) == 0
    finally:
        outer.kill()
        outer.wait(5)


def test_workers_are_added_and_taken_away(prefork):
    server = prefork(workers=1)
    master = server.process.pid
    load = FreshConnections(server.port)
    load.start()
    for count in (2, 3):
        server.process.send_signal(signal.SIGTTIN)
        assert wait_until(lambda: len(workers(master)) == count)
        assert all_ready(server, count)
    for count in (2, 1):
        server.process.send_signal(signal.SIGTTOU)
        assert wait_until(lambda: len(workers(master)) == count)
        assert all_ready(server, count)
    server.process.send_signal(signal.SIGTTOU)
    assert wait_until(lambda: "the last worker stays" in server.stderr())
    load.stop()
    assert load.failures == [] and load.answered > 0
    assert len(workers(master)) == 1


def test_worker_is_replaced_after_so_many_requests(prefork):
    server = prefork(workers=2, requests_max=50, recycle_jitter_percent=20)
    master = server.process.pid
    before = set(workers(master))
    load = FreshConnections(server.port)
    load.start()
    assert wait_until(lambda: not before & set(workers(master)), 15)
    # Both successors have answered.
    assert wait_until(lambda: len(load.processes) >= 4, 15)
    load.stop()
    assert load.failures == []
    assert json.loads(fetch(server, "/stats"))["restarts"] == 0
    # A worker counts a request when it has sent the answer.
    assert wait_until(
        lambda: json.loads(fetch(server, "/stats"))["requests"] >= load.answered
    )


def test_worker_is_replaced_when_it_has_grown(prefork):
    # Above the least that a process has, and below what 30 MB more make.
    server = prefork(
        workers=2, memory_max=32 << 20, recycle_jitter_percent=0
    )
    master = server.process.pid
    before = set(workers(master))
    with Client(server) as client:
        # Longer than what is sent at once, so it is kept.
        client.send(GET % b"/size/90000000")
        grown = set()

        def replaced() -> bool:
            grown.update(before - set(workers(master)))
            return server.stderr().count("hook: spawned") == 3

        assert wait_until(replaced, 15)
        received = 0
        while received < 90_000_000:
            piece = client.sock.recv(1 << 20)
            assert piece
            received += len(piece)
    assert wait_until(lambda: len(before - set(workers(master))) == 1)
    assert len(workers(master)) == 2


def test_stop_waits_for_requests_and_then_ends(prefork):
    server = prefork(workers=2)
    clients = [accepted(server) for _ in range(4)]
    for client in clients:
        client.send(GET % b"/slow/100")
    server.process.send_signal(signal.SIGTERM)
    for client in clients:
        assert client.response().body == b"slept 100 "
    assert server.process.wait(10) == 0
    assert b"stopped" in server.process.stdout.read()


def test_nobody_waits_in_vain_for_a_server_that_stops(prefork):
    server = prefork(workers=2, handler_threads=1, linger_timeout_ms=100)
    with accepted(server) as client:
        client.send(GET % b"/slow/8000")
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: listener_count(server.port) == 0)
        assert not ready([client.sock], 0), "it waited for the handler"
        assert client.response().body == b"slept 8000 "
    assert server.process.wait(10) == 0


def test_interrupt_of_the_whole_group_stops_in_good_order(prefork):
    """Ctrl-C reaches master and workers at once."""
    server = prefork(workers=2, popen={"start_new_session": True})
    with accepted(server) as client:
        client.send(GET % b"/slow/200")
        os.killpg(server.process.pid, signal.SIGINT)
        assert client.response().body == b"slept 200 "
    assert server.process.wait(10) == 0


def accepted(server) -> Client:
    """A client that a worker has: what it has sent before a signal is answered."""
    client = Client(server, 30)
    client.send(GET % b"/pid")
    client.response()
    return client


def busy_clients(server, ms: int, count: int = 12) -> list[Client]:
    """Sends requests that handlers have when this returns."""
    clients = [Client(server, 30) for _ in range(count)]
    for client in clients:
        client.send(GET % b"/busy/%d" % ms)
    in_flight = "http_requests_in_flight"
    # The request that asks is one, too.
    assert wait_until(lambda: metrics(server)[in_flight] == count + 1, 10)
    return clients


def idle_clients(server, count: int) -> list[Client]:
    """Opens an idle connection to each worker."""
    clients = {}
    while len(clients) < count:
        client = Client(server, 30)
        client.send(GET % b"/pid")
        clients[client.response().body] = client
    return list(clients.values())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_to_the_whole_group_cuts_no_request(prefork, number):
    """systemd's KillMode=control-group and Ctrl-C reach workers directly, and
    the master tells them, too."""
    server = prefork(
        workers=2, handler_threads=13, popen={"start_new_session": True}
    )
    idle = idle_clients(server, 2)
    clients = busy_clients(server, 3000)
    # The master is slow, so that its order is a signal of its own.
    with stopped(server.process.pid):
        os.killpg(server.process.pid, number)
        if number == signal.SIGTERM:
            assert all(client.is_closed() for client in idle)
    for client in clients:
        assert client.response().body == b"busy 3000"
    assert server.process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_to_the_whole_group_ends_at_once(prefork, number):
    server = prefork(
        workers=2, handler_threads=13, popen={"start_new_session": True}
    )
    clients = busy_clients(server, 60_000)
    os.killpg(server.process.pid, number)
    # The master has heard it: otherwise two signals could be one.
    assert wait_until(lambda: listener_count(server.port) == 0)
    assert server.is_alive()
    os.killpg(server.process.pid, number)
    # By itself it would be 30 s, and a minute for what is under way.
    assert server.process.wait(20) == 0
    for client in clients:
        with pytest.raises((EOFError, ConnectionResetError)):
            client.response()


def test_worker_that_is_signalled_by_a_stranger_drains_once(prefork):
    server = prefork(workers=1, handler_threads=13)
    master = server.process.pid
    worker = workers(master)[0]
    clients = busy_clients(server, 6000)
    for _ in range(3):
        os.kill(worker, signal.SIGTERM)
        # Each is a signal of its own once the one before has been heard.
        time.sleep(0.1)
    # It is replaced before it has gone, so nobody waits for it.
    assert wait_until(lambda: "stop by a stranger" in server.stderr())
    assert wait_until(lambda: len(workers(master)) == 2)
    assert int(fetch(server, "/pid")) != worker
    assert is_alive(worker)
    for client in clients:
        assert client.response().body == b"busy 6000"
    assert wait_until(lambda: not is_alive(worker))
    assert len(workers(master)) == 1
    assert "crash" not in server.stderr()


def is_ended_by_another_signal(server) -> bool:
    if server.is_alive():
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    return not server.is_alive()


@pytest.mark.parametrize("again", [False, True])
def test_worker_that_does_not_stop_is_killed(prefork, again):
    server = prefork(
        workers=1, grace_ms=60_000 if again else 400, shutdown_timeout_ms=60_000
    )
    with accepted(server) as client:
        # Without handler threads nothing tells this handler to end.
        client.send(GET % b"/spinning")
        server.process.send_signal(signal.SIGTERM)
        if again:
            # Two that come at the same time may be one.
            assert wait_until(lambda: is_ended_by_another_signal(server))
        assert server.process.wait(15) == 0
    if not again:
        assert "took too long to finish and is killed" in server.stderr()


def test_replaced_worker_finishes_what_it_does(prefork):
    server = prefork(workers=1)
    with accepted(server) as client:
        client.send(GET % b"/slow/700")
        server.process.send_signal(signal.SIGHUP)
        assert wait_until(
            lambda: server.stderr().count("hook: spawned 0") == 2
        )
        assert fetch(server, "/") == b"Hello, World!"
        assert client.response().body == b"slept 700 "
    assert wait_until(lambda: len(workers(server.process.pid)) == 1)


def test_master_keeps_nothing_of_dead_workers(prefork):
    server = prefork(
        workers=2, delay_first_ms=1, delay_max_ms=1, restarts_max=1_000
    )
    master = server.process.pid
    before = descriptor_count(master)
    for count in range(1, 16):
        os.kill(workers(master)[0], signal.SIGKILL)
        assert wait_until(
            lambda: server.stderr().count("hook: recovered") >= count
        )
    server.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: server.stderr().count("hook: spawned") >= 19)
    assert wait_until(lambda: len(children(master)) == 2)
    assert descriptor_count(master) == before
    figures = json.loads(fetch(server, "/stats"))
    assert figures["restarts"] == 15
    assert sum(worker[1] for worker in figures["workers"]) == 15


def test_sockets_of_a_service_manager_are_taken_over(tmp_path):
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(tmp_path / "notify"))
    notify.settimeout(10)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    # It waits before there is a server, and is answered all the same.
    early = socket.create_connection(("127.0.0.1", port), 10)
    early.sendall(GET % b"/")
    process = subprocess.Popen(
        [
            *HANDING_OVER, str(listener.fileno()),
            str(built("workers_server")), str(port), "mode=prefork",
            "workers=2", "inherits=1", "notifies=1",
        ],
        pass_fds=[listener.fileno()],
        env={
            **environment(),
            "LISTEN_FDS": "1",
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "200000",
        },
        stdout=subprocess.PIPE,
    )
    try:
        told = [notify.recv(4096) for _ in range(4)]
        ready = f"READY=1\nMAINPID={process.pid}".encode()
        assert ready in told and b"WATCHDOG=1" in told
        assert read_to(early, b"Hello, World!")
        process.send_signal(signal.SIGTERM)
        while notify.recv(4096) != b"STOPPING=1":
            assert process.poll() is None
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait(5)
        early.close()


def test_service_manager_learns_the_new_main_process(tmp_path):
    """The old program tells it, for systemd believes the main process alone
    (NotifyAccess=main), and takes the service for dead when that ends."""
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    notify.bind(str(tmp_path / "notify"))
    notify.settimeout(20)

    def told() -> tuple[int, bytes]:
        """Takes the next message, and who sent it."""
        room = socket.CMSG_SPACE(12)
        data, ancillary, _, _ = notify.recvmsg(4096, room)
        return struct.unpack("iii", ancillary[0][2])[0], data

    process = subprocess.Popen(
        [
            str(built("workers_server")), "0", "mode=prefork", "workers=1",
            "inherits=1", "notifies=1",
        ],
        env={**environment(), "NOTIFY_SOCKET": str(tmp_path / "notify")},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        old = process.pid
        assert told() == (old, b"READY=1\nMAINPID=%d" % old)
        process.send_signal(signal.SIGUSR2)
        new, message = told()
        assert new != old and message == b"READY=1\nMAINPID=%d" % new
        assert told() == (old, b"MAINPID=%d" % new)
        # The service does not stop, so nothing else is told.
        assert process.wait(20) == 0
        os.kill(new, signal.SIGTERM)
        assert told() == (new, b"STOPPING=1")
        assert wait_until(lambda: not in_session(old), 20)
    finally:
        end_session(process)


def run_with_inherited(socket_, port: int, **variables):
    """Runs a server that finds a socket and an environment until it fails."""
    return subprocess.run(
        [
            *HANDING_OVER, str(socket_.fileno()), str(built("workers_server")),
            str(port), "inherits=1", "notifies=1", "mode=prefork",
        ],
        pass_fds=[socket_.fileno()],
        env={**environment(), "LISTEN_FDS": "1", **variables},
        capture_output=True,
        timeout=10,
        text=True,
    )


def test_socket_for_another_address_is_refused():
    listener = socket.create_server(("127.0.0.1", 0))
    outcome = run_with_inherited(listener, 1)
    assert outcome.returncode == 1
    port = listener.getsockname()[1]
    text = outcome.stdout + outcome.stderr
    assert "no inherited socket listens at 127.0.0.1:1" in text
    assert f"127.0.0.1:{port}" in text


@pytest.mark.parametrize("kind", ["datagram", "unix", "not listening", "file"])
def test_inherited_descriptor_that_is_no_listener_is_refused(kind, tmp_path):
    port = 0
    if kind == "file":
        handed = open(tmp_path / "file", "w")
    elif kind == "unix":
        handed = socket.socket(socket.AF_UNIX)
        handed.bind(str(tmp_path / "unix"))
        handed.listen()
    else:
        is_datagram = kind == "datagram"
        handed = socket.socket(
            type=socket.SOCK_DGRAM if is_datagram else socket.SOCK_STREAM
        )
        handed.bind(("127.0.0.1", 0))
        port = handed.getsockname()[1]
    outcome = run_with_inherited(handed, port)
    handed.close()
    assert outcome.returncode == 1
    assert "there are: descriptor 3 (no TCP listener)" in (
        outcome.stdout + outcome.stderr
    )


@pytest.mark.parametrize(
    "name, value",
    [
        ("LISTEN_FDS", "-1"),
        ("LISTEN_FDS", "1025"),
        ("LISTEN_FDS", "three"),
        ("LISTEN_FDS", "99999999999999999999"),
        ("WATCHDOG_USEC", "-5"),
        ("WATCHDOG_USEC", "1s"),
    ],
)
def test_numbers_that_make_no_sense_are_told(name, value, tmp_path):
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(tmp_path / "notify"))
    listener = socket.create_server(("127.0.0.1", 0))
    outcome = run_with_inherited(
        listener,
        listener.getsockname()[1],
        NOTIFY_SOCKET=str(tmp_path / "notify"),
        **{name: value},
    )
    assert outcome.returncode == 1
    assert f"{name} is '{value}'; allowed are whole numbers from 0" in (
        outcome.stdout + outcome.stderr
    )


def test_a_service_manager_that_is_not_there_is_told():
    listener = socket.create_server(("127.0.0.1", 0))
    outcome = run_with_inherited(
        listener, listener.getsockname()[1], NOTIFY_SOCKET="/nowhere/notify"
    )
    assert outcome.returncode == 1
    assert "NOTIFY_SOCKET '/nowhere/notify': no such file (errno 2); it has to" in (
        outcome.stdout + outcome.stderr
    )


@pytest.mark.parametrize(
    "option, said",
    [
        ("workers=0", "workers is 0; allowed are 1 to 256"),
        ("workers=257", "workers is 257; allowed are 1 to 256"),
        ("grace_ms=0", "grace_ms is 0; allowed are 1 to"),
        ("delay_max_ms=5", "restart.delay_max_ms is 5; allowed are 100 to"),
        ("recycle_jitter_percent=101", "allowed are 0 to 100"),
    ],
)
def test_configuration_that_makes_no_sense_is_refused(option, said):
    assert said in refusal("workers_server", "0", "mode=prefork", option)


def test_handler_threads_work_in_processes_too(prefork):
    server = prefork(workers=2, handler_threads=8)
    clients = [Client(server, 30) for _ in range(16)]
    # One after the other they take eight seconds in each of two processes.
    assert answers_at_once(clients, 1_000) < 6
