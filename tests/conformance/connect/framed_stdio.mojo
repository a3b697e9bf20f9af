"""Messages of the conformance suite, each with its length in four octets before it."""

from flare.protobuf import Message, decode, encode
from std.io import FileHandle

comptime LENGTH_LEN = 4


def read_message[M: Message](mut file: FileHandle) raises -> Optional[M]:
    """Reads the next message; nothing at the end of the input."""
    var length = 0
    var prefix = read_up_to(file, LENGTH_LEN)
    if len(prefix) == 0:
        return None
    for octet in prefix:
        length = length << 8 | Int(octet)
    var octets = read_up_to(file, length)
    if len(prefix) < LENGTH_LEN or len(octets) < length:
        raise Error("the input ends within a message")
    return decode[M](octets)


def read_up_to(mut file: FileHandle, count: Int) raises -> List[UInt8]:
    var octets = List[UInt8]()
    while len(octets) < count:
        var piece = file.read_bytes(count - len(octets))
        if len(piece) == 0:
            break
        octets.extend(piece^)
    return octets^


def write_message[M: Message](mut file: FileHandle, message: M) raises:
    var octets = encode(message)
    var framed = List[UInt8]()
    for shift in range(24, -1, -8):
        framed.append(UInt8((len(octets) >> shift) & 255))
    framed.extend(octets^)
    file.write_bytes(framed)
