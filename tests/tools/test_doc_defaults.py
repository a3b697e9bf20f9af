"""What docstrings of configurations say of defaults, beside what initializers do."""

import doc_defaults
import pytest


def config(said: str, made: str = "", given: str = "", name: str = "max_size") -> str:
    """A configuration with one field, made by its initializer or given to it."""
    argument = f"        {name}: Int = {given},\n" if given else ""
    return (
        "comptime ROOM = 64 * 1024\n\n\n"
        "struct NetConfig(Movable):\n"
        f'    var {name}: Int\n    """{said}"""\n\n'
        f"    def __init__(\n        out self,\n{argument}    ):\n"
        f'        """Makes it."""\n        self.{name} = {made or name}\n'
    )


ACCEPTED = {
    "a number": config("How many. Default 1,024.", "1_024"),
    "a number less than nothing": config("How many. Default -1.", "-1"),
    "of an argument": config("How many. Default 8.", given="8"),
    "octets": config("How long. Default 64 MiB.", "64 << 20"),
    "a constant": config("How long. Default 64 KiB.", "ROOM"),
    "a constant by its name": config("How long. Default `ROOM`.", "ROOM"),
    "milliseconds": config("Time. Default 5 s.", "5_000", name="wait_ms"),
    "minutes": config("Time. Default 10 min.", "600_000", name="wait_ms"),
    "a day in seconds": config("Time. Default a day.", "86_400", name="keep_s"),
    "a truth": config("Whether. Default False.", "False"),
    "over two lines": config("How long. Default\n    64 MiB.", "64 << 20"),
    "what is no number": config("Who.", "[]"),
    "in words": config("How many; one for each CPU by default.", "-1"),
}

REFUSED = {
    "another number": (
        config("How many. Default 1,024.", "1_000"),
        "NetConfig.max_size says that 1024 is its default; it is 1000",
    ),
    "another unit": (
        config("Time. Default 5 s.", "5", name="wait_ms"),
        "NetConfig.wait_ms says that 5000 is its default; it is 5",
    ),
    "the other truth": (
        config("Whether. Default True.", given="False"),
        "NetConfig.max_size says that True is its default; it is False",
    ),
    "nothing": (
        config("How many.", "8"),
        "NetConfig.max_size is 8 by default, and does not say so",
    ),
}


def found(tree, text: str, name: str = "NetConfig") -> list[str]:
    root = tree({"flare/net/config.mojo": text})
    doc_defaults.constants.cache_clear()
    offered = {(root.joinpath("flare/net/config.mojo").relative_to(root), name)}
    return [str(problem) for problem in doc_defaults.check_defaults(root, offered)]


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(tree, name):
    assert found(tree, ACCEPTED[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tree, name):
    text, message = REFUSED[name]
    assert found(tree, text) == [f"flare/net/config.mojo:5: {message}"]


def test_asks_configurations_alone(tree):
    text = config("How many.", "8").replace("NetConfig", "Peer")
    assert found(tree, text, "Peer") == []
