"""Names in Mojo of what a `.proto` file names."""

import re

# Words of the language, words that stand before a parameter, and what a struct
# of the generator has itself.
_TAKEN_MEMBERS = frozenset(
    """
    alias and as assert async await break case class comptime continue def deinit
    del elif else except finally fn for from global if imm import in inout is
    lambda let match mut nonlocal not or out owned pass raise raises read ref
    return self struct thin trait try var where while with yield
    False None Self True
    FIELDS FIELD_COUNT JSON NAME VALUES VALUE_COUNT by_name copy number
    unknown_fields
    """.split()
)

# What generated files import or take from the prelude.
_TAKEN_TYPES = frozenset(
    """
    Array Bool Boxed Dict EnumRow Enumeration Error FieldKind FieldRow Float32
    Float64 Int Int32 Int64 JsonForm List Message None NoneType Optional Pointer
    ProtobufMap Self Set Span StaticString String True False Tuple UInt UInt32
    UInt64 UInt8 Copyable Defaultable Deinitable Equatable Movable Writable
    clear_oneof which_oneof
    """.split()
)


def member(name: str) -> str:
    """Names a field, or a value of an enumeration."""
    return f"{name}_" if name in _TAKEN_MEMBERS else name


def apart(given: list[str], made: list[str]) -> list[str]:
    """Puts names apart that would be the same in Mojo, though those that were
    given are not. A name that is as it was given keeps its form."""
    used: dict[str, int] = {}
    for at in sorted(range(len(made)), key=lambda at: made[at] != given[at]):
        name = made[at]
        while name in used:
            name += "_"
        used[name] = at
    return sorted(used, key=used.__getitem__)


def members(given: list[str]) -> list[str]:
    """Names the fields of a message, or the values of an enumeration."""
    return apart(given, [member(name) for name in given])


def type_name(parts: list[str]) -> str:
    """Names a type by those that it stands in: `Person_PhoneNumber`."""
    name = "_".join(parts)
    return f"{name}_" if name in _TAKEN_TYPES or name in _TAKEN_MEMBERS else name


def module(proto: str) -> list[str]:
    """Gives the way to the module of a file: `a/b.proto` is `a.b_pb`."""
    *folders, last = proto.removesuffix(".proto").split("/")
    return [_word(folder) for folder in folders] + [f"{_word(last)}_pb"]


def service_module(proto: str) -> list[str]:
    """Gives the way to the module of a file's services: `a/b.proto` is `a.b_grpc`."""
    *folders, last = module(proto)
    return [*folders, f"{last.removesuffix('_pb')}_grpc"]


def client_module(proto: str) -> list[str]:
    """Gives the way to the module of a file's callers: `a/b.proto` is `a.b_client`."""
    *folders, last = module(proto)
    return [*folders, f"{last.removesuffix('_pb')}_client"]


def snake(name: str) -> str:
    """Names a method as functions are: `GetURLOf` is `get_url_of`."""
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text).lower()


def _word(text: str) -> str:
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
    if word[:1].isdigit():
        word = f"_{word}"
    return f"{word}_" if word in _TAKEN_MEMBERS else word


def json_name(name: str) -> str:
    """Gives the name in JSON that a field has if its file says none."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
