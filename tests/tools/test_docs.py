"""What the site is made of: links between pages, the reference, the coverage."""

from pathlib import Path
from types import SimpleNamespace

import docs
import docs_command
import docs_reference
import docs_rfcs
import pytest
from docs_reference import Reference
from mojo_source import Source


@pytest.fixture
def staging(tree, monkeypatch):
    """Gives a function that stages one page and returns its text."""

    def stage(text: str, path: str = "docs/guide.md", **files: str) -> str:
        root = tree({path: text, "examples/01_a.mojo": "x", "docs/tls.md": "# T", **files})
        monkeypatch.setattr(docs, "ROOT", root)
        monkeypatch.setattr(docs, "STAGED", root / "staged")
        reference = SimpleNamespace(
            homes={"Router": "flare.http"}, link=lambda name: f"flare.http.md#{name}"
        )
        staging = docs.Staging(reference)
        staging.stage(path)
        return (root / "staged" / staging.place_of(path)).read_text()

    return stage


@pytest.mark.parametrize(
    "path, text, wanted",
    [
        ("docs/guide.md", "[a](tls.md#x)", "[a](tls.md#x)"),
        ("docs/guide.md", "[a](../examples/01_a.mojo)", "[a](source/examples/01_a.mojo.md)"),
        ("docs/decisions/1.md", "[a](../tls.md)", "[a](../tls.md)"),
        ("SECURITY.md", "[a](docs/tls.md)", "[a](../tls.md)"),
        ("docs/guide.md", "[a](https://example.com)", "[a](https://example.com)"),
        ("docs/guide.md", "[a](../examples)", "a"),
        ("docs/guide.md", "a `Router` and a `Router`", "a [`Router`](reference/flare.http.md#Router) and a `Router`"),
        ("docs/guide.md", "[`Router`](tls.md)", "[`Router`](tls.md)"),
        ("docs/guide.md", "# `Router`", "# `Router`"),
    ],
)
def test_links_lead_to_pages_of_the_site(staging, path, text, wanted):
    assert staging(text, path).endswith(f"{wanted}\n")


def test_what_is_looked_for_less_often_is_found_later(staging):
    assert "boost: 0.3" in staging("# A", "docs/decisions/1.md")
    assert "boost" not in staging("# A", "docs/tls.md")


def test_code_keeps_its_links_and_loses_the_words_of_its_fence(staging):
    assert staging("```mojo continues\n[a](tls.md) `Router`\n```\n") == (
        "```mojo\n[a](tls.md) `Router`\n```\n"
    )


def test_the_navigation_is_expanded(tree, monkeypatch):
    monkeypatch.setattr(docs, "STAGED", tree({"b1.md": "", "b2.md": ""}))
    nav = ["a.md", "b*.md", "c*.md", {"R": "made/"}, {"S": ["b1*.md"]}]
    assert docs.expand(nav, [{"flare": "made/x.md"}]) == [
        "a.md", "b1.md", "b2.md", {"R": [{"flare": "made/x.md"}]}, {"S": ["b1.md"]},
    ]  # fmt: skip


def test_the_theme_fetches_nothing_from_elsewhere():
    settings = docs.site_settings(docs.ROOT)
    assert settings["theme"]["font"] is False
    # The plugin takes a script from a server unless this one is there.
    [script] = settings["extra"]["polyfills"]
    assert "iframe-worker" in script
    assert (docs.ROOT / "docs" / script).exists()


def overload(name: str, **more) -> dict:
    return {
        "kind": "function", "name": name, "signature": f"def {name}()", "raises": False,
        "raisesDoc": "", "parameters": [], "args": [], "returns": None,
        "summary": f"Does {name}. Then more.", "description": "", **more,
    }  # fmt: skip


LIBRARY = {
    "name": "flare",
    "modules": [],
    "packages": [
        {
            "name": "net",
            "packages": [],
            "modules": [
                {
                    "name": "ip", "structs": [], "traits": [], "aliases": [],
                    "functions": [
                        {"name": name, "kind": "function", "overloads": [overload(name)]}
                        for name in ("parse", "hidden")
                    ],
                }
            ],
        }
    ],
}  # fmt: skip
FILES = {
    "tools/layers.toml": 'layer = []\n[fronts]\npackages = ["flare", "flare/net"]\n',
    "flare/__init__.mojo": '"""All."""\n\nfrom flare.net.ip import parse\n',
    "flare/net/__init__.mojo": '"""Addresses."""\n\nfrom flare.net.ip import parse\n',
    "flare/net/ip.mojo": "def hidden():\n    pass\n\n\ndef parse():\n    pass\n",
}


