"""The children of all nodes of a route tree, in one hash table.

Looking up a segment takes the same time for ten routes and for ten thousand.
"""

from std.memory import unsafe_memcmp


struct _Child(Copyable, Movable):
    var parent: Int
    var text: String
    var node: Int

    def __init__(out self, parent: Int, var text: String, node: Int):
        self.parent = parent
        self.text = text^
        self.node = node


struct SegmentTable(Movable):
    """Finds the node that a segment leads to from another node."""

    var _children: List[_Child]
    # Indices into `_children`, -1 where there is none; a power of two of them.
    var _places: List[Int]

    def __init__(out self):
        """Makes an empty table."""
        self._children = []
        self._places = List[Int](length=16, fill=-1)

    def add(mut self, parent: Int, var text: String, node: Int):
        """Adds a child; there must be none for this segment yet.

        Args:
            parent: The node it hangs on.
            text: The segment, decoded.
            node: The node it leads to.
        """
        self._children.append(_Child(parent, text^, node))
        if len(self._children) * 2 > len(self._places):
            var count = len(self._places) * 2
            self._places = List[Int](length=count, fill=-1)
            for index in range(len(self._children)):
                self._place(index)
        else:
            self._place(len(self._children) - 1)

    def _place(mut self, index: Int):
        ref child = self._children[index]
        var mask = len(self._places) - 1
        var place = _hash(child.parent, child.text.as_bytes()) & mask
        while self._places[place] >= 0:
            place = (place + 1) & mask
        self._places[place] = index

    def find(self, parent: Int, segment: Span[UInt8, _]) -> Int:
        """Finds a child.

        Args:
            parent: The node it hangs on.
            segment: The segment, decoded.

        Returns:
            The node it leads to, or -1.
        """
        var mask = len(self._places) - 1
        var place = _hash(parent, segment) & mask
        while True:
            var index = self._places[place]
            if index < 0:
                return -1
            ref child = self._children[index]
            if child.parent == parent and _equals(
                child.text.as_bytes(), segment
            ):
                return child.node
            place = (place + 1) & mask


def _hash(parent: Int, segment: Span[UInt8, _]) -> Int:
    """Mixes a segment; only registered text is in the table, so nobody can
    choose what collides."""
    var hash = UInt64(parent) * 0x9E3779B97F4A7C15 + UInt64(len(segment))
    for octet in segment:
        hash = (hash ^ UInt64(octet)) * 0x100000001B3
    return Int((hash ^ (hash >> 29)) & 0x7FFFFFFF)


def _equals(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    # SAFETY: both spans have the length that is compared.
    if len(left) != len(right):
        return False
    return unsafe_memcmp(left.unsafe_ptr(), right.unsafe_ptr(), len(left)) == 0
