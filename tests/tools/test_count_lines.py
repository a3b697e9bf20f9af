"""Files and lines of a library, told apart by package."""

from count_lines import counts

SOURCES = {
    "flare/__init__.mojo": '"""All."""\n\nfrom flare.till.coin import Coin\n',
    "flare/till/__init__.mojo": "",
    "flare/till/coin.mojo": (
        'comptime TEXT = """\n# kept\n"""\n"""A text.\n\nOf two lines."""\n\n\n'
        "# A comment.\nstruct Coin:\n"
        '    """A coin."""\n\n    var size: Int\n    var name: String\n'
    ),
}


def test_counts_by_package(tree):
    found = counts(tree(SOURCES), 1)
    assert found["flare.till"] == {"files": 2, "lines": 14, "code": 6, "docs": 4}
    assert found["flare"] == {"files": 3, "lines": 17, "code": 7, "docs": 5}
