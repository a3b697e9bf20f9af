"""The messages of the comparison, as Python's `protobuf` has them, and how their
octets are put together."""

import tempfile
from functools import cache
from pathlib import Path

import grpc_tools
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import SerializeToJsonError
from google.protobuf.message import DecodeError, Message
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PROTOS = [
    HERE.parent / "protobuf" / "every.proto", HERE / "legacy.proto", HERE / "known.proto",
]  # fmt: skip
# By the first octet of a case; a small letter has a reader of JSON leave out what it
# does not know.
NAMES = {
    "E": "flare.test.Every",
    "L": "flare.test.Legacy",
    "K": "flare.test.Known",
    "A": "google.protobuf.Any",
    "D": "google.protobuf.Duration",
    "M": "google.protobuf.FieldMask",
    "S": "google.protobuf.Struct",
    "T": "google.protobuf.Timestamp",
    "V": "google.protobuf.Value",
    "I": "google.protobuf.Int64Value",
}
VARINT, FIXED64, LENGTH, GROUP_START, GROUP_END, FIXED32 = range(6)
Octets = bytes | bytearray
# What Python raises for a message without a form in JSON.
NO_JSON = (SerializeToJsonError, DecodeError, ValueError, TypeError, OverflowError)


@cache
def pool() -> descriptor_pool.DescriptorPool:
    """Reads the files by protoc."""
    shipped = Path(grpc_tools.__file__).parent / "_proto"
    with tempfile.NamedTemporaryFile() as file:
        folders = [f"-I{path.parent}" for path in PROTOS] + [f"-I{shipped}"]
        if protoc.main([
            "protoc", *folders, "--include_imports", f"--descriptor_set_out={file.name}",
            *map(str, PROTOS),
        ]):  # fmt: skip
            raise RuntimeError("protoc failed")
        files = descriptor_pb2.FileDescriptorSet.FromString(Path(file.name).read_bytes())
    made = descriptor_pool.DescriptorPool()
    for one in files.file:
        made.Add(one)
    return made


@cache
def kind(letter: str) -> type:
    """Gives the class of a case's message."""
    name = NAMES.get(letter.upper(), NAMES["E"])
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


def varint(value: int, extra: int = 0) -> bytes:
    """Writes a number, with so many octets more than it needs."""
    octets = bytearray()
    while value >= 0x80 or extra > 0:
        extra -= value < 0x80
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*octets, value])


def read_varint(octets: Octets, at: int) -> tuple[int, int]:
    """Reads a number; gives it, and where it ends."""
    value = shift = 0
    while True:
        octet = octets[at]
        at += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, at
        shift += 7


def end_of(octets: Octets, wire: int, at: int) -> int:
    """Tells where the value of a field ends."""
    if wire == VARINT:
        return read_varint(octets, at)[1]
    if wire == LENGTH:
        length, at = read_varint(octets, at)
        return at + length
    if wire != GROUP_START:
        return at + (8 if wire == FIXED64 else 4)
    while True:
        tag, at = read_varint(octets, at)
        if tag & 7 == GROUP_END:
            return at
        at = end_of(octets, tag & 7, at)


def pieces(octets: Octets) -> list[tuple[int, bytes]]:
    """Cuts a message into its fields: tag, and all octets with it."""
    found, at = [], 0
    while at < len(octets):
        start = at
        tag, at = read_varint(octets, at)
        at = end_of(octets, tag & 7, at)
        found.append((tag, bytes(octets[start:at])))
    return found


def is_map(field: FieldDescriptor | None) -> bool:
    return (
        field is not None
        and field.message_type is not None
        and field.message_type.GetOptions().map_entry
    )


def content(piece: bytes) -> bytes:
    """Gives what stands behind tag and length."""
    at = read_varint(piece, 0)[1]
    return piece[read_varint(piece, at)[1] :]


def held(message: Message) -> Message | None:
    """Reads what an `Any` holds."""
    try:
        name = message.type_url.split("/")[-1]
        return message_factory.GetMessageClass(
            pool().FindMessageTypeByName(name)
        ).FromString(message.value)
    except (KeyError, DecodeError, UnicodeDecodeError):
        return None
