"""The environment of the process, for callers who ask for it by name.

The library itself never looks here to choose how it behaves: what a supervisor
hands over in the environment (`LISTEN_FDS`, `NOTIFY_SOCKET`) is read when a
configuration says so.
"""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.copy import text_of
from flare.sys.platform import IS_MACOS
from std.ffi import CStringSpan, OwnedDLHandle, c_char, external_call

comptime _Entries = Pointer[
    OptionalPointer[c_char, ImmUntrackedOrigin], ImmUntrackedOrigin
]


def environment_texts() -> List[String]:
    """Copies the entries of the environment, as `NAME=value`."""
    var texts = List[String]()
    var found = _environ()
    if not found:
        return texts^
    var entries = found.held()
    while entries[]:
        var text = CStringSpan(unsafe_from_ptr=entries[].held())
        texts.append(text_of(text.as_bytes()))
        entries = entries.unsafe_offset(1)
    return texts^


def environment_value(name: StringSpan) -> String:
    """Reads one variable of the environment; empty if there is none."""
    var length = name.byte_length()
    for text in environment_texts():
        var octets = text.as_bytes()
        if (
            len(octets) > length
            and octets.at(length) == 61
            and same_octets(octets.before(length), name.as_bytes())
        ):
            return text_of(octets.after(length + 1))
    return String()


def _environ() -> Optional[_Entries]:
    comptime if IS_MACOS:
        return external_call[
            "_NSGetEnviron", OptionalPointer[_Entries, ImmUntrackedOrigin]
        ]().held()[]
    else:
        try:
            var program = OwnedDLHandle()
            var symbol = program.get_symbol[_Entries]("environ")
            return symbol.held()[] if symbol else None
        except:
            return None
