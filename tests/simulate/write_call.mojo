"""The system's call `write`, answered by the simulated kernel: an object of its own.

Mojo's `abort` and `print` call it, and a module that has both a call of it and its
definition is not compiled.
"""

from std.ffi import external_call
from std.memory import OpaquePointer

comptime _FIRST_NUMBER: Int32 = 4_096
# `FIRST_NUMBER` of kernel.mojo, whose import would bring calls along.

comptime _WRITE = 1


@export("write")
def sim_write(
    number: Int32, octets: OpaquePointer[MutUntrackedOrigin], length: Int
) abi("C") -> Int:
    if number >= _FIRST_NUMBER:
        return external_call["simulated_write", Int](number, octets, length)
    return external_call["syscall", Int, num_fixed_args=1](
        _WRITE, Int(number), octets, length
    )
