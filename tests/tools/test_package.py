"""Versions that agree, and what a wheel says is in it; nothing is built here."""

import json
import re

import package
import pytest
import sbom
from conftest import ROOT

TREE = {
    "flare/version.mojo": 'comptime VERSION = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2027-01-15)\n\n## 1.2.2 (2027-01-01)\n",
    "packaging/conda/recipe.yaml": 'version: "1.2.3"\n',
    "pyproject.toml": """[tool.hatch.version]
path = "flare/version.mojo"
pattern = '^comptime VERSION = "(?P<version>[^"]+)"'
""",
}
UNRELEASED = {"CHANGELOG.md": "## 1.2.3 (not released yet)\n"}


def problems(tree, monkeypatch, changed: dict[str, str], tag: str = "") -> list[str]:
    root = tree({**TREE, **changed})
    monkeypatch.setattr(package, "ROOT", root)
    monkeypatch.setattr(package, "VERSION_FILE", root / "flare" / "version.mojo")
    return list(package.version_problems(tag))


def test_versions_and_tags_of_this_tree_agree():
    assert package.release_problems() == []


@pytest.mark.parametrize(
    ("changed", "tag"), [({}, ""), ({}, "v1.2.3"), (UNRELEASED, "")]
)
def test_versions_that_agree(tree, monkeypatch, changed, tag):
    assert problems(tree, monkeypatch, changed, tag) == []


@pytest.mark.parametrize(
    ("changed", "tag", "told"),
    [
        (
            {"CHANGELOG.md": "## 1.2.2 (2027-01-01)\n"},
            "",
            "CHANGELOG.md begins with 1.2.2, flare/version.mojo says 1.2.3",
        ),
        (
            {"CHANGELOG.md": "Nothing.\n"},
            "",
            "CHANGELOG.md begins with no release, flare/version.mojo says 1.2.3",
        ),
        (
            {"CHANGELOG.md": "## 1.2.3 (soon)\n"},
            "",
            "CHANGELOG.md has neither a day nor 'not released yet' behind 1.2.3",
        ),
        (
            {"CHANGELOG.md": "## 1.2.3 (2027-01-15)\n## 1.2.2 (not released yet)\n"},
            "",
            "CHANGELOG.md has a release that was 'not released yet' below the first",
        ),
        (
            {"packaging/conda/recipe.yaml": 'version: "1.2.2"\n'},
            "",
            "packaging/conda/recipe.yaml is not of version 1.2.3",
        ),
        (
            {"pyproject.toml": TREE["pyproject.toml"].replace("VERSION", "NUMBER")},
            "",
            "pyproject.toml does not find version 1.2.3 for the wheel",
        ),
        ({}, "v1.2.4", "the tag v1.2.4 is not v1.2.3, as flare/version.mojo says"),
        ({}, "1.2.3", "the tag 1.2.3 is not v1.2.3, as flare/version.mojo says"),
        (
            UNRELEASED,
            "v1.2.3",
            "the tag v1.2.3 is there, and CHANGELOG.md says 'not released yet'",
        ),
    ],
)
def test_versions_that_differ_are_named(tree, monkeypatch, changed, tag, told):
    assert told in problems(tree, monkeypatch, changed, tag)


def test_all_that_is_loaded_at_run_time_is_named():
    """Each file that loads a library has a row with the names that it loads."""
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in (ROOT / "flare").rglob("*.mojo")
    }
    loads = re.compile(r"DynamicLibrary\(|\(LibraryFunctions\):")
    loading = {name for name, text in sources.items() if loads.search(text)}
    # It finds what `library.mojo` beside it has loaded.
    loading -= {"flare/sys/dynamic_library.mojo", "flare/sys/openssl/key_log.mojo"}
    assert loading == set(sbom.LOADED)
    for source, (_, _, libraries, end) in sbom.LOADED.items():
        text = sources[source]
        plain = set(re.findall(r'"(lib\w+)\.so\.\d+"', text))
        asked = set(re.findall(r'library_names\("(lib\w+)"\)', text))
        assert plain | asked == set(libraries), source
        assert f"{end}\"" in text, source


def test_data_of_others_has_its_source_and_licence():
    components = json.loads(sbom.document(ROOT, None))["metadata"]["component"]["components"]
    data = {x["name"]: x for x in components if x["type"] == "data"}
    assert {"IANA registry", "Unicode", "publicsuffixlist"} == set(data)
    assert data["Unicode"]["version"] == "16.0.0"
    assert data["publicsuffixlist"]["licenses"] == sbom.license_of("MPL-2.0")


def test_the_compiler_is_the_pinned_one():
    told = json.loads(sbom.document(ROOT, None))
    compiler = next(x for x in told["components"] if x["name"] == "mojo-compiler")
    pins = (ROOT / "requirements" / "run.txt").read_text()
    assert f"mojo-compiler=={compiler['version']} " in pins
    for row in compiler["properties"]:
        assert row["value"] in pins
    assert len(compiler["properties"]) == 3


def test_all_references_lead_somewhere():
    told = json.loads(sbom.document(ROOT, "1700000000"))
    own = told["metadata"]["component"]
    names = [x["bom-ref"] for x in [own, *own["components"], *told["components"]]]
    assert len(names) == len(set(names))
    for row in told["dependencies"]:
        assert {row["ref"], *row.get("dependsOn", [])} <= set(names)


def test_the_same_sources_give_the_same_octets(tmp_path):
    one = sbom.document(ROOT, "1700000000")
    assert sbom.document(ROOT, "1700000000") == one
    assert b"2023-11-14T22:13:20Z" in one
    more = sbom.document(ROOT, "1700000000", {"objects/flare.o": b"code"})
    serials = {json.loads(x)["serialNumber"] for x in (one, more)}
    assert len(serials) == 2
