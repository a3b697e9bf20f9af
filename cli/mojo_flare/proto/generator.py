"""Makes Mojo of descriptors: one module for each `.proto` file.

A message is a struct with its fields and one table of them; what reads and
writes it is in the library (`flare.protobuf`).
"""

from dataclasses import dataclass, field

from mojo_flare.outcome import CommandError
from mojo_flare.proto import names
from mojo_flare.proto.descriptors import quoted_set
from mojo_flare.proto.graph import recursive_groups
from mojo_flare.proto.layout import WIDTH, call, docstring

# `FieldDescriptorProto.Type`, by number: the kind's name, and the type in Mojo.
KINDS = {
    1: ("DOUBLE", "Float64"),
    2: ("FLOAT", "Float32"),
    3: ("INT64", "Int64"),
    4: ("UINT64", "UInt64"),
    5: ("INT32", "Int32"),
    6: ("FIXED64", "UInt64"),
    7: ("FIXED32", "UInt32"),
    8: ("BOOL", "Bool"),
    9: ("STRING", "String"),
    11: ("MESSAGE", ""),
    12: ("BYTES", "List[UInt8]"),
    13: ("UINT32", "UInt32"),
    14: ("ENUM", ""),
    15: ("SFIXED32", "Int32"),
    16: ("SFIXED64", "Int64"),
    17: ("SINT32", "Int32"),
    18: ("SINT64", "Int64"),
}
_GROUP, _MESSAGE, _ENUM = 10, 11, 14
_REQUIRED, _REPEATED = 2, 3
_NO_SIDE_EFFECTS = 1
_UNPACKED = {9, _GROUP, _MESSAGE, 12}
_TRIVIAL = {"Bool", "Float32", "Float64", "Int32", "Int64", "UInt32", "UInt64"}
_FRONT = ("flare", "protobuf")
_WELL_KNOWN = "google/protobuf/"
_SHIPPED = {
    "any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers",
}


@dataclass
class Type:
    """A message or an enumeration, and where it is."""

    full: str
    parts: list[str]
    file: str
    descriptor: object
    path: tuple[int, ...]
    is_enum: bool
    name: str = ""


@dataclass
class Slot:
    """A field of a struct: its row, its type, and what it is at first."""

    row: list[str]
    name: str
    type: str
    default: str
    comment: str
    extra: list[str] = field(default_factory=list)

    @property
    def is_trivial(self) -> bool:
        # An enumeration alone is at first the value 0 of its own type.
        return self.type in _TRIVIAL or self.default == f"{self.type}()"


class Index:
    """All types of all files, by their full names."""

    def __init__(self, files) -> None:
        self.types: dict[str, Type] = {}
        self.files = {file.name: file for file in files}
        for file in files:
            prefix = f"{file.package}." if file.package else ""
            for index, message in enumerate(file.message_type):
                self._add_message(file, prefix, [], message, (4, index))
            for index, enum in enumerate(file.enum_type):
                self._add(file, prefix, [enum.name], enum, (5, index), True)
            self._name(self.of_file(file.name))
        edges = {
            full: {
                one.type_name.lstrip(".")
                for one in known.descriptor.field
                if one.type == _MESSAGE
            }
            for full, known in self.types.items()
            if not known.is_enum
        }
        # A map's entry is a message, too, so a message may hold itself by one.
        self.groups = recursive_groups(edges)

    def _add_message(self, file, prefix, outer, message, path) -> None:
        parts = [*outer, message.name]
        self._add(file, prefix, parts, message, path, False)
        for index, inner in enumerate(message.nested_type):
            self._add_message(file, prefix, parts, inner, (*path, 3, index))
        for index, enum in enumerate(message.enum_type):
            self._add(file, prefix, [*parts, enum.name], enum, (*path, 4, index), True)

    def _add(self, file, prefix, parts, descriptor, path, is_enum) -> None:
        full = prefix + ".".join(parts)
        self.types[full] = Type(full, parts, file.name, descriptor, path, is_enum)

    @staticmethod
    def _name(types: list[Type]) -> None:
        """Names the types of a file: `A_B` may be one, and `B` in `A` another."""
        kept = [
            one for one in types if one.is_enum or not one.descriptor.options.map_entry
        ]
        given = [".".join(one.parts) for one in kept]
        made = [names.type_name(one.parts) for one in kept]
        for one, name in zip(kept, names.apart(given, made), strict=True):
            one.name = name

    def of_file(self, name: str) -> list[Type]:
        return [known for known in self.types.values() if known.file == name]


