"""The storage of a parsed text: flat nodes over one buffer of octets.

The children of an array or object lie side by side, so an element is found by
its index at once, and a whole document is two allocations. A parent lies
behind its children; the root is the last node.
"""

from flare.bytes.buffer import Buffer
from flare.json.kind import JsonKind


struct JsonNode(TrivialRegisterPassable):
    """One value, or one name of an object's member, in 16 bytes."""

    var header: UInt64
    """The kind in the low 8 bits, the count above."""
    var payload: UInt64
    """By kind: the boolean, the number's bits, a string's offset in the
    buffer, the index of an array's or object's first child."""

    @always_inline
    def __init__(out self, kind: JsonKind, count: Int, payload: UInt64):
        """Makes a node.

        Args:
            kind: The value's kind.
            count: A string's length in bytes, an array's elements, an object's
                members; else 0.
            payload: See the field.
        """
        self.header = UInt64(count) << 8 | UInt64(kind.code)
        self.payload = payload

    @always_inline
    def kind(self) -> JsonKind:
        """Reads the kind.

        Returns:
            It.
        """
        return JsonKind(UInt8(self.header & 0xFF))

    @always_inline
    def count(self) -> Int:
        """Reads the count.

        Returns:
            A string's length in bytes, an array's elements, an object's
            members; else 0.
        """
        return Int(self.header >> 8)


struct JsonDocument(Movable):
    """A parsed text."""

    var octets: Buffer
    """The text, with its strings unescaped in place."""
    var nodes: List[JsonNode]
    """All values; the last is the root. Never empty."""

    def __init__(out self, var octets: Buffer, var nodes: List[JsonNode]):
        """Takes what a parser made.

        Args:
            octets: The text with strings unescaped.
            nodes: At least one node; children before their parents.
        """
        self.octets = octets^
        self.nodes = nodes^

    @always_inline
    def root(self) -> Int:
        """Finds the outermost value.

        Returns:
            Its index in `nodes`.
        """
        return len(self.nodes) - 1

    def path(self, index: Int) -> String:
        """Tells how to reach a value from the root.

        Args:
            index: The value's node.

        Returns:
            Such as `$["a"][0]`.
        """
        var steps = String()
        var target = index
        # A parent lies behind its children, so one pass finds all ancestors.
        for parent in range(index + 1, len(self.nodes)):
            var node = self.nodes[parent]
            var offset = target - Int(node.payload)
            var count = node.count()
            var is_object = node.kind() == JsonKind.OBJECT
            if not is_object and node.kind() != JsonKind.ARRAY:
                continue
            if offset < 0 or offset >= (2 * count if is_object else count):
                continue
            if is_object:
                steps = String('["', self._name(target - 1), '"]', steps)
            else:
                steps = String("[", offset, "]", steps)
            target = parent
        return "$" + steps

    def _name(self, index: Int) -> String:
        # Control characters and quotes would make the message ambiguous.
        comptime NAME_LEN_MAX = 64
        var node = self.nodes[index]
        var start = Int(node.payload)
        var octets = self.octets.span()[start : start + node.count()]
        var name = String()
        for octet in octets[: min(len(octets), NAME_LEN_MAX)]:
            if octet >= 32 and octet < 127 and octet != 34:
                name += chr(Int(octet))
            else:
                name += "?"
        return name^
