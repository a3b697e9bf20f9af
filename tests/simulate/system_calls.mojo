"""The system's calls, answered by the simulated kernel: an object of its own.

The program that it is linked to has these in place of functions of the C library:
what flare calls, it calls here, and so does Mojo's run-time library. What is not the
simulation's (other numbers, other threads, the time before it begins) goes on to the
system.
"""

from flare.bytes.checked import *
from flare.sys.errno import EINTR, EINVAL
from std.ffi import external_call
from std.memory import OpaquePointer, Pointer
from std.os import abort
from tests.simulate.current import current_world
from tests.simulate.kernel import FIRST_NUMBER

comptime Memory = OpaquePointer[MutUntrackedOrigin]

comptime _CLOSE = 3
comptime _READ = 0
comptime _POLL = 7
comptime _IOCTL = 16
comptime _FCNTL = 72
comptime _CLOCK = 228
# Numbers of system calls on x86-64.

comptime REALTIME_OFFSET_NS = 1_700_000_000_000_000_000
"""What the clock of the day is ahead."""


def _system(number: Int, first: Int, second: Memory, third: Int) -> Int:
    return external_call["syscall", Int, num_fixed_args=1](
        number, first, second, third
    )


def _answer(result: Int) -> Int:
    """Gives a result of a kernel as the C library does."""
    if result >= 0:
        return result
    external_call[
        "__errno_location", Pointer[Int32, MutUntrackedOrigin]
    ]()[] = Int32(-result)
    return -1


def _room(memory: Memory, length: Int) -> Span[UInt8, MutUntrackedOrigin]:
    # SAFETY: the caller of the C function promises so many octets.
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=memory.unsafe_bitcast[UInt8](), length=length
    )


@export("clock_gettime")
def sim_clock_gettime(clock: Int32, time: Memory) abi("C") -> Int32:
    var world = current_world()
    if not world:
        return Int32(_system(_CLOCK, Int(clock), time, 0))
    world.value()[].note_look()
    var now_ns = world.value()[].kernel.now_ns
    # CLOCK_REALTIME, and its coarse form.
    if clock == 0 or clock == 5:
        now_ns += REALTIME_OFFSET_NS
    var words = time.unsafe_bitcast[Int]()
    words[unsafe_offset=0] = now_ns // 1_000_000_000
    words[unsafe_offset=1] = now_ns % 1_000_000_000
    return 0


@export("epoll_create1")
def sim_epoll_create1(flags: Int32) abi("C") -> Int32:
    var world = current_world()
    if not world:
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](291, Int(flags))
        )
    return Int32(_answer(world.value()[].kernel.epoll()))


@export("epoll_ctl")
def sim_epoll_ctl(
    epoll: Int32, operation: Int32, number: Int32, event: Memory
) abi("C") -> Int32:
    var world = current_world()
    if not world:
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                233, Int(epoll), Int(operation), Int(number), event
            )
        )
    var interest = UInt32(0)
    var token = UInt64(0)
    comptime DELETE = 2
    if operation != DELETE:
        var words = event.unsafe_bitcast[UInt32]()
        interest = words[unsafe_offset=0]
        token = UInt64(words[unsafe_offset=1]) | (
            UInt64(words[unsafe_offset=2]) << 32
        )
    return Int32(
        _answer(
            world.value()[].kernel.watch(
                Int(epoll), Int(operation), Int(number), interest, token
            )
        )
    )


@export("epoll_wait")
def sim_epoll_wait(
    epoll: Int32, events: Memory, capacity: Int32, timeout_ms: Int32
) abi("C") -> Int32:
    var world = current_world()
    if not world:
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                232, Int(epoll), events, Int(capacity), Int(timeout_ms)
            )
        )
    ref here = world.value()[]
    if here.kernel.is_interrupted():
        return Int32(_answer(-EINTR))
    var found = here.wait(Int(epoll), Int(capacity), Int(timeout_ms))
    var words = events.unsafe_bitcast[UInt32]()
    for place in range(len(found)):
        ref file = here.kernel.files.at(found.at(place))
        words[unsafe_offset=3 * place] = here.kernel.mask(found.at(place))
        words[unsafe_offset=3 * place + 1] = UInt32(file.token & 0xFFFFFFFF)
        words[unsafe_offset=3 * place + 2] = UInt32(file.token >> 32)
    return Int32(len(found))


@export("socket")
def sim_socket(family: Int32, kind: Int32, protocol: Int32) abi("C") -> Int32:
    var world = current_world()
    if not world:
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                41, Int(family), Int(kind), Int(protocol)
            )
        )
    return Int32(_answer(world.value()[].kernel.socket()))


