"""Where the functions of the object are.

Symbols are weak, so that a program which is linked without the object that it
was built for says so, instead of failing at the link or calling other code.
"""

from flare.sys.weak_symbol import weak_symbol
from std.ffi import external_call
from std.sys import CompilationTarget, stderr
from std.sys.intrinsics import unlikely

comptime _Table = def() thin abi("C") -> OpaquePointer[ImmUntrackedOrigin]
comptime _Text = def() thin abi("C") -> ImmPointer[UInt8, ImmUntrackedOrigin]


def _cpu_level() -> StaticString:
    comptime if not CompilationTarget.is_x86():
        return "generic"
    elif CompilationTarget.has_avx2():
        return "v3"
    else:
        return "v2"


comptime _CPU = _cpu_level()


@no_inline
def _end_without_object():
    var found = weak_symbol["flare_object_identity"]()
    var text = String(
        "flare: this program was built for the object {IDENTITY}, for a CPU of"
        " level "
    )
    text += _CPU
    if found == 0:
        text += ", and linked with none"
    else:
        text += ", and linked with the object "
        var at = Pointer(to=found).unsafe_bitcast[_Text]()[]()
        var index = 0
        while at[unsafe_offset=index] != 0:
            text += chr(Int(at[unsafe_offset=index]))
            index += 1
    text += "; build it with `flare build`, or with what `flare flags` prints"
    print(text, file=stderr)
    external_call["_exit", NoneType](Int32(70))


@always_inline
def object_table[module: StaticString]() -> OpaquePointer[ImmUntrackedOrigin]:
    """Gives the table of a module's functions; the program ends if the object
    is not there, or is another one.

    Parameters:
        module: The module's name, with `_` for dots.

    Returns:
        The table.
    """
    var address = weak_symbol["{SYMBOL}_" + _CPU + "_" + module]()
    if unlikely(address == 0):
        _end_without_object()
    return Pointer(to=address).unsafe_bitcast[_Table]()[]()
