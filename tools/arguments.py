"""What the tools take as arguments, refused before anything is done."""

import argparse
from pathlib import Path


def natural(text: str) -> int:
    """Reads a whole number, 0 included."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """Reads a whole number above 0."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number above 0")
    return int(text)


def above_zero(text: str) -> float:
    """Reads a number above 0, such as 0.5."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return number


def mojo_source(text: str) -> Path:
    """Reads the name of a Mojo file that is there; gives its full path."""
    path = Path(text)
    if path.suffix != ".mojo":
        raise argparse.ArgumentTypeError(
            f"{text} is no Mojo source: the name of one ends in .mojo"
        )
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path.resolve()
