"""Libraries that are loaded when they are first needed."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from std.ffi import RTLD, OwnedDLHandle, _Global


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


trait LibraryFunctions(TrivialRegisterPassable):
    """Functions of one library, as addresses, which are good for good: a library
    that was loaded stays in the process."""

    comptime KEY: StaticString
    """The name of the process's own."""

    @staticmethod
    def names() -> List[String]:
        """Lists the file names for the platform, best first."""
        ...

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        """Finds them all; raises if one is missing."""
        ...


def functions_of[F: LibraryFunctions]() raises LibraryError -> F:
    """Gives the functions of a library, which are looked for once a process:
    some are wanted for each message. Where they are missing it is tried again
    each time, and raises."""
    try:
        var found = _Global[F.KEY, _look_up[F]].get_or_create_ptr()
        if found[]:
            return found[].value()
    except:
        # The runtime has no memory for a word of its own.
        pass
    return F(DynamicLibrary(F.names()))


def _look_up[F: LibraryFunctions]() -> Optional[F]:
    try:
        return F(DynamicLibrary(F.names()))
    except:
        return None