class Module:
    """One file of Mojo under way."""

    def __init__(self, index: Index, file) -> None:
        self.index = index
        self.file = file
        self.is_proto3 = file.syntax == "proto3"
        self.here = self._place()
        self.front: set[str] = set()
        # Files whose modules this one imports.
        self.needed: list[str] = []
        self.imports: dict[tuple[str, ...], set[str]] = {}
        self.comments = {
            tuple(location.path): location.leading_comments
            or location.trailing_comments
            for location in file.source_code_info.location
        }

    def _place(self) -> list[str]:
        return names.module(self.file.name)

    def _own_names(self) -> set[str]:
        return {own.name for own in self.index.of_file(self.file.name)}

    def text(self) -> str:
        body: list[str] = []
        for known in self.index.of_file(self.file.name):
            if known.is_enum:
                body += ["", "", *self.enumeration(known)]
            elif not known.descriptor.options.map_entry:
                body += ["", "", *self.message(known)]
        head = [
            f"# Made by `flare proto` of {self.file.name}; a change here is lost.",
            f'"""Messages of {self.file.name}."""',
        ]
        return "\n".join([*head, *self._import_lines(), *body]) + "\n"

    def _import_lines(self) -> list[str]:
        lines: list[str] = []
        if self.front:
            lines += _import(".".join(_FRONT), sorted(self.front))
        for way, used in sorted(self.imports.items()):
            lines += _import(self._relative(way), sorted(used))
        return ["", *lines] if lines else []

    def _relative(self, way: tuple[str, ...]) -> str:
        """Names a module as it is seen from this one."""
        own = self.here[:-1]
        shared = 0
        while shared < min(len(own), len(way) - 1) and own[shared] == way[shared]:
            shared += 1
        return "." * (len(own) - shared + 1) + ".".join(way[shared:])

    def reference(self, full: str) -> str:
        """Names a type where it is used, and imports it."""
        known = self.index.types[full]
        if known.file == self.file.name:
            return known.name
        base = known.file.removeprefix(_WELL_KNOWN).removesuffix(".proto")
        if known.file.startswith(_WELL_KNOWN):
            if base not in _SHIPPED:
                raise CommandError(
                    f"{self.file.name}: {full} is not among the well-known types"
                    " that flare has",
                    "leave the field out, or copy the type into a file of your own",
                )
            return self._taken(_FRONT, known.name, known, self.front)
        return self._imported(known)

    def _imported(self, known: Type) -> str:
        way = tuple(names.module(known.file))
        self.needed.append(known.file)
        return self._taken(way, known.name, known, self.imports.setdefault(way, set()))

    def _taken(self, way, name: str, known: Type, used: set[str]) -> str:
        """Takes another name where this file, or a third one, has the same."""
        others = self._own_names() | {
            one.split(" as ")[-1]
            for place, ones in [*self.imports.items(), (_FRONT, self.front)]
            if place != way
            for one in ones
        }
        if name in others:
            alias = f"{'_'.join(known.full.split('.')[:-1])}_{name}"
            used.add(f"{name} as {alias}")
            return alias
        used.add(name)
        return name

    def comment(self, path: tuple[int, ...]) -> str:
        return self.comments.get(path, "")

    def _head(self, known: Type, trait: str, count: str) -> list[str]:
        """What a struct begins with: its name, what its comment says, its constants."""
        lines = [f"struct {known.name}({trait}):"]
        if documented := docstring(4, self.comment(known.path)):
            lines += [*documented, ""]
        return lines + [f'    comptime NAME = "{known.full}"', f"    comptime {count}"]

    def enumeration(self, known: Type) -> list[str]:
        self.front |= {"EnumRow", "Enumeration"}
        values = known.descriptor.value
        count = f"VALUE_COUNT = {len(values)}"
        lines = ["@fieldwise_init", *self._head(known, "Enumeration", count)]
        rows = [f'EnumRow({value.number}, "{value.name}")' for value in values]
        lines += _table("VALUES: Array[EnumRow, Self.VALUE_COUNT]", rows)
        made = names.members([value.name for value in values])
        for index, (value, name) in enumerate(zip(values, made, strict=True)):
            lines.append(f"    comptime {name} = {known.name}({value.number})")
            lines += docstring(4, self.comment((*known.path, 2, index)))
        return lines + [
            "",
            "    var number: Int32",
        ]

    def message(self, known: Type) -> list[str]:
        self.front |= {"Message"}
        slots = [
            slot
            for place, one in sorted(
                enumerate(known.descriptor.field), key=lambda pair: pair[1].number
            )
            if (slot := self._slot(known, place, one)) is not None
        ]
        made = names.members([slot.name for slot in slots])
        for slot, name in zip(slots, made, strict=True):
            slot.name = name
        self.front.add("FieldRow")
        if slots:
            self.front.add("FieldKind")
        lines = self._head(known, "Message", f"FIELD_COUNT = {len(slots)}")
        rows = [f"FieldRow({', '.join(slot.row)})" for slot in slots]
        lines += _table(
            "FIELDS: Array[FieldRow, Self.FIELD_COUNT]", rows,
            [slot.row for slot in slots],
        )
        for slot in slots:
            lines += slot.extra
        lines.append("")
        for slot in slots:
            lines.append(f"    var {slot.name}: {slot.type}")
            lines += docstring(4, slot.comment)
        lines.append("    var unknown_fields: List[UInt8]")
        lines += self._initializers(slots)
        if known.full in self.index.groups:
            lines += ["", "    def __deinit__(deinit self):", "        pass"]
        return lines + self._oneofs(known, slots)

    def _initializers(self, slots: list[Slot]) -> list[str]:
        if not slots:
            # What is Defaultable and writes none has one.
            return []
        first = slots[0]
        again = first.default if first.default != "{}" else f"{first.type}()"
        lines = ["", "    def __init__(out self):"]
        lines += call(8, "self = Self(", [f"{first.name}={again}"], ")")
        lines += ["", "    def __init__("]
        # Of two initializers that `Self()` may mean, one that takes any number of
        # something is not meant.
        lines += ["        out self,", "        *by_name: NoneType,"]
        for slot in slots:
            word = "" if slot.is_trivial else "var "
            lines.append(f"        {word}{slot.name}: {slot.type} = {slot.default},")
        lines.append("    ):")
        for slot in slots:
            move = "" if slot.is_trivial else "^"
            lines.append(f"        self.{slot.name} = {slot.name}{move}")
        return lines + ["        self.unknown_fields = {}"]

    def _oneofs(self, known: Type, slots: list[Slot]) -> list[str]:
        lines: list[str] = []
        taken = {slot.name for slot in slots}
        for index, name in enumerate(self._real_oneofs(known.descriptor)):
            self.front |= {"clear_oneof", "which_oneof"}
            which, clear = f"which_{name}", f"clear_{name}"
            while which in taken or clear in taken:
                which, clear = f"{which}_", f"{clear}_"
            lines += [
                "",
                f"    def {which}(self) -> Int:",
                f'        """Tells which field of `{name}` is set, 0 for none."""',
                f"        return which_oneof(self, {index + 1})",
                "",
                f"    def {clear}(mut self):",
                f'        """Empties all fields of `{name}`."""',
                f"        clear_oneof(self, {index + 1})",
            ]
        return lines

    @staticmethod
    def _real_oneofs(descriptor) -> list[str]:
        """Leaves out those that stand for `optional` of proto3."""
        real = {
            one.oneof_index
            for one in descriptor.field
            if one.HasField("oneof_index") and not one.proto3_optional
        }
        return [one.name for at, one in enumerate(descriptor.oneof_decl) if at in real]

    def _slot(self, known: Type, place: int, one) -> Slot | None:
        """Gives what a field is in Mojo; nothing for a group, which is kept with
        the fields that are not known."""
        if one.type == _GROUP:
            return None
        row = [str(one.number), "", f'"{one.name}"']
        given = one.json_name or names.json_name(one.name)
        if given != one.name:
            row.append(_quoted(given))
        inner, kind = self._value_type(one)
        extra: list[str] = []
        entry = self._map_entry(one)
        if entry is not None:
            key_type, key_kind = self._value_type(entry.field[0])
            inner, kind = self._value_type(entry.field[1])
            row.append(f"key=FieldKind.{key_kind}")
            self.front.add("ProtobufMap")
            kept, default = f"ProtobufMap[{key_type}, {inner}]", "{}"
        elif one.label == _REPEATED:
            kept, default = f"List[{inner}]", "{}"
            if one.type not in _UNPACKED and not self._is_packed(one):
                row.append("expanded=True")
        else:
            kept, default = self._single(known, one, inner)
            extra = self._default(one, inner)
        if one.HasField("oneof_index") and not one.proto3_optional:
            real = self._real_oneofs(known.descriptor)
            name = known.descriptor.oneof_decl[one.oneof_index].name
            row.append(f"oneof={real.index(name) + 1}")
        if one.label == _REQUIRED:
            row.append("required=True")
        row[1] = f"FieldKind.{kind}"
        comment = self.comment((*known.path, 2, place))
        return Slot(row, one.name, kept, default, comment, extra)

    def _single(self, known: Type, one, inner: str) -> tuple[str, str]:
        if one.type == _MESSAGE:
            groups = self.index.groups
            other = one.type_name.lstrip(".")
            if known.full in groups and groups[known.full] == groups.get(other):
                self.front.add("Boxed")
                return f"Boxed[{inner}]", "{}"
            return f"Optional[{inner}]", "None"
        is_plain = self.is_proto3 and not one.HasField("oneof_index")
        if not is_plain:
            return f"Optional[{inner}]", "None"
        if one.type == _ENUM:
            return inner, f"{inner}()"
        return inner, {"Bool": "False", "String": '""', "List[UInt8]": "{}"}.get(inner, "0")

    def _default(self, one, inner: str) -> list[str]:
        """Writes the default that proto2 gives a field, as a constant."""
        if not one.HasField("default_value"):
            return []
        given = one.default_value
        if one.type == 12:
            return []
        if one.type == _ENUM:
            text = f"{inner}.{self._value_name(one, given)}"
        elif one.type == 9:
            text = f"StaticString({_quoted(given)})"
        elif one.type == 8:
            text = given.capitalize()
        elif given in ("inf", "-inf", "nan"):
            text = {
                "inf": f"{inner}.MAX", "-inf": f"{inner}.MIN",
                "nan": f"{inner}.MAX - {inner}.MAX",
            }[given]
        else:
            text = f"{inner}({given})"
        name = f"DEFAULT_{one.name.upper()}"
        return [f"    comptime {name} = {text}"]

    def _value_name(self, one, given: str) -> str:
        values = self.index.types[one.type_name.lstrip(".")].descriptor.value
        known = [value.name for value in values]
        return names.members(known)[known.index(given)]

    def _value_type(self, one) -> tuple[str, str]:
        if one.type == _GROUP:
            raise CommandError(f"{self.file.name}: a group cannot stand in {one.name}")
        kind, inner = KINDS[one.type]
        if one.type in (_MESSAGE, _ENUM) and self._map_entry(one) is None:
            inner = self.reference(one.type_name.lstrip("."))
        return inner, kind

    def _map_entry(self, one):
        if one.type != _MESSAGE or one.label != _REPEATED:
            return None
        known = self.index.types[one.type_name.lstrip(".")]
        return known.descriptor if known.descriptor.options.map_entry else None

    def _is_packed(self, one) -> bool:
        if one.options.HasField("packed"):
            return one.options.packed
        return self.is_proto3


