"""A model that was made up: rows of two numbers in, one number for each out."""

comptime MODEL = StaticString("linear")
"""What callers name it."""
comptime VERSION = StaticString("1")
"""The only one there is."""
comptime COLUMN_COUNT = 2
"""How many numbers a row has."""


struct Linear(Movable):
    """2 a + 3 b + 1, where a trained model would have its weights."""

    var weights: List[Float32]
    var bias: Float32

    def __init__(out self):
        self.weights = [2, 3]
        self.bias = 1

    def predict(self, rows: List[Float32]) -> List[Float32]:
        """Computes the outputs of rows that stand one behind the other.

        Args:
            rows: A multiple of `COLUMN_COUNT` numbers.

        Returns:
            One number for each row.
        """
        var outputs = List[Float32](capacity=len(rows) // COLUMN_COUNT)
        for start in range(0, len(rows), COLUMN_COUNT):
            var sum = self.bias
            for column in range(COLUMN_COUNT):
                sum += self.weights[column] * rows[start + column]
            outputs.append(sum)
        return outputs^
