"""Inputs in a folder, one a file: seeds, and what a guided run has found."""

from fuzz.input_file import read_input
from std.os import listdir, makedirs
from std.os.path import exists


def load_inputs(folder: String) raises -> List[List[UInt8]]:
    """Reads all inputs of a folder, in the order of their names: a run with the same
    seed and the same files is the same run.

    Args:
        folder: Where; need not exist.

    Returns:
        The inputs.

    Raises:
        Error: If a file cannot be read.
    """
    var inputs = List[List[UInt8]]()
    if folder == "" or not exists(folder):
        return inputs^
    var names = listdir(folder)
    sort(names)
    for name in names:
        inputs.append(read_input(String(folder, "/", name)))
    return inputs^


def keep_input(folder: String, octets: Span[UInt8, _]) raises:
    """Writes an input to a folder, once.

    Args:
        folder: Where; made if it is not there.
        octets: The input.

    Raises:
        Error: If it cannot be written.
    """
    makedirs(folder, exist_ok=True)
    with open(String(folder, "/", _name_of(octets)), "w") as file:
        file.write_bytes(octets)


def _name_of(octets: Span[UInt8, _]) -> String:
    """Names an input by what is in it (FNV-1a)."""
    var digest = UInt64(0xCBF29CE484222325)
    for octet in octets:
        digest = (digest ^ UInt64(octet)) * 0x100000001B3
    return hex(digest, prefix="")
