"""Seeded mutation of inputs: the same seed gives the same inputs."""

comptime INPUT_LEN_MAX = 8192
"""Longest input that a mutation makes, in bytes.

Long enough for several messages or a deep nesting, short enough for speed.
"""

comptime _MUTATION_KINDS = 9
comptime _ROUNDS_MAX = 5
comptime _BLOCK_LEN_MAX = 64
comptime _REPEAT_MAX = 40


struct Rng(Copyable, Movable):
    """A xorshift generator: fast, seeded, and good enough to pick mutations."""

    var _state: UInt64

    def __init__(out self, seed: UInt64):
        """Starts a sequence.

        Args:
            seed: Which sequence.
        """
        self._state = (seed + 1) * 0x9E3779B97F4A7C15 | 1

    def next(mut self) -> UInt64:
        """Steps the sequence.

        Returns:
            64 bits.
        """
        self._state ^= self._state << 13
        self._state ^= self._state >> 7
        self._state ^= self._state << 17
        return self._state

    def below(mut self, count: Int) -> Int:
        """Picks a number.

        Args:
            count: At least 1.

        Returns:
            A number from 0 to `count - 1`.
        """
        return Int((self.next() >> 11) % UInt64(count))


struct Mutator(Movable):
    """Makes inputs out of a corpus and a dictionary."""

    var rng: Rng
    """Where the choices come from."""
    var corpus: List[List[UInt8]]
    """Inputs to start from; never empty."""
    var tokens: List[String]
    """Texts worth placing into an input; may be empty."""

    def __init__(
        out self,
        seed: UInt64,
        var corpus: List[List[UInt8]],
        var tokens: List[String],
    ):
        """Takes what inputs are made of.

        Args:
            seed: Fixes every choice.
            corpus: Inputs to start from.
            tokens: Dictionary texts.
        """
        self.rng = Rng(seed)
        self.corpus = corpus^
        self.tokens = tokens^
        if len(self.corpus) == 0:
            self.corpus.append(List[UInt8]())

    def next_input(mut self, mut octets: List[UInt8]):
        """Makes the next input.

        Args:
            octets: Replaced by the input; at most `INPUT_LEN_MAX` bytes.
        """
        octets.clear()
        octets.extend(Span(self.corpus[self.rng.below(len(self.corpus))]))
        for _ in range(1 + self.rng.below(_ROUNDS_MAX)):
            self._mutate(octets)
        if len(octets) > INPUT_LEN_MAX:
            octets.shrink(INPUT_LEN_MAX)

    def _mutate(mut self, mut octets: List[UInt8]):
        var kind = self.rng.below(_MUTATION_KINDS)
        if len(octets) == 0 or kind == 0:
            octets.insert(
                self.rng.below(len(octets) + 1), UInt8(self.rng.below(256))
            )
        elif kind == 1:
            octets[self.rng.below(len(octets))] ^= UInt8(1) << UInt8(
                self.rng.below(8)
            )
        elif kind == 2:
            octets[self.rng.below(len(octets))] = self._interesting()
        elif kind == 3:
            self._delete_block(octets)
        elif kind == 4:
            self._duplicate_block(octets)
        elif kind == 5:
            octets.shrink(self.rng.below(len(octets) + 1))
        elif kind == 6:
            self._splice(octets)
        else:
            self._place_token(octets)

    def _interesting(mut self) -> UInt8:
        comptime VALUES = StaticString('\0\t\n\r "%+,-/019:;=?@A[\\]z{}~\x7f')
        var values = VALUES.as_bytes()
        var choice = self.rng.below(len(values) + 4)
        if choice < len(values):
            return values[choice]
        return UInt8(128 + self.rng.below(128))

    def _block(mut self, length: Int) -> Tuple[Int, Int]:
        var start = self.rng.below(length)
        var count = 1 + self.rng.below(min(_BLOCK_LEN_MAX, length - start))
        return (start, count)

    def _delete_block(mut self, mut octets: List[UInt8]):
        var block = self._block(len(octets))
        var tail = List[UInt8](Span(octets)[block[0] + block[1] :])
        octets.shrink(block[0])
        octets.extend(Span(tail))

    def _duplicate_block(mut self, mut octets: List[UInt8]):
        var block = self._block(len(octets))
        var copied = List[UInt8](Span(octets)[block[0] : block[0] + block[1]])
        var repeats = 1
        if self.rng.below(4) == 0:
            repeats = 1 + self.rng.below(_REPEAT_MAX)
        for _ in range(repeats):
            self._insert(octets, block[0], Span(copied))

    def _splice(mut self, mut octets: List[UInt8]):
        var other = self.rng.below(len(self.corpus))
        octets.shrink(self.rng.below(len(octets) + 1))
        var length = len(self.corpus[other])
        if length > 0:
            var start = self.rng.below(length)
            octets.extend(Span(self.corpus[other])[start:])

    def _place_token(mut self, mut octets: List[UInt8]):
        if len(self.tokens) == 0:
            octets[self.rng.below(len(octets))] = self._interesting()
            return
        var token = List[UInt8](
            self.tokens[self.rng.below(len(self.tokens))].as_bytes()
        )
        var start = self.rng.below(len(octets) + 1)
        if self.rng.below(2) == 0:
            self._insert(octets, start, Span(token))
            return
        for index in range(min(len(token), len(octets) - start)):
            octets[start + index] = token[index]

    def _insert(
        mut self, mut octets: List[UInt8], start: Int, piece: Span[UInt8, _]
    ):
        if len(octets) + len(piece) > INPUT_LEN_MAX:
            return
        var tail = List[UInt8](Span(octets)[start:])
        octets.shrink(start)
        octets.extend(piece)
        octets.extend(Span(tail))
