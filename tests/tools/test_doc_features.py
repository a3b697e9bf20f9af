"""What the library has is named by the pages that newcomers read first."""

from pathlib import Path

import check_docs
import doc_features
import pytest
from doc_blocks import Page
from toolchain import ROOT

TABLE = """
pages = ["README.md", "docs/comparison.md"]
comparison = "docs/comparison.md"
[features]
"flare/cache" = {name = "CacheStore", word = "cache"}
[parts]
"flare/io" = "what streams are made of"
"""
COMPARISON = """# Comparison

| | this flare | other |
| --- | --- | --- |
| response cache | RFC 9111 | **no** |
| templates | **no** | - |
"""
KEPT = {
    "tools/doc_features.toml": TABLE,
    "tools/layers.toml": 'layer = []\n[fronts]\npackages = ["flare/cache", "flare/io"]\n',
    "flare/cache/__init__.mojo": "from flare.cache.store import CacheStore\n",
    "flare/io/__init__.mojo": "",
    "README.md": "A server with a Cache.\n",
    "docs/comparison.md": COMPARISON,
}

REFUSED = {
    "a page that lacks the word": (
        "README.md",
        "A server with caches.\n",
        "README.md:1: does not name `cache`",
    ),
    "the word in code alone": (
        "README.md",
        "# A\n\n```\ncache\n```\n",
        "README.md:1: does not name `cache`",
    ),
    "the word in the address of a link alone": (
        "README.md",
        "[A](docs/cache.md)\n",
        "README.md:1: does not name `cache`",
    ),
    "a page that is gone": (
        "tools/doc_features.toml",
        TABLE.replace("README.md", "docs/none.md"),
        "no page docs/none.md",
    ),
    "a comparison that denies it": (
        "docs/comparison.md",
        COMPARISON.replace("RFC 9111", "**no**"),
        "docs/comparison.md:5: denies `cache`",
    ),
    "a comparison that leaves it open": (
        "docs/comparison.md",
        COMPARISON.replace("RFC 9111", "-"),
        "docs/comparison.md:5: denies `cache`",
    ),
    "a package without a row": (
        "tools/layers.toml",
        'layer = []\n[fronts]\npackages = ["flare/cache", "flare/io", "flare/new"]\n',
        "flare/new has no row",
    ),
    "a row without a package": (
        "tools/layers.toml",
        'layer = []\n[fronts]\npackages = ["flare/cache"]\n',
        "flare/io is no public package",
    ),
    "a name that is gone": (
        "flare/cache/__init__.mojo",
        "from flare.cache.store import Store\n",
        "flare/cache has no CacheStore",
    ),
}


def problems(root):
    return [str(problem) for problem in doc_features.check_features(root)]


def test_accepts_pages_that_name_all(tree):
    assert problems(tree(KEPT)) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tree, name):
    path, text, message = REFUSED[name]
    [problem] = problems(tree(KEPT | {path: text}))
    assert message in problem


def test_a_tree_without_a_table_has_nothing_to_name(tree):
    files = {path: text for path, text in KEPT.items() if "features" not in path}
    assert problems(tree(files)) == []


def test_the_check_of_the_documents_asks_it(tree):
    files = KEPT | {"README.md": "A server.\n", "ARCHITECTURE.md": "# Map\n"}
    [problem] = check_docs.problems(tree(files))
    assert "does not name `cache`" in problem


def test_the_table_of_the_library_holds_the_three_pages():
    pages = doc_features.Features.read(ROOT).pages
    assert set(pages) == {"README.md", "docs/index.md", "docs/comparison.md"}


def test_the_readme_begins_with_the_two_commands_of_a_fresh_clone():
    first = Page.read(ROOT, Path("README.md")).blocks[0]
    commands = [line.split("#")[0].strip() for line in first.text.splitlines()]
    assert commands == ["make run", "make test"]
    assert first.line < 15