def test_a_name_is_described_by_the_nearest_front_and_linked_by_others(tree):
    reference = Reference(tree(FILES), LIBRARY)
    pages = {front.package: reference.page(front) for front in reference.fronts}
    assert "| [`parse`](flare.net.md#parse) | Does parse. (in `flare.net`) |" in pages["flare"]
    assert "## `parse`" not in pages["flare"]
    assert "## `parse` { #parse }" in pages["flare.net"]
    assert "source/flare/net/ip.mojo.md#__codelineno-0-5" in pages["flare.net"]
    assert "hidden" not in pages["flare.net"]


def test_raising_and_what_is_said_of_arguments_are_shown():
    node = overload(
        "parse", raises=True, raisesDoc="Error: If it\nis none.",
        signature="def parse(text: String) -> Int",
        args=[{"name": "text", "description": "The text."}],
        returns={"doc": "The number."},
    )  # fmt: skip
    text = "\n".join(docs_reference.describe_function(node))
    assert "def parse(text: String) raises -> Int" in text
    assert "- `text`: The text." in text
    assert "- Returns: The number." in text
    assert "- Raises Error: If it is none." in text


def struct(**more) -> dict:
    return {"kind": "struct", "name": "Gate", "fields": [], "aliases": [], "functions": [], "parentTraits": [], **more}


def method(name: str, **more) -> dict:
    return {"name": name, "overloads": [overload(name, **more)]}


OPENS = method(
    "open", raises=True, raisesDoc="Error: If it is locked.", returns={"type": "Int", "doc": "How wide."},
    args=[{"name": "self", "description": ""}, {"name": "key", "description": "The key."}],
)  # fmt: skip
SILENT = {
    "raises": True, "returns": {"type": "Int"},
    "args": [{"name": "self", "description": ""}, {"name": "key", "description": ""}],
}  # fmt: skip
OF_TRAIT = {"path": "/flare/net/ip/Opens", "name": "Opens"}
FOUND = {
    ("flare.net.ip", "Opens"): {
        "kind": "trait", "functions": [OPENS],
        "aliases": [{"name": "Key", "summary": "The key's type.", "description": ""}],
    }
}  # fmt: skip


def test_what_a_trait_says_of_a_method_holds_for_a_struct_that_is_silent():
    node = struct(functions=[method("open", **SILENT)], parentTraits=[OF_TRAIT])
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert told["args"][1]["description"] == "The key."
    assert told["returns"]["doc"] == "How wide."
    assert told["raisesDoc"] == "Error: If it is locked."
    assert told["summary"] == "Does open. Then more."
    assert docs_reference.is_complete(told)


def test_what_a_struct_says_itself_stands():
    own = {**SILENT, "returns": {"type": "Int", "doc": "Nothing."}, "raisesDoc": "Error: Never."}
    node = struct(functions=[method("open", **own)], parentTraits=[OF_TRAIT])
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert told["returns"]["doc"] == "Nothing."
    assert told["raisesDoc"] == "Error: Never."


def test_what_the_languages_own_traits_ask_for_needs_no_words():
    parts = [{"name": "writer", "description": ""}]
    node = struct(functions=[method("write_to", args=parts, summary="Writes the name.")])
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert told["args"] == [{"name": "writer", "description": "Where to."}]


def test_what_drops_a_value_needs_no_words():
    node = struct(functions=[method("__deinit__", summary="", description="")])
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert told["summary"] == "Drops what it holds."
    assert docs_reference.is_complete(told)


def test_what_a_struct_says_of_dropping_it_stands():
    node = struct(functions=[method("__deinit__", summary="Closes the socket.")])
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert told["summary"] == "Closes the socket."


def test_nothing_is_told_of_a_method_that_no_trait_has():
    node = struct(functions=[method("shut", **SILENT)], parentTraits=[OF_TRAIT])
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert not docs_reference.is_complete(told)


