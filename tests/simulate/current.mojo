"""Which world a thread is in."""

from std.ffi import external_call
from std.memory import OptionalPointer, Pointer
from std.os import abort
from tests.simulate.world import World

comptime _KEY: UInt32 = 200
# A number of `pthread_getspecific` that nothing else has. A variable of Mojo's
# run-time cannot be asked: that reads the clock to begin with.


def current_world() -> OptionalPointer[World, MutUntrackedOrigin]:
    var address = external_call["pthread_getspecific", Int](_KEY)
    if address == 0:
        return None
    # SAFETY: `begin_simulation` was told that it stays there.
    return Pointer[World, MutUntrackedOrigin](unsafe_from_address=address)


def begin_simulation(ref world: World):
    """Has the calls of this thread answered by a world, which stays where it
    is."""
    var key = UInt32(0)
    while key != _KEY:
        if (
            external_call["pthread_key_create", Int32](Pointer(to=key), Int(0))
            != 0
        ):
            abort("there is no key of that number")
    resume_simulation(world)


def resume_simulation(ref world: World):
    _ = external_call["pthread_setspecific", Int32](
        _KEY, Int(Pointer(to=world))
    )


def end_simulation():
    _ = external_call["pthread_setspecific", Int32](_KEY, Int(0))