class Services(Module):
    """The traits of a file's services, beside the module of its messages."""

    # What this module has from elsewhere, and the parameter of its functions.
    OWN = frozenset(
        {"ArcPointer", "GrpcCall", "GrpcKind", "GrpcServices", "GrpcStatus",
         "GrpcStream", "S"}
    )  # fmt: skip
    # What a struct of this module has itself, beside its methods.
    TAKEN = frozenset[str]()

    def _place(self) -> list[str]:
        return names.service_module(self.file.name)

    def _own_names(self) -> set[str]:
        return {*self.OWN, *map(self._trait_name, self.file.service)}

    @staticmethod
    def _trait_name(service) -> str:
        name = names.type_name([service.name])
        return f"{name}_" if name in Services.OWN else name

    def reference(self, full: str) -> str:
        known = self.index.types[full]
        if known.file != self.file.name:
            return super().reference(full)
        return self._imported(known)

    def text(self) -> str:
        body: list[str] = []
        for place, service in enumerate(self.file.service):
            methods = self._methods(place, service)
            body += ["", "", *self._trait(place, service, methods)]
            body += ["", "", *self._adding(service, methods)]
        used = {"GrpcCall", "GrpcServices", "GrpcStatus"}
        if any(rpc.kind != "UNARY" for rpc in self._rpcs):
            used |= {"GrpcKind", "GrpcStream"}
        head = [
            f"# Made by `flare proto` of {self.file.name}; a change here is lost.",
            f'"""Services of {self.file.name}."""',
            "",
            *_import("flare.grpc", sorted(used)),
        ]
        if lines := self._import_lines()[1:]:
            head += lines
        head += ["from std.memory import ArcPointer", "", *self._described()]
        return "\n".join([*head, *body]) + "\n"

    def _described(self) -> list[str]:
        """Writes the file and what it imports as a constant."""
        return [
            f"# {self.file.name} and what it imports, for reflection: a",
            "# `FileDescriptorSet` in base64.",
            "comptime _FILES = StaticString(",
            *quoted_set(self.index.files, self.file.name),
            ")",
        ]

    def _trait(self, place: int, service, methods: "list[Rpc]") -> list[str]:
        lines = [f"trait {self._trait_name(service)}(Deinitable, Movable):"]
        if documented := docstring(4, self.comment((6, place))):
            lines += [*documented, ""]
        streams = [rpc for rpc in methods if rpc.kind != "UNARY"]
        for rpc in streams:
            lines.append(f"    comptime {rpc.machine}: GrpcStream")
            lines.append(
                f'    """The machine of a call of `{rpc.name}`: it takes'
                f' `{rpc.request}`,'
            )
            lines.append(f'    and replies with `{rpc.reply}`."""')
        if streams:
            lines.append("")
        for rpc in methods:
            taken = [] if rpc.kind != "UNARY" else [f"request: {rpc.request}"]
            given = rpc.reply if rpc.kind == "UNARY" else f"Self.{rpc.machine}"
            lines += call(
                4, f"def {rpc.name}(", ["self", *taken, "mut call: GrpcCall"],
                f") raises GrpcStatus -> {given}:",
            )
            lines += docstring(8, self.comment(rpc.path))
            lines += ["        ...", ""]
        if not methods:
            return [*lines, "    pass"]
        return lines[:-1]

    def _adding(self, service, methods: "list[Rpc]") -> list[str]:
        name = self._trait_name(service)
        full = self._full(service)
        given = [one.name for one in self.file.service]
        snakes = names.apart(given, [names.snake(one) for one in given])
        function = f"def add_{snakes[given.index(service.name)]}["
        taken = "](mut services: GrpcServices, var service: S) raises:"
        lines = [f"{function}S: {name}{taken}"]
        if len(lines[0]) > WIDTH:
            lines = [function, f"    S: {name}", taken]
        lines += [
            f'    """Adds the methods of {full}."""',
            "    var shared = ArcPointer(service^)",
            *call(4, "services.describe(", [f'"{full}"', "_FILES"], ")"),
        ]
        for rpc in methods:
            path = f'"/{full}/{rpc.descriptor.name}"'
            if rpc.kind == "UNARY":
                given = [path, "shared", *(["is_safe=True"] if rpc.is_safe else [])]
                lines += call(4, f"services.unary_method[S.{rpc.name}](", given, ")")
                continue
            types = [f"S.{rpc.name}", rpc.request, rpc.reply]
            lines += call(
                4, f"services.stream_method[{', '.join(types)}](",
                [f"GrpcKind.{rpc.kind}", path, "shared"], ")",
            )
        if not methods:
            lines.append("    _ = shared^")
        return lines

    @property
    def _rpcs(self) -> "list[Rpc]":
        return [
            rpc
            for place, service in enumerate(self.file.service)
            for rpc in self._methods(place, service)
        ]

    def _methods(self, place: int, service) -> "list[Rpc]":
        given = [method.name for method in service.method]
        made = [names.member(names.snake(name)) for name in given]
        made = [f"{name}_" if name in self.TAKEN else name for name in made]
        made = names.apart(given, made)
        return [
            Rpc(self, made, (6, place, 2, at), method)
            for at, method in enumerate(service.method)
        ]

    def _full(self, service) -> str:
        """Gives the name of a service with that of its package."""
        return ".".join(filter(None, [self.file.package, service.name]))