def test_a_public_field_says_what_an_argument_of_its_name_is():
    args = [{"name": name, "description": ""} for name in ("width", "depth")]
    node = struct(
        fields=[{"name": "width", "summary": "In metres.", "description": ""}],
        functions=[method("__init__", args=args, returns={"type": "Self"})],
    )
    [told] = docs_reference.completed(node, FOUND)["functions"][0]["overloads"]
    assert [part["description"] for part in told["args"]] == ["In metres.", ""]
    assert not docs_reference.is_complete(told)


@pytest.mark.parametrize(
    ("summary", "is_told"), [("Tells how far it is.", True), ("How far it is.", False)]
)
def test_a_function_may_say_what_it_gives_in_its_summary(summary, is_told):
    overload = method("depth", returns={"type": "Int"})["overloads"][0]
    overload["summary"] = summary
    node = {"kind": "function", "name": "depth", "overloads": [overload]}
    reference = docs_reference.Reference.__new__(docs_reference.Reference)
    reference.found = {("flare.sea", "depth"): node}
    assert reference.is_told(Path("flare/sea.mojo"), "depth", "") == is_told


WIDTH = [{"name": "width", "description": "In metres."}]
UNSAID = [{"name": "width", "description": ""}]


def told_last(*functions: dict, **more) -> dict:
    """The last overload of the last method of a trait, as the reference has it."""
    node = {**struct(functions=list(functions), **more), "kind": "trait"}
    return docs_reference.completed(node, FOUND)["functions"][-1]["overloads"][-1]


def test_the_first_method_of_a_type_says_what_arguments_of_its_names_are():
    assert told_last(method("open", args=WIDTH), method("shut", args=UNSAID))["args"] == WIDTH


def test_what_a_method_says_of_its_argument_itself_stands():
    own = [{"name": "width", "description": "In feet."}]
    assert told_last(method("open", args=WIDTH), method("shut", args=own))["args"] == own


def test_one_overload_says_what_the_others_give_and_raise():
    first = overload("open", raises=True, raisesDoc="Error: Never.", returns={"type": "Int", "doc": "How wide."})
    second = overload("open", raises=True, returns={"type": "Int"}, args=UNSAID)
    told = told_last({"name": "open", "overloads": [first, second]})
    assert (told["returns"]["doc"], told["raisesDoc"]) == ("How wide.", "Error: Never.")
    assert not docs_reference.is_complete(told)


def test_arguments_of_any_number_are_told_of_like_others():
    many = [{"name": "*width", "description": ""}]
    assert told_last(method("open", args=WIDTH), method("shut", args=many))["args"] == [
        {"name": "*width", "description": "In metres."}
    ]


def test_a_trait_of_a_trait_tells_of_what_it_has():
    found = {**FOUND, ("flare.net.ip", "Gates"): {"kind": "trait", "parentTraits": [OF_TRAIT], "functions": []}}
    node = struct(functions=[method("open", **SILENT)], parentTraits=[{"path": "/flare/net/ip/Gates"}])
    [told] = docs_reference.completed(node, found)["functions"][0]["overloads"]
    assert docs_reference.is_complete(told)


def test_of_two_overloads_the_one_before_tells_of_the_next():
    said = [overload("open", args=[{"name": "width", "description": text}]) for text in ("In metres.", "In feet.")]
    told = told_last({"name": "open", "overloads": [*said, overload("open", args=UNSAID)]})
    assert told["args"][0]["description"] == "In feet."


@pytest.mark.parametrize("name", ["Opens.open", "open"])
def test_a_docstring_may_leave_the_rest_to_another_method(name):
    own = method("try_open", **{**SILENT, "summary": f"Tries it; the rest is as\nfor `{name}`."})
    told = told_last(*([] if "." in name else [OPENS]), own)
    assert told["summary"].startswith("Tries it")
    assert docs_reference.is_complete(told)


def test_the_rest_is_not_as_for_what_is_not_there():
    own = method("try_open", **{**SILENT, "summary": "Tries it; the rest is as for `Opens.shut`."})
    assert not docs_reference.is_complete(told_last(own))


