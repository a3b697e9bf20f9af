"""How code of the documents is taken out, put together, and held to its rules."""

from pathlib import Path
from types import SimpleNamespace

import doc_blocks
import doc_examples
import doc_names
import pytest
from doc_blocks import Block, Page

PAGE = Path("docs/guide.md")


def blocks_of(tree, text: str) -> list[Block]:
    return Page.read(tree({"docs/guide.md": text}), PAGE).blocks


def test_a_block_knows_its_place_and_its_words(tree):
    [block] = blocks_of(tree, "# A\n\n```mojo continues\nvar x = 1\n```\n")
    assert (block.line, block.language, block.words) == (4, "mojo", {"continues"})


def test_a_block_in_a_list_loses_the_indent_of_the_list(tree):
    [block] = blocks_of(tree, "- one:\n\n  ```mojo\n  var x = 1\n  ```\n")
    assert block.text == "var x = 1\n"


def test_statements_are_put_into_a_function_behind_what_is_declared():
    text = "from a import (\n    b,\n)\n\nb(1)\nif x:\n    y()\n\ndef f():\n    pass\n"
    lines = doc_blocks.wrap_statements(text).splitlines()
    assert lines[:3] == ["from a import (", "    b,", ")"]
    assert lines.index("def f():") < lines.index("def statements() raises:")
    assert lines[lines.index("def statements() raises:") + 1 :][:3] == [
        "    b(1)",
        "    if x:",
        "        y()",
    ]


def test_declarations_alone_stay_as_they_are():
    text = "struct A:\n    pass\n\n\ndef main():\n    pass\n"
    assert doc_blocks.wrap_statements(text) == text


def test_what_continues_has_all_before_it_in_front(tree):
    text = "".join(
        f"```mojo{word}\nvar {name} = 1\n```\n\n"
        for word, name in [("", "a"), ("", "b"), (" continues", "c"), (" continues", "d")]
    )
    found = doc_blocks.make_snippets(blocks_of(tree, text))
    names = [[x for x in "abcd" if f"var {x}" in snippet.module] for snippet in found]
    assert names == [["a"], ["b"], ["b", "c"], ["b", "c", "d"]]


def test_what_prints_has_its_output_behind_it(tree):
    text = "```mojo prints\ndef main():\n    print(1)\n```\n\n```text\n1\n```\n"
    [snippet] = doc_blocks.make_snippets(blocks_of(tree, text))
    assert snippet.output == "1\n" and snippet.is_program


REFUSED = {
    "unknown word": ("```mojo compiles\nx()\n```\n", "is not 'compiles'"),
    "no output": ("```mojo prints\nx()\n```\n\n```sh\nls\n```\n", "needs its output"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_words_of_fences_are_checked(tree, name):
    text, message = REFUSED[name]
    [problem] = doc_blocks.check_fences(blocks_of(tree, text))
    assert message in str(problem)


def test_errors_are_kept_and_warnings_are_not():
    output = "/a.mojo:1:1: warning: w\n  x\n/a.mojo:2:1: error: e\n  y\n/a.mojo:3:1: note: n\n"
    kept = doc_blocks.errors_of(output)
    assert "error: e" in kept and "note: n" in kept and "warning" not in kept


NAMES = {
    "tools/layers.toml": 'layer = []\n[fronts]\npackages = ["flare/net"]\n',
    "flare/net/__init__.mojo": "from flare.net.ip import IpAddr\n",
    "flare/net/ip.mojo": "struct IpAddr:\n    def parse(self):\n        x_len = 1\n",
}


@pytest.mark.parametrize(
    "text, message",
    [
        ("`IpAddr` and `IpAddr.parse(text)`, `x_len`", ""),
        ("`IpNet`", "no front exports IpNet"),
        ("`IpAddr.split`", "IpAddr has no split"),
        ("`max_len`", "nothing in the library is called max_len"),
        ('`Content-Type`, `x-some_field`, `"some_text"`', ""),
        ("`Own`\n\n```mojo\nstruct Own: pass\n```", ""),
    ],
)
def test_names_in_prose_are_looked_for(tree, text, message):
    root = tree(NAMES | {"docs/guide.md": text})
    found = [str(p) for p in doc_names.check_names(root, Page.read(root, PAGE))]
    assert len(found) == bool(message)
    assert not found or message in found[0]


SITE = "extra:\n  generated: [index.md, made/]\nnav:\n  - A:\n{}\n"


@pytest.mark.parametrize(
    "entries, message",
    [
        (["index.md", "guide.md", "made/", "deploy*.md"], ""),
        (["gui*.md"], ""),
        (["index.md"], "is not in the navigation"),
        (["guide.md", "tour.md"], "tour.md, which is no page"),
    ],
)
def test_the_navigation_has_every_page(tree, entries, message):
    listed = "\n".join(f'      - "{entry}"' for entry in entries)
    files = {"mkdocs.yml": SITE.format(listed), "docs/guide.md": "# A\n"}
    found = [str(p) for p in doc_names.check_navigation(tree(files))]
    assert len(found) == bool(message)
    assert not found or message in found[0]


HOMES = {"Router": "flare.http", "Request": "flare.http", "Response": "flare.http", "ok": "flare.http"}
PRELUDE = {"show": "def show(req: Request) -> Response:\n    return ok()\n"}


def module_of(example: str) -> str:
    return doc_examples.as_module(example, SimpleNamespace(homes=HOMES), PRELUDE)


def test_an_example_gets_what_it_takes_for_granted():
    text = module_of('router.get("/", show)\n')
    assert "from flare.http import Request\n" in text
    assert "from flare.http import Router\n" in text
    assert "def show(req: Request)" in text
    assert 'def statements(var router: Router) raises:\n    router.get("/", show)' in text


def test_an_example_that_makes_its_variables_is_given_none():
    text = module_of("var router = Router()\nrouter.get()\n")
    assert "def statements() raises:" in text


def test_an_example_of_a_method_gets_an_owner():
    text = module_of("def check(self) raises InputError:\n    pass\n")
    assert "struct Owner(Checked):" in text
    assert "    def check(self) raises InputError:" in text


def test_examples_are_what_is_indented():
    text = "Says a.\n\n    one()\n\n    two()\n\nSays b.\n\n    three()\n"
    assert list(doc_examples.code_of(text)) == ["one()\n\ntwo()\n", "three()\n"]
    assert list(doc_examples.code_of("```mojo\none()\n```\n")) == ["one()\n"]


@pytest.mark.parametrize("line", ["var x = f()", "```mojo", "for x in [1]:"])
def test_code_that_is_not_indented_is_noticed(tree, line):
    entry = doc_examples.Entry("A", "flare.a", {"description": f"Text.\n\n{line}\n"})
    reference = SimpleNamespace(fronts=[SimpleNamespace(entries=[entry])])
    root = tree({"flare/a.mojo": "struct A:\n    pass\n"})
    [problem] = doc_examples.unmarked_code(root, reference)
    assert "into a fence of mojo" in str(problem)