class Clients(Services):
    """Structs that call a file's services, in a module of their own: who answers
    calls need not compile what makes them."""

    OWN = frozenset(
        {"ChannelStream", "GrpcCallOptions", "GrpcChannel", "GrpcReply", "GrpcStatus"}
    )
    TAKEN = frozenset({"channel"})
    # The method of a channel, and what it is told of types and arguments.
    CALLS = {
        "UNARY": ("unary", "{reply}", True, "GrpcReply[{reply}]"),
        "SERVER_STREAM": ("server_stream", "{reply}", True, None),
        "CLIENT_STREAM": ("client_stream", "{request}, {reply}", False, None),
        "BIDI_STREAM": ("stream", "{request}, {reply}", False, None),
    }

    def _place(self) -> list[str]:
        return names.client_module(self.file.name)

    def _own_names(self) -> set[str]:
        return {*self.OWN, *map(self._client_name, self.file.service)}

    def _client_name(self, service) -> str:
        return f"{self._trait_name(service)}Client"

    def text(self) -> str:
        body: list[str] = []
        for place, service in enumerate(self.file.service):
            methods = self._methods(place, service)
            body += ["", "", *self._client(place, service, methods)]
        kinds = {rpc.kind for rpc in self._rpcs}
        used = {"GrpcCallOptions", "GrpcChannel"} if kinds else {"GrpcChannel"}
        if "UNARY" in kinds:
            used.add("GrpcReply")
        if kinds - {"UNARY"}:
            used.add("ChannelStream")
        head = [
            f"# Made by `flare proto` of {self.file.name}; a change here is lost.",
            f'"""Callers of the services of {self.file.name}."""',
            "",
        ]
        if "UNARY" in kinds:
            head += _import("flare.grpc", ["GrpcStatus"])
        head += _import("flare.grpc.client", sorted(used))
        head += self._import_lines()[1:]
        return "\n".join([*head, *body]) + "\n"

    def _client(self, place: int, service, methods: "list[Rpc]") -> list[str]:
        full = self._full(service)
        lines = [
            "@fieldwise_init",
            f"struct {self._client_name(service)}(ImplicitlyCopyable):",
            *(
                docstring(4, self.comment((6, place)))
                or [f'    """Calls {full}."""']
            ),
            "",
            "    var channel: GrpcChannel",
        ]
        for rpc in methods:
            method, types, sends_one, given = self.CALLS[rpc.kind]
            given = given or "ChannelStream[{request}, {reply}]"
            known = {"request": rpc.request, "reply": rpc.reply}
            asked = [f"request: {rpc.request}"] if sends_one else []
            fails = " raises GrpcStatus" if rpc.kind == "UNARY" else ""
            lines += ["", *call(
                4, f"def {rpc.name}(",
                ["self", *asked, "options: GrpcCallOptions = GrpcCallOptions()"],
                f"){fails} -> {given.format(**known)}:",
            )]
            lines += docstring(8, self.comment(rpc.path))
            path = f'"/{full}/{rpc.descriptor.name}"'
            told = [path, *(["request"] if sends_one else []), "options"]
            if rpc.is_safe and rpc.kind == "UNARY":
                told.append("is_safe=True")
            lines += call(
                8, f"return self.channel.{method}[{types.format(**known)}](",
                told, ")",
            )
        return lines


