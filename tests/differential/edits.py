"""Small changes of a generated input: what is put in, left out, put over, cut."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", str, bytes)

INSERT, DELETE, REPLACE, CUT = range(4)


def edited(data: T, place: int, kind: int, mark: Callable[[], T]) -> T:
    """Makes one change at a place; `mark` is asked only for what is put there."""
    if kind == INSERT:
        return data[:place] + mark() + data[place:]
    if kind == DELETE:
        return data[:place] + data[place + 1 :]
    if kind == REPLACE:
        return data[:place] + mark() + data[place + 1 :]
    return data[:place]