def test_a_type_says_what_all_of_its_methods_raise():
    told = told_last(method("open", raises=True), description="Each method raises `Error` if\nit is locked.")
    assert told["raisesDoc"] == "Error: If it is locked."


@pytest.mark.parametrize(
    "summary, is_enough",
    [
        ("Tells whether it is open.", True),
        ("Lends the key; nothing if it is open.", True),
        ("Opens it (OPEN), and gives\nthe key.", True),
        ("Opens it. Gives the key.", False),
        ("Opens it.", False),
        ("Countless.", False),
    ],
)
def test_a_summary_may_say_what_is_given(summary, is_enough):
    node = overload("open", summary=summary, returns={"type": "Bool"})
    assert docs_reference.is_complete(node) == is_enough


def test_a_trait_says_what_a_member_for_the_compiler_is():
    node = struct(aliases=[{"name": "Key", "summary": "", "description": ""}], parentTraits=[OF_TRAIT])
    assert docs_reference.completed(node, FOUND)["aliases"][0]["summary"] == "The key's type."


def test_long_signatures_are_broken_at_their_commas():
    arguments = [f"argument_{index}: Optional[Int]" for index in range(4)]
    broken = docs_reference.broken(f"def f[H: Handler]({', '.join(arguments)}) -> Int")
    assert broken.splitlines() == [
        "def f[H: Handler](",
        *(f"    {argument}," for argument in arguments[:-1]),
        f"    {arguments[-1]}",
        ") -> Int",
    ]


def test_lines_of_overloads_are_found_in_their_own_struct():
    text = "struct A:\n    def f(self):\n        pass\n\n    def f(self, x: Int):\n        pass\n"
    lines = docs_reference.Lines(Source(docs.Path("a.mojo"), text + "\n\nstruct B:\n    def f(self):\n        pass\n"))
    assert [lines.member("A", "f", 0), lines.member("A", "f", 1)] == [2, 5]
    assert lines.member("B", "f", 0) == 10


def test_coverage_counts_rows_and_shows_gaps(tree):
    root = tree(
        {
            "tools/rfc_sections.toml": '[9112]\ntitle = "HTTP/1.1"\n[9112.sections]\n'
            '"5.1" = "Field lines"\n"6.1" = "Coding"\n"7.4" = "TE"\n'
            '[9112.without]\n"7.4" = "not sent"\n',
            "tests/test_a.mojo": '    Row("9112-5.1 no space", 1),\n    Row("9112-5.1 tab", 2),\n',
            "tests/tools/test_c.py": "# RFC 9112 section 6.1\n",
            "tests/test_b.py": "# RFC 9112 section 5.1, and RFC 1234 section 9\n",
        }
    )
    text = docs_rfcs.page(root)
    assert "| 5.1 | Field lines | 3 | `a`, `b` |" in text
    assert "| 6.1 | Coding | none | **no test names it** |" in text
    assert "| 7.4 | TE | none | not sent |" in text
    assert "1234" not in text


def test_examples_of_docstrings_are_shown_as_code():
    text = docs_reference.fenced("Says a.\n\n    one()\n        two()\n\nSays b.")
    assert text == "Says a.\n\n```mojo\none()\n    two()\n```\n\nSays b."


def test_the_page_of_the_command_has_all_commands_with_their_options():
    text = docs_command.page(docs.ROOT)
    for name in ("build", "new", "run", "test"):
        assert f"## `flare {name}`" in text
    assert "| `--bundle DIR` |" in text
    assert "\nflare build --target-cpu x86-64-v2 --bundle dist\n" in text
    assert "| 4 | a program does not compile |" in text
    assert "[bold]" not in text


@pytest.mark.parametrize(
    "signature, wanted",
    [
        ("def f(a: Int = Int(8192))", "def f(a: Int = 8192)"),
        (f"def f(a: C = C({', '.join(['x=1'] * 12)}), b: Int = Int(-1))", "def f(a: C = C(...), b: Int = -1)"),
        ('def f(a: S = "", b: C = C(x=1)) -> D', 'def f(a: S = "", b: C = C(x=1)) -> D'),
    ],
)
def test_defaults_are_shown_as_they_are_written(signature, wanted):
    assert docs_reference.shortened(signature) == wanted