class Rpc:
    """A method of a service."""

    KINDS = ["UNARY", "SERVER_STREAM", "CLIENT_STREAM", "BIDI_STREAM"]

    def __init__(self, module: Services, made: list[str], path, descriptor) -> None:
        self.descriptor = descriptor
        self.path = path
        self.kind = self.KINDS[
            2 * descriptor.client_streaming + descriptor.server_streaming
        ]
        self.is_safe = descriptor.options.idempotency_level == _NO_SIDE_EFFECTS
        self.name = made[path[-1]]
        self.machine = names.member(descriptor.name)
        while self.machine in made:
            self.machine += "_"
        self.request = module.reference(descriptor.input_type.lstrip("."))
        self.reply = module.reference(descriptor.output_type.lstrip("."))


def _table(head: str, rows: list[str], words: list[list[str]] | None = None) -> list[str]:
    """Writes a table, one row a line; a row that does not fit is broken up."""
    if not rows:
        return [f"    comptime {head} = []"]
    lines = [f"    comptime {head} = ["]
    for at, row in enumerate(rows):
        if len(row) + 9 <= WIDTH or words is None:
            lines.append(f"        {row},")
        else:
            lines += call(8, "FieldRow(", words[at], "),")
    return [*lines, "    ]"]


def _import(front: str, used: list[str]) -> list[str]:
    line = f"from {front} import {', '.join(used)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {front} import (", *(f"    {name}," for name in used), ")"]


