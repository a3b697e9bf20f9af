"""Descriptions of files as programs carry them, for reflection."""

import base64
import textwrap

from mojo_flare.proto import names

_LINE_LEN = 76


def quoted_set(files: dict, name: str) -> list[str]:
    """Writes a `FileDescriptorSet` of a file and all that it imports in base64, as a
    text between three quotes."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    kept = FileDescriptorSet(file=[_bare(one) for one in _imported(files, name)])
    text = base64.b64encode(kept.SerializeToString(deterministic=True)).decode()
    return ['    """', *textwrap.wrap(text, _LINE_LEN), '"""']


def _imported(files: dict, name: str) -> list:
    """Gives a file behind all that it imports."""
    found: dict[str, object] = {}

    def add(one: str) -> None:
        if one in found:
            return
        for imported in files[one].dependency:
            add(imported)
        found[one] = files[one]

    add(name)
    return list(found.values())


def _bare(file):
    """Leaves out comments, places, and names that readers make up themselves."""
    bare = type(file)()
    bare.CopyFrom(file)
    bare.ClearField("source_code_info")
    waiting = list(bare.message_type)
    fields = list(bare.extension)
    while waiting:
        message = waiting.pop()
        waiting += message.nested_type
        fields += [*message.field, *message.extension]
    for field in fields:
        if field.json_name == names.json_name(field.name):
            field.ClearField("json_name")
    return bare