@export("pipe2")
def sim_pipe(ends: Memory, flags: Int32) abi("C") -> Int32:
    var world = current_world()
    if not world:
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                293, ends, Int(flags)
            )
        )
    var numbers = ends.unsafe_bitcast[Int32]()
    var first = world.value()[].kernel.pipe()
    numbers[unsafe_offset=0] = Int32(first)
    numbers[unsafe_offset=1] = Int32(first + 1)
    return 0


def _port(address: Memory) -> Int:
    var octets = address.unsafe_bitcast[UInt8]()
    return Int(octets[unsafe_offset=2]) << 8 | Int(octets[unsafe_offset=3])


def _write_address(address: Memory, length: Memory, port: Int):
    """Writes 127.0.0.1 and a port."""
    var octets = address.unsafe_bitcast[UInt8]()
    for index in range(16):
        octets[unsafe_offset=index] = 0
    octets[unsafe_offset=0] = 2
    octets[unsafe_offset=2] = UInt8(port >> 8)
    octets[unsafe_offset=3] = UInt8(port & 0xFF)
    octets[unsafe_offset=4] = 127
    octets[unsafe_offset=7] = 1
    length.unsafe_bitcast[UInt32]()[unsafe_offset=0] = 16


@export("bind")
def sim_bind(number: Int32, address: Memory, length: UInt32) abi("C") -> Int32:
    return 0


@export("listen")
def sim_listen(number: Int32, backlog: Int32) abi("C") -> Int32:
    comptime PORT = 80
    return Int32(
        _answer(current_world().value()[].kernel.listen(Int(number), PORT))
    )


@export("accept4")
def sim_accept4(
    number: Int32, address: Memory, length: Memory, flags: Int32
) abi("C") -> Int32:
    ref kernel = current_world().value()[].kernel
    if kernel.is_interrupted():
        return Int32(_answer(-EINTR))
    var accepted = kernel.accept(Int(number))
    if accepted >= 0:
        _write_address(address, length, 1_024 + accepted)
    return Int32(_answer(accepted))


@export("connect")
def sim_connect(
    number: Int32, address: Memory, length: UInt32
) abi("C") -> Int32:
    return Int32(
        _answer(
            current_world()
            .value()[]
            .kernel.connect(Int(number), _port(address))
        )
    )


@export("getsockname")
def sim_getsockname(
    number: Int32, address: Memory, length: Memory
) abi("C") -> Int32:
    _write_address(address, length, 80)
    return 0


@export("getpeername")
def sim_getpeername(
    number: Int32, address: Memory, length: Memory
) abi("C") -> Int32:
    _write_address(
        address, length, current_world().value()[].kernel.port_of(Int(number))
    )
    return 0


@export("setsockopt")
def sim_setsockopt(
    number: Int32, level: Int32, name: Int32, value: Memory, length: UInt32
) abi("C") -> Int32:
    return 0


@export("getsockopt")
def sim_getsockopt(
    number: Int32, level: Int32, name: Int32, value: Memory, length: Memory
) abi("C") -> Int32:
    ref kernel = current_world().value()[].kernel
    var word = value.unsafe_bitcast[Int32]()
    word[unsafe_offset=0] = 0
    comptime SOCKET_LEVEL = 1
    comptime ERROR = 4
    var end = kernel.end_of(Int(number))
    if level == SOCKET_LEVEL and name == ERROR and end >= 0:
        word[unsafe_offset=0] = Int32(kernel.ends.at(end).error)
        kernel.ends.at(end).error = 0
    return 0


@export("send")
def sim_send(
    number: Int32, octets: Memory, length: Int, flags: Int32
) abi("C") -> Int:
    ref kernel = current_world().value()[].kernel
    var end = kernel.end_of(Int(number))
    if end < 0:
        return _answer(-EINVAL)
    if kernel.is_interrupted():
        return _answer(-EINTR)
    var count = kernel.write(end, _room(octets, length))
    current_world().value()[].trace_call("send", Int(number), count)
    return _answer(count)


