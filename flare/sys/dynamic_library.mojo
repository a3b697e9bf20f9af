"""Libraries that are loaded when they are first needed."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from std.ffi import RTLD, OwnedDLHandle


@fieldwise_init
struct LibraryError(Copyable, Movable, Writable):
    """A library, or something in it, is missing."""

    var name: String
    var reason: String
    """What is missing, and what the system says about it."""

    def write_to(self, mut writer: Some[Writer]):
        writer.write_string(self.name)
        writer.write_string(": ")
        writer.write_string(self.reason)


struct DynamicLibrary(Movable):
    """A loaded library. Pointers from it are good while it is loaded.

    It stays in the process when its owner goes: libraries with state of their
    own for each thread must not vanish under a thread that still ends.
    """

    var _name: String
    var _handle: OwnedDLHandle

    def __init__(out self, names: List[String]) raises LibraryError:
        """Loads the first library that is there, best first; raises if none is."""
        var reason = String()
        for name in names:
            try:
                self._handle = OwnedDLHandle(
                    name, RTLD.NOW | RTLD.LOCAL | RTLD.NODELETE
                )
                self._name = name
                return
            except error:
                if reason.byte_length() == 0:
                    reason = String(error)
        raise LibraryError(names.at(0) if len(names) > 0 else String(), reason^)

    def symbol[
        F: TrivialRegisterPassable
    ](self, name: StaticString) raises LibraryError -> F:
        """Finds a function of a type `def(...) thin abi("C") -> ...`."""
        var found = self._handle.get_symbol[NoneType](name)
        if not found:
            raise LibraryError(
                self._name,
                Text()
                .add("it has no ")
                .add(name)
                .add("; is it too old?")
                .end(),
            )
        var address = Int(found.held())
        return Pointer(to=address).unsafe_bitcast[F]()[]
