"""Messages of Protocol Buffers as words of an answer: with the entries of maps in one
order, and one way to write a number."""

import json
import struct
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from protobuf_kinds import LENGTH, Octets, content, held, is_map, kind, pieces, pool, varint


def in_order(case: bytes, line: str) -> str:
    """Puts flare's answer in order."""
    words = line.split(" ")
    if words[0] != "M":
        return line
    described = kind(chr(case[0])).DESCRIPTOR
    words[1] = "x" + ordered(bytes.fromhex(words[1][1:]), described).hex()
    if words[5] == "M":
        words[7] = written(json.loads(unquote_to_bytes(words[7][1:])), described)
    return " ".join(words)


def ordered(octets: Octets, described: Descriptor) -> bytes:
    """Puts the entries of maps in order, in all messages within."""
    if described.full_name == "google.protobuf.Any":
        return ordered_any(octets)
    out = []
    for tag, piece in pieces(octets):
        field = described.fields_by_number.get(tag >> 3)
        if field is not None and field.message_type is not None and tag & 7 == LENGTH:
            whole = ordered(content(piece), field.message_type)
            piece = varint(tag) + varint(len(whole)) + whole
        key = (tag, piece) if is_map(field) else (tag, b"")
        # Entries of one map stand side by side; what is not known stays where it is.
        out.append((key, piece))
    done, at = [], 0
    while at < len(out):
        end = at + 1
        while end < len(out) and out[end][0][0] == out[at][0][0]:
            end += 1
        done += [piece for _, piece in sorted(out[at:end], key=lambda one: one[0])]
        at = end
    return b"".join(done)


def ordered_any(octets: Octets) -> bytes:
    """Puts in order what an `Any` holds, if that is known."""
    try:
        message = kind("A").FromString(bytes(octets))
    except DecodeError:
        # Of what it does not know, flare has taken what Python does not.
        return bytes(octets)
    if (inner := held(message)) is None:
        return bytes(octets)
    message.value = ordered(message.value, inner.DESCRIPTOR)
    return message.SerializeToString()


def _float(value: object, form: str) -> object:
    """Gives the bits of a number; texts such as "NaN" stay as they are."""
    return value if isinstance(value, str) else struct.pack(form, value).hex()


def _scalar(value: object, field: FieldDescriptor) -> object:
    if field.type == field.TYPE_FLOAT:
        return _float(value, ">f")
    return _float(value, ">d") if field.type == field.TYPE_DOUBLE else value


def _any_value(value: object) -> object:
    if isinstance(value, dict):
        return {name: _any_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_any_value(one) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _float(value, ">d")
    return value


def _any(value: dict) -> object:
    if not value:
        return value
    described = pool().FindMessageTypeByName(value["@type"].split("/")[-1])
    rest = {name: one for name, one in value.items() if name != "@type"}
    if described.full_name in FORMS:
        # Their form stands in a member of its own.
        rest = {name: plain(one, described) for name, one in rest.items()}
    else:
        rest = plain(rest, described)
    return {"@type": value["@type"], **rest}


def _wrapper(form: str) -> Callable[[object], object]:
    return lambda value: _float(value, form)


def _same(value: object) -> object:
    return value


FORMS: dict[str, Callable[[object], object]] = {
    "google.protobuf.Any": _any,
    "google.protobuf.DoubleValue": _wrapper(">d"),
    "google.protobuf.FloatValue": _wrapper(">f"),
    **{
        f"google.protobuf.{name}": _any_value for name in ("Struct", "Value", "ListValue")
    },
    **{
        f"google.protobuf.{name}": _same
        for name in (
            *("Duration", "Empty", "FieldMask", "Timestamp", "Int64Value", "UInt64Value"),
            *("Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue"),
        )
    },
}


def plain(document: object, described: Descriptor) -> object:
    """Gives numbers with a point by their bits: a text of one may be any that is
    read back as it was."""
    form = FORMS.get(described.full_name)
    if form is not None:
        return form(document)
    names = {field.json_name: field for field in described.fields}
    return {
        name: _field(value, names[name]) for name, value in document.items()
    }


def _one(value: object, field: FieldDescriptor) -> object:
    if field.message_type is None:
        return _scalar(value, field)
    return plain(value, field.message_type)


def _field(value: object, field: FieldDescriptor) -> object:
    if is_map(field):
        inner = field.message_type.fields_by_name["value"]
        return {key: _one(one, inner) for key, one in value.items()}
    if field.is_repeated:
        return [_one(one, field) for one in value]
    return _one(value, field)


def written(document: object, described: Descriptor) -> str:
    """Writes a document as one word."""
    text = json.dumps(
        plain(document, described), sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return "j" + text.replace("%", "%25").replace(" ", "%20")