def _quoted(text: str) -> str:
    """Writes a text in the quotes that need fewer escapes, as the formatter does."""
    inner = text.replace("\\", "\\\\")
    inner = inner.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    # What is left of controls would end the line, or the text, of a source.
    inner = "".join(
        f"\\x{ord(one):02x}" if one < " " or one == "\x7f" else one for one in inner
    )
    if '"' in inner and "'" not in inner:
        return f"'{inner}'"
    escaped = inner.replace('"', '\\"')
    return f'"{escaped}"'


def generate(files, wanted: list[str]) -> dict[str, str]:
    """Makes the modules of the files that are wanted, and those that they import;
    paths lead from the output folder, in each of which is an `__init__.mojo`."""
    index = Index(files)
    made: dict[str, str] = {}
    modules: dict[str, str] = {}
    wanted = list(dict.fromkeys(wanted))
    # It grows by what is imported.
    for name in wanted:
        file = index.files[name]
        module = ".".join(names.module(name))
        if modules.setdefault(module, name) != name:
            raise CommandError(
                f"{modules[module]} and {name} would both be the module {module}",
                "rename one, or give each a folder of its own with --out",
            )
        if file.syntax not in ("", "proto2", "proto3"):
            raise CommandError(
                f"{name}: files of an edition are not read yet",
                'begin the file with syntax = "proto3";',
            )
        for kind in (Module, Services, Clients) if file.service else (Module,):
            text_of = kind(index, file)
            *folders, last = text_of.here
            for depth in range(len(folders) + 1):
                made.setdefault("/".join([*folders[:depth], "__init__.mojo"]), "")
            made["/".join([*folders, f"{last}.mojo"])] = text_of.text()
            wanted += dict.fromkeys(one for one in text_of.needed if one not in wanted)
    return made
