"""Numbers that a program chooses, and what it is told of those that cannot be."""

from flare.bytes.text import Text


@no_inline
def range_problem(
    name: StaticString, value: Int, least: Int, most: Int
) -> String:
    """Says what is wrong with a value, and what is allowed; empty if it is within
    both bounds."""
    if value >= least and value <= most:
        return String()
    return (
        Text()
        .add(StringSpan(name))
        .add(" is ")
        .add(value)
        .add("; allowed are ")
        .add(least)
        .add(" to ")
        .add(most)
        .end()
    )
