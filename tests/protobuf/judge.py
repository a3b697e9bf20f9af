#!/usr/bin/env python3
"""Compares flare with Python's `protobuf`: judge.py PROGRAM [--count N] [--seed N].

PROGRAM is tests/protobuf/judge.mojo, built. Messages with fields of every kind,
and what becomes of their octets and texts by chance, go through both; what one
takes and the other does not is printed, as is what they read differently.
Needs protobuf and grpcio-tools.
"""

import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    json_format,
    message_factory,
    unknown_fields,
)
from google.protobuf.message import DecodeError
from grpc_tools import protoc
import grpc_tools

HERE = Path(__file__).resolve().parent
BATCH = 20_000
INTERESTING = [0, 1, 2, 127, 128, 255, 300, 16383, 16384, 2**31 - 1, 2**31, 2**32 - 1,
               2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
TEXTS = ["", "a", "é", "\U0001f600", 'quote " \\ \n\t\x01', "x" * 130, "2", "true"]


def load_class():
    """Makes the class of the test message."""
    with tempfile.NamedTemporaryFile() as file:
        shipped = Path(grpc_tools.__file__).parent / "_proto"
        if protoc.main([
            "protoc", f"-I{HERE}", f"-I{shipped}", "--include_imports",
            f"--descriptor_set_out={file.name}", str(HERE / "every.proto"),
        ]):
            sys.exit("protoc failed")
        files = descriptor_pb2.FileDescriptorSet.FromString(Path(file.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for one in files.file:
        pool.Add(one)
    found = pool.FindMessageTypeByName("flare.test.Every")
    return message_factory.GetMessageClass(found)


class Maker:
    """Makes messages, octets and texts by chance."""

    def __init__(self, kind, seed: int) -> None:
        self.kind = kind
        self.chance = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        value = self.chance.choice(INTERESTING)
        value = self.chance.choice([value, -value, self.chance.randint(low, high)])
        return value if low <= value <= high else self.chance.randint(low, high)

    def scalar(self, field):
        chance, f = self.chance, field
        if f.cpp_type == f.CPPTYPE_INT32:
            return self.number(-(2**31), 2**31 - 1)
        if f.cpp_type == f.CPPTYPE_INT64:
            if f.containing_type.full_name == "google.protobuf.Timestamp":
                return chance.randint(-62135596800, 253402300799)
            return self.number(-(2**63), 2**63 - 1)
        if f.cpp_type == f.CPPTYPE_UINT32:
            return self.number(0, 2**32 - 1)
        if f.cpp_type == f.CPPTYPE_UINT64:
            return self.number(0, 2**64 - 1)
        if f.cpp_type in (f.CPPTYPE_DOUBLE, f.CPPTYPE_FLOAT):
            return chance.choice(
                [0.0, -0.0, 1.5, -1e30, 0.1, float("inf"), -float("inf"), float("nan"),
                 chance.uniform(-1e6, 1e6), chance.uniform(-1, 1)]
            )
        if f.cpp_type == f.CPPTYPE_BOOL:
            return chance.random() < 0.5
        if f.cpp_type == f.CPPTYPE_ENUM:
            return chance.choice([0, 1, -2, 77])
        if f.type == f.TYPE_BYTES:
            return chance.randbytes(chance.choice([0, 1, 2, 3, 30, 200]))
        return chance.choice(TEXTS)

    def fill(self, message, depth: int = 0):
        fields = message.DESCRIPTOR.fields
        share = self.chance.choice([0.03, 0.1, 0.5]) if len(fields) > 5 else 0.7
        for f in fields:
            if self.chance.random() > share:
                continue
            is_message = f.cpp_type == f.CPPTYPE_MESSAGE
            if is_message and f.message_type.GetOptions().map_entry:
                entry = getattr(message, f.name)
                key, value = f.message_type.fields
                for _ in range(self.chance.randint(1, 3)):
                    if value.cpp_type == value.CPPTYPE_MESSAGE:
                        if depth < 3:
                            self.fill(entry[self.scalar(key)], depth + 1)
                    else:
                        entry[self.scalar(key)] = self.scalar(value)
            elif is_message and f.is_repeated:
                for _ in range(self.chance.randint(1, 3) if depth < 3 else 0):
                    self.fill(getattr(message, f.name).add(), depth + 1)
            elif is_message:
                if depth < 4:
                    inner = getattr(message, f.name)
                    inner.SetInParent()
                    if f.message_type.name == "Timestamp":
                        inner.seconds = self.chance.randint(-62135596800, 253402300799)
                        inner.nanos = self.chance.choice([0, 5, 1000, 25_000_000, 999_999_999])
                    else:
                        self.fill(inner, depth + 1)
            elif f.is_repeated:
                getattr(message, f.name).extend(
                    self.scalar(f) for _ in range(self.chance.randint(1, 4))
                )
            else:
                setattr(message, f.name, self.scalar(f))
        return message

    def mutated(self, octets: bytes) -> bytes:
        """Changes a few octets, or cuts, doubles or inserts some."""
        chance, some = self.chance, bytearray(octets)
        for _ in range(chance.choice([1, 1, 1, 2, 4])):
            at = chance.randrange(len(some) + 1)
            what = chance.randrange(6)
            if what == 0 and at < len(some):
                some[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            elif what == 1 and at < len(some):
                some[at] ^= 1 << chance.randrange(8)
            elif what == 2:
                del some[at : at + chance.choice([1, 1, 2, 8, 1000])]
            elif what == 3:
                some[at:at] = some[at : at + chance.randrange(1, 20)]
            elif what == 4:
                some[at:at] = chance.randbytes(chance.randrange(1, 4))
            else:
                tag = chance.choice([f.number for f in self.kind.DESCRIPTOR.fields] + [100, 1000])
                some += varint(tag << 3 | chance.randrange(8)) + chance.randbytes(chance.randrange(12))
        return bytes(some)

    def mutated_json(self, value):
        """Puts another value somewhere into a document."""
        chance = self.chance
        if isinstance(value, dict) and value and chance.random() < 0.8:
            key = chance.choice(list(value))
            return {**value, key: self.mutated_json(value[key])}
        if isinstance(value, list) and value and chance.random() < 0.8:
            at = chance.randrange(len(value))
            return [*value[:at], self.mutated_json(value[at]), *value[at + 1 :]]
        return chance.choice(
            [None, True, "", "x", "1", "-1", "4294967296", 0, 1, -1, 2**31, 2**63, 2**64 - 1,
             2**64, 1.5, 1.0, 1e3, [], {}, [1], {"a": 1}, "RED", "NaN", "Infinity", "AQ==",
             "AQ", "-_8=", "2020-02-29T00:00:00Z", "2021-02-29T00:00:00Z",
             "2020-01-01T00:00:00.5+01:00", 77]
        )


def varint(value: int) -> bytes:
    octets = bytearray()
    while value >= 0x80:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*octets, value])


# What Python reads into JSON that the mapping does not have: `[]` and "" as messages,
# true as a number, "1" and 1.5 as an enumeration, base64 of any length with bits left over.
LAX = (
    "expected an object", "expected a number", "expected a name", "expected octets in base64",
)


def keeps_entries(message) -> bool:
    """Tells whether Python has kept entries of a map as fields that it does not
    know: it does so with all in which there is a third field."""
    unknown = {one.field_number for one in unknown_fields.UnknownFieldSet(message)}
    for f in message.DESCRIPTOR.fields:
        is_map = f.message_type is not None and f.message_type.GetOptions().map_entry
        if is_map and f.number in unknown:
            return True
        if f.cpp_type != f.CPPTYPE_MESSAGE:
            continue
        value = getattr(message, f.name)
        if is_map:
            if f.message_type.fields_by_name["value"].message_type is None:
                continue
            inner = list(value.values())
        elif f.is_repeated:
            inner = list(value)
        else:
            inner = [value] if message.HasField(f.name) else []
        if any(keeps_entries(one) for one in inner):
            return True
    return False


def alike(ours, theirs) -> bool:
    """Compares documents; floats of 32 bits may have texts of their own."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            alike(value, theirs[key]) for key, value in ours.items()
        )
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float) and ours != theirs:
        try:
            return struct.pack("f", ours) == struct.pack("f", theirs)
        except OverflowError:
            return False
    return ours == theirs


class Judge:
    """Asks both, and keeps what differs."""

    def __init__(self, kind, program: str) -> None:
        self.kind, self.program = kind, program
        self.differences: list[str] = []
        self.taken = self.refused = 0

    def ask(self, cases: list[tuple[str, bytes]]) -> None:
        lines = "".join(f"{form} {octets.hex()}\n" for form, octets in cases)
        said = subprocess.run([self.program], input=lines, text=True, capture_output=True)
        answers = said.stdout.splitlines()
        if said.returncode or len(answers) != len(cases):
            sys.exit(
                f"the program ended with {said.returncode} behind {len(answers)} answers, at"
                f" {cases[min(len(answers), len(cases) - 1)]}\n{said.stderr[-2000:]}"
            )
        for (form, octets), answer in zip(cases, answers):
            reason = (self.octets if form == "b" else self.text)(octets, answer)
            if reason:
                self.differences.append(f"{form} {octets.hex()}\n  {reason}\n  {answer[:300]}")

    def _counted(self, expected: bool, answer: str) -> str:
        taken = answer.startswith("+")
        self.taken += taken
        self.refused += not taken
        if taken != expected:
            return "refused here, taken there" if expected else "taken here, refused there"
        return ""

    def octets(self, octets: bytes, answer: str) -> str:
        try:
            theirs = self.kind.FromString(octets)
        except (DecodeError, UnicodeDecodeError):
            return self._counted(False, answer)
        if (different := self._counted(True, answer)) or not answer.startswith("+"):
            return different
        ours, text = answer[1:].split(" ")
        if keeps_entries(theirs):
            return ""
        if self.differ(self.kind.FromString(bytes.fromhex(ours)), theirs):
            return "another message"
        try:
            document = json_format.MessageToDict(theirs)
        except (json_format.SerializeToJsonError, ValueError, OverflowError):
            document = None
        if document is None:
            return "JSON here, none there" if text != "!" else ""
        if text == "!":
            return "no JSON here"
        if not alike(json.loads(bytes.fromhex(text[1:])), document):
            return f"another document: {bytes.fromhex(text[1:])[:300]!r}"
        return ""

    def text(self, text: bytes, answer: str) -> str:
        theirs = self.kind()
        try:
            json_format.Parse(text, theirs)
        except (json_format.ParseError, UnicodeDecodeError):
            return self._counted(False, answer)
        if (different := self._counted(True, answer)) or not answer.startswith("+"):
            return "" if any(one in answer for one in LAX) else different
        if self.differ(self.kind.FromString(bytes.fromhex(answer[1:])), theirs):
            return "another message"
        return ""

    @staticmethod
    def differ(ours, theirs) -> bool:
        """Tells whether two messages differ, by their octets: a NaN is equal to
        itself that way."""
        return ours.SerializeToString(deterministic=True) != theirs.SerializeToString(
            deterministic=True
        )


def compare(program: str, count: int, seed: int) -> Judge:
    """Sends so many cases through both."""
    kind = load_class()
    maker, judge = Maker(kind, seed), Judge(kind, program)
    done = 0
    while done < count:
        cases: list[tuple[str, bytes]] = []
        while len(cases) < min(BATCH, count - done):
            message = maker.fill(kind())
            octets = message.SerializeToString()
            cases.append(("b", octets))
            cases += [("b", maker.mutated(octets)) for _ in range(6)]
            document = json_format.MessageToDict(
                message, preserving_proto_field_name=maker.chance.random() < 0.2
            )
            cases.append(("j", json.dumps(document).encode()))
            other = maker.mutated_json(document)
            cases.append(("j", json.dumps(other, ensure_ascii=False).encode()))
        judge.ask(cases)
        done += len(cases)
    return judge


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    judge = compare(given.program, given.count, given.seed)
    for difference in judge.differences[:20]:
        print(difference)
    print(f"{judge.taken} taken, {judge.refused} refused, {len(judge.differences)} different")
    return 1 if judge.differences else 0


if __name__ == "__main__":
    sys.exit(main())