@export("sendmsg")
def sim_sendmsg(number: Int32, message: Memory, flags: Int32) abi("C") -> Int:
    ref kernel = current_world().value()[].kernel
    var end = kernel.end_of(Int(number))
    if end < 0:
        return _answer(-EINVAL)
    if kernel.is_interrupted():
        return _answer(-EINTR)
    # struct msghdr: the vectors and their count are its third and fourth words;
    # struct iovec: base and length.
    var words = message.unsafe_bitcast[Int]()
    var count = words[unsafe_offset=3]
    var vectors = Memory(unsafe_from_address=words[unsafe_offset=2])
    var pieces = vectors.unsafe_bitcast[Int]()
    var whole = List[UInt8]()
    for index in range(count):
        whole.extend(
            _room(
                Memory(unsafe_from_address=pieces[unsafe_offset=2 * index]),
                pieces[unsafe_offset=2 * index + 1],
            )
        )
    return _answer(kernel.write(end, Span(whole)))


@export("recv")
def sim_recv(
    number: Int32, room: Memory, length: Int, flags: Int32
) abi("C") -> Int:
    ref kernel = current_world().value()[].kernel
    var end = kernel.end_of(Int(number))
    if end < 0:
        return _answer(-EINVAL)
    if kernel.is_interrupted():
        return _answer(-EINTR)
    comptime PEEK = 2
    var count = kernel.read(end, _room(room, length), (flags & PEEK) != 0)
    current_world().value()[].trace_call("recv", Int(number), count)
    return _answer(count)


@export("shutdown")
def sim_shutdown(number: Int32, how: Int32) abi("C") -> Int32:
    ref kernel = current_world().value()[].kernel
    var end = kernel.end_of(Int(number))
    if end < 0:
        return Int32(_answer(-EINVAL))
    return Int32(_answer(kernel.end_writing(end)))


@export("close")
def sim_close(number: Int32) abi("C") -> Int32:
    var world = current_world()
    if not world or not world.value()[].kernel.has(Int(number)):
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](_CLOSE, Int(number))
        )
    return Int32(_answer(world.value()[].kernel.close(Int(number))))


@export("read")
def sim_read(number: Int32, room: Memory, length: Int) abi("C") -> Int:
    var world = current_world()
    if not world or not world.value()[].kernel.has(Int(number)):
        return _system(_READ, Int(number), room, length)
    if world.value()[].kernel.is_interrupted():
        return _answer(-EINTR)
    return _answer(
        world.value()[].kernel.read_pipe(Int(number), _room(room, length))
    )


@export("simulated_write")
def sim_write(number: Int32, octets: Memory, length: Int) abi("C") -> Int:
    """Is called by `write` of `write_call.mojo`."""
    if current_world().value()[].kernel.is_interrupted():
        return _answer(-EINTR)
    return _answer(
        current_world()
        .value()[]
        .kernel.write_pipe(Int(number), _room(octets, length))
    )


@export("fcntl")
def sim_fcntl(number: Int32, command: Int32, argument: Int) abi("C") -> Int32:
    var world = current_world()
    if not world or not world.value()[].kernel.has(Int(number)):
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                _FCNTL, Int(number), Int(command), argument
            )
        )
    comptime DUPLICATE = 1_030
    if command == DUPLICATE:
        # It is closed again at once: the number is asked for.
        return Int32(world.value()[].kernel.socket())
    return 0


@export("ioctl")
def sim_ioctl(number: Int32, request: UInt, count: Memory) abi("C") -> Int32:
    var world = current_world()
    if not world or not world.value()[].kernel.has(Int(number)):
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                _IOCTL, Int(number), request, count
            )
        )
    ref kernel = world.value()[].kernel
    var end = kernel.end_of(Int(number))
    if end < 0:
        return Int32(_answer(-EINVAL))
    count.unsafe_bitcast[Int32]()[unsafe_offset=0] = Int32(
        kernel.undelivered_len(end)
    )
    return 0


@export("poll")
def sim_poll(entries: Memory, count: Int, timeout_ms: Int32) abi("C") -> Int32:
    # struct pollfd: a number, and twice 16 bits of events.
    var words = entries.unsafe_bitcast[Int32]()
    var ready_count = 0
    var is_simulated = False
    for index in range(count):
        var number = Int(words[unsafe_offset=2 * index])
        if number < FIRST_NUMBER:
            continue
        is_simulated = True
        var wanted = words[unsafe_offset=2 * index + 1] & 0xFFFF
        var found = current_world().value()[].kernel.poll(number, wanted)
        words[unsafe_offset=2 * index + 1] = wanted | (found << 16)
        ready_count += 1 if found != 0 else 0
    if not is_simulated:
        return Int32(
            external_call["syscall", Int, num_fixed_args=1](
                _POLL, entries, count, Int(timeout_ms)
            )
        )
    if timeout_ms != 0 and ready_count == 0:
        abort("the loop waits elsewhere than in epoll_wait")
    return Int32(ready_count)
