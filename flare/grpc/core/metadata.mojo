"""Metadata: what a caller and a server say beside messages."""

from flare.bytes.ascii import (
    equals_ignore_case,
    is_lower,
    lower_text,
    trim_whitespace,
)
from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.grpc.core.binary import decode_binary, encode_binary
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from std.builtin.globals import global_constant
from std.memory import OwnedPointer

comptime _BINARY_SUFFIX = StaticString("-bin")
# Of gRPC and of Connect, where the last one stands before trailing metadata.
comptime _RESERVED_PREFIXES: Array[StaticString, 3] = [
    "grpc-",
    "connect-",
    "trailer-",
]


@fieldwise_init
struct MetadataError(Copyable, Movable, Writable):
    """A name or a value that metadata cannot have."""

    var name: String
    """The name, as it was given."""
    var reason: StaticString
    """What is wrong, and what is allowed."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes name and reason."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        return (
            Text()
            .add("metadata '")
            .add_escaped(self.name.as_bytes())
            .add("': ")
            .add(self.reason)
            .end()
        )


struct Metadata(Copyable, Defaultable, Movable, Sized):
    """Names with values, in order; a name may be there several times.

    Names are lower-case. The value of a name that ends with `-bin` is octets,
    any other visible ASCII and spaces.
    """

    # In a box, since most calls have none of the three that each may have.
    var _fields: Optional[OwnedPointer[HeaderMap]]

    @always_inline
    def __init__(out self):
        """Makes an empty one; allocates nothing."""
        self._fields = None

    def __init__(out self, *, copy: Self):
        """Copies all entries.

        Args:
            copy: Where from.
        """
        self._fields = None
        if copy._fields:
            self._fields = OwnedPointer(copy._fields.held()[].copy())

    def _own(mut self) -> ref[self._fields.held()[]] HeaderMap:
        """Lends the fields, made if there are none."""
        if not self._fields:
            self._fields = OwnedPointer(HeaderMap())
        return self._fields.held()[]

    @always_inline
    def __len__(self) -> Int:
        """Counts the entries; a name that is there twice counts twice."""
        return len(self._fields.held()[]) if self._fields else 0

    def add(mut self, name: StringSpan, value: StringSpan) raises MetadataError:
        """Adds an entry with a text.

        Args:
            name: Lower-case letters, digits, `_`, `-` and `.`; neither what
                begins with `grpc-`, `connect-` or `trailer-`, nor what HTTP
                needs itself, nor what ends with `-bin`.
            value: Visible ASCII and spaces, none of these at either end.

        Raises:
            MetadataError: If name or value is not so, or all together are
                longer than 64 KiB.
        """
        check_metadata_name(name)
        if is_binary_name(name.as_bytes()):
            raise MetadataError(
                String(name), "its value is octets: use add_binary"
            )
        if not _is_text(value.as_bytes()):
            raise MetadataError(
                String(name),
                "the value must be visible ASCII with spaces between; other"
                " octets need a name that ends with -bin",
            )
        self._append(name, value)

    def add_binary(
        mut self, name: StringSpan, value: Span[UInt8, _]
    ) raises MetadataError:
        """Adds an entry with octets.

        Args:
            name: As for `add`, but one that ends with `-bin`.
            value: The octets, which need not be text.

        Raises:
            MetadataError: If the name is not so, or all together are longer
                than 64 KiB.
        """
        check_metadata_name(name)
        if not is_binary_name(name.as_bytes()):
            raise MetadataError(
                String(name), "the name of octets must end with -bin"
            )
        self._append(name, encode_binary(value))

    def _append(
        mut self, name: StringSpan, value: StringSpan
    ) raises MetadataError:
        try:
            self._own().unsafe_append_judged(name, value)
        except:
            raise MetadataError(
                String(name), "all metadata together is longer than 64 KiB"
            )

    def __contains__(self, name: StringSpan) -> Bool:
        """Tells whether there is an entry.

        Args:
            name: Its name, in any case.
        """
        return Bool(self._fields) and name in self._fields.held()[]

    def get(
        self, name: StringSpan
    ) -> Optional[StringSpan[ImmOrigin(origin_of(self))]]:
        """Finds the first text; nothing if there is none. Of octets that is
        their base64: `get_binary` decodes it."""
        if not self._fields:
            return None
        var index = self._fields.held()[].find(name)
        if index < 0:
            return None
        return self.value(index)

    def get_binary(self, name: StringSpan) -> Optional[List[UInt8]]:
        """Finds the first octets; nothing if there are none, or they are no
        base64.

        Args:
            name: Its name, in any case; one that ends with `-bin`.
        """
        var text = self.get(name)
        if not text:
            return None
        return decode_binary(text.held().as_bytes())

    def name(self, index: Int) -> StringSpan[ImmOrigin(origin_of(self))]:
        """Lends the name of an entry, in lower case.

        Args:
            index: Which, from 0.
        """
        # SAFETY: the fields are this value's own, which is the origin.
        return rebind[StringSpan[ImmOrigin(origin_of(self))]](
            self._fields.held()[].name(index)
        )

    def value(self, index: Int) -> StringSpan[ImmOrigin(origin_of(self))]:
        """Lends the text of an entry; of octets their base64."""
        # SAFETY: as for `name`.
        return rebind[StringSpan[ImmOrigin(origin_of(self))]](
            self._fields.held()[].value(index)
        )

    def take_fields(mut self, fields: Fields):
        """Adds what a peer has sent as metadata among the fields of a message.

        What belongs to gRPC or HTTP is left out. Values of a `-bin` name that
        were joined with commas become entries of their own.

        Args:
            fields: The fields of a head, or trailers.
        """
        for index in range(len(fields)):
            self._take_field(fields, index, 0)

    def take_prefixed(mut self, fields: Fields, prefix: StaticString):
        """Adds what a peer has sent among the fields of a message with a prefix
        before each name, as Connect does with trailing metadata.

        Args:
            prefix: What stands before the names, in lower case; fields without
                it are left.
        """
        var start = prefix.as_bytes()
        for index in range(len(fields)):
            var name = fields.name(index).as_bytes()
            if len(name) > len(start) and equals_ignore_case(
                name.before(len(start)), start
            ):
                self._take_field(fields, index, len(start))

    def _take_field(mut self, fields: Fields, index: Int, name_offset: Int):
        var name = fields.name(index).as_bytes().after(name_offset)
        if not is_metadata_name(name):
            return
        var text = StringSpan(unsafe_from_utf8=name)
        if is_binary_name(name):
            self._take_list(text, fields.value_bytes(index))
        else:
            self._take(text, fields.value(index))

    def _take_list(mut self, name: StringSpan, list: Span[UInt8, _]):
        var start = 0
        for index in range(len(list) + 1):
            if index < len(list) and list.at(index) != 44:
                continue
            var value = trim_whitespace(list.between(start, index).as_imm())
            self._take(name, StringSpan(unsafe_from_utf8=value))
            start = index + 1

    def _take(mut self, name: StringSpan, value: StringSpan):
        try:
            # A parser has let it through.
            if is_lower(name.as_bytes()):
                self._own().unsafe_append_judged(name, value)
            else:
                self._own().unsafe_append_judged(
                    lower_text(name.as_bytes()), value
                )
        except:
            # A head that was read is no longer than a header map may be; with
            # lists that were taken apart it is, by what nobody sends.
            return

    def append_to(self, mut fields: HeaderMap) raises HeaderError:
        """Adds the entries to the fields of a message.

        Args:
            fields: The head or the trailers to send.

        Raises:
            HeaderError: If all together are longer than 64 KiB.
        """
        for index in range(len(self)):
            fields.unsafe_append_judged(self.name(index), self.value(index))


def is_binary_name(name: Span[UInt8, _]) -> Bool:
    """Tells whether values of a name are octets: it ends with `-bin`.

    Args:
        name: A name of metadata.
    """
    var suffix = _BINARY_SUFFIX.as_bytes()
    return len(name) >= len(suffix) and equals_ignore_case(
        name.after(len(name) - len(suffix)), suffix
    )


def is_metadata_name(name: Span[UInt8, _]) -> Bool:
    """Tells whether a field of a message is metadata: not what gRPC and Connect
    reserve and what HTTP needs itself.

    Args:
        name: A field's name, in any case.
    """
    ref prefixes = global_constant[_RESERVED_PREFIXES]()
    for index in range(len(prefixes)):
        var prefix = prefixes.at(index).as_bytes()
        if len(name) >= len(prefix) and equals_ignore_case(
            name.before(len(prefix)), prefix
        ):
            return False
    return not _is_of_http(name)


def _is_of_http(name: Span[UInt8, _]) -> Bool:
    """Tells whether HTTP, gRPC or Connect itself needs a field. A name is compared with those
    alone that are as long."""
    match len(name):
        case 2:
            return _is(name, "te")
        case 4:
            return _is(name, "date") or _is(name, "host")
        case 7:
            return _is(name, "trailer") or _is(name, "upgrade")
        case 10:
            return _is(name, "connection") or _is(name, "keep-alive")
        case 12:
            return _is(name, "content-type")
        case 14:
            return _is(name, "content-length")
        case 15:
            return _is(name, "accept-encoding")
        case 16:
            return _is(name, "proxy-connection") or _is(
                name, "content-encoding"
            )
        case 17:
            return _is(name, "transfer-encoding")
        case _:
            return False


def _is(name: Span[UInt8, _], known: StaticString) -> Bool:
    return equals_ignore_case(name, known.as_bytes())


def check_metadata_name(name: StringSpan) raises MetadataError:
    """Checks a name that a program gives. Raises if it is empty, has other
    octets than lower-case letters, digits, `_`, `-` and `.`, or is reserved.

    Source: PROTOCOL-HTTP2.md of gRPC, "Header-Name".
    """
    var octets = name.as_bytes()
    if len(octets) == 0:
        raise MetadataError(String(), "the name is empty")
    for octet in octets:
        var is_allowed = (
            (octet >= 97 and octet <= 122)
            or (octet >= 48 and octet <= 57)
            or octet == 95
            or octet == 45
            or octet == 46
        )
        if not is_allowed:
            raise MetadataError(
                String(name),
                "a name has lower-case letters, digits, '_', '-' and '.' only",
            )
    if not is_metadata_name(octets):
        raise MetadataError(
            String(name),
            "this name belongs to gRPC, to Connect or to HTTP itself",
        )


def _is_text(value: Span[UInt8, _]) -> Bool:
    for octet in value:
        if octet < 32 or octet > 126:
            return False
    if len(value) == 0:
        return True
    return value.at(0) != 32 and value.at(len(value) - 1) != 32
