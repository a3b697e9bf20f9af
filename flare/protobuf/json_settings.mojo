"""How messages are read from JSON and written as such."""

from flare.bytes.checked import *
from flare.protobuf.message import Message, MessageTable, table_of


struct TypeRegistry(Copyable, Defaultable):
    """The types that an `Any` in JSON may hold."""

    # Functions, since a table says how long it is only where it is asked for.
    var _tables: List[def() thin -> MessageTable]

    def __init__(out self):
        """Makes a registry without types."""
        self._tables = {}

    def add[M: Message](mut self):
        """Adds a type.

        Parameters:
            M: The message's type.
        """
        self._tables.append(table_of[M])

    def find(self, url: StringSpan) -> Optional[MessageTable]:
        """Finds the table of a type; nothing if it was not added.

        Args:
            url: What an `Any` has: anything, a slash, and the full name.
        """
        var slash = url.rfind("/")
        if slash < 0:
            return None
        for index in range(len(self._tables)):
            var table = self._tables.at(index)()
            var name_len = table.name.byte_length()
            if url.byte_length() == slash + 1 + name_len and url.endswith(
                table.name
            ):
                return table
        return None


@fieldwise_init
struct ProtobufJson(Copyable, Defaultable):
    """What may be chosen about JSON."""

    var ignores_unknown: Bool
    """Whether members without a field, and names that an enumeration has not,
    are left out when a text is read; else they are an error."""
    var keeps_names: Bool
    """Whether names are written as the `.proto` has them; both forms are read.
    """
    var writes_defaults: Bool
    """Whether plain fields, lists and maps are written that need not be."""
    var types: TypeRegistry
    """What an `Any` may hold."""

    def __init__(out self):
        """Makes the usual choice: strict, with names of JSON, short, and no
        type in an `Any`.
        """
        self.ignores_unknown = False
        self.keeps_names = False
        self.writes_defaults = False
        self.types = TypeRegistry()
