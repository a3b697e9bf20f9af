"""Tests of processes, the environment and CPUs."""

from flare.sys.descriptor import Descriptor, Pipe, duplicate_from
from flare.sys.environment import environment_texts, environment_value
from flare.sys.epoll import create_epoll
from flare.sys.errno import ECHILD, EINVAL, EMFILE, ENOENT
from flare.sys.process import (
    ANY_CHILD,
    CStrings,
    ExitStatus,
    descriptor_limit,
    end_process,
    executable_path,
    fork_process,
    parent_id,
    pin_thread,
    reap,
    resident_len,
    restrict_thread,
    set_descriptor_limit,
    usable_cpus,
)
from flare.sys.signal import SIGKILL, SignalPause, process_id, send_signal
from flare.sys.sockets.sock_addr import AF_INET
from flare.sys.sockets.socket import SOCK_STREAM, open_socket
from std.os import setenv
from tests.support.assertions import assert_equal, assert_true


def _status_of(child: Int) raises -> ExitStatus:
    while True:
        var status = reap(child)
        if status:
            return status.value()


def _child_that(what: StaticString) raises -> Int:
    """Makes a child that ends in a certain way."""
    var master = process_id()
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        if what == "exits":
            end_process(7 if parent_id() == master else 1)
        if what == "waits":
            while True:
                pass
        try:
            var empty = List[String]()
            CStrings(["/bin/true"]).execute(CStrings(empty))
        except:
            end_process(99)
    pause^.end()
    return child


def test_process_status_tells_how_a_child_ended() raises:
    var code = _status_of(_child_that("exits"))
    assert_equal(String(code), "exited with code 7")
    assert_true(not code.is_clean())
    assert_true(_status_of(_child_that("executes")).is_clean())
    var child = _child_that("waits")
    assert_true(not reap(child))
    send_signal(child, SIGKILL)
    var killed = _status_of(child)
    assert_equal(killed.signal, SIGKILL)
    assert_equal(killed.process_id, child)
    assert_equal(String(killed), "was killed by signal 9 (SIGKILL)")
    assert_equal(String(ExitStatus(1, -1, 31)), "was killed by signal 31")


def test_process_without_children_is_told() raises:
    var number = 0
    try:
        _ = reap(ANY_CHILD)
    except error:
        number = error.number
    assert_equal(number, ECHILD)


def test_process_program_that_is_not_there() raises:
    var number = 0
    try:
        var empty = List[String]()
        CStrings(["/no/such/program"]).execute(CStrings(empty))
    except error:
        number = error.number
    assert_equal(number, ENOENT)


def test_process_knows_itself() raises:
    assert_true(resident_len(process_id()) > 100_000)
    assert_equal(resident_len(1 << 30), 0)
    assert_true(executable_path().startswith("/"))


def test_environment_is_read_when_asked() raises:
    assert_true(setenv("FLARE_TEST_VALUE", "a=b"))
    assert_equal(environment_value("FLARE_TEST_VALUE"), "a=b")
    assert_equal(environment_value("FLARE_TEST_VALU"), "")
    assert_true("FLARE_TEST_VALUE=a=b" in environment_texts())


def test_affinity_of_a_thread() raises:
    var cpus = usable_cpus()
    assert_true(len(cpus) >= 1)
    pin_thread(cpus[0])
    assert_equal(usable_cpus(), [cpus[0]])
    restrict_thread(cpus)
    assert_equal(usable_cpus(), cpus)
    assert_equal(usable_cpus(process_id()), cpus)
    var none: List[Int] = [-1]
    var too_high: List[Int] = [5_000]
    for wrong in [List[Int](), none^, too_high^]:
        var number = 0
        try:
            restrict_thread(wrong)
        except error:
            number = error.number
        assert_equal(number, EINVAL)


def _errno_of_pipe() -> Int:
    try:
        var pipe = Pipe()
        return 0 if pipe.reading_fd() >= 0 else -1
    except error:
        return error.number


def _errno_of_socket() -> Int:
    try:
        var socket = open_socket(AF_INET, SOCK_STREAM)
        return 0 if socket.is_open() else -1
    except error:
        return error.number


def _errno_of_epoll() -> Int:
    try:
        var epoll = create_epoll()
        return 0 if epoll.is_open() else -1
    except error:
        return error.number


def test_limit_reached_surfaces_as_emfile() raises:
    var limit = descriptor_limit()
    var pipe = Pipe()
    var held = List[Descriptor]()
    set_descriptor_limit(300)
    while True:
        var copy = duplicate_from(pipe.reading_fd(), 0)
        if not copy.is_open():
            break
        held.append(copy^)
    var of_pipe = _errno_of_pipe()
    var of_socket = _errno_of_socket()
    var of_epoll = _errno_of_epoll()
    _ = held^
    _ = pipe^
    set_descriptor_limit(limit)
    assert_equal(of_pipe, EMFILE)
    assert_equal(of_socket, EMFILE)
    assert_equal(of_epoll, EMFILE)
    assert_equal(_errno_of_pipe(), 0)


def test_limit_over_the_hard_one_is_refused() raises:
    var limit = descriptor_limit()
    var is_refused = False
    try:
        set_descriptor_limit(Int(1) << 40)
    except:
        is_refused = True
    assert_true(is_refused)
    assert_equal(descriptor_limit(), limit)
