"""Writes the API reference to build/docs/api, a Markdown page a package front.

The text comes from the docstrings, by way of `mojo doc`; what is listed is what
users import: the names that a package's `__init__.mojo` re-exports.
"""

import json
import sys
from pathlib import Path
from typing import Any

from check_layers import Layers
from mojo_source import Source
from toolchain import BUILD, ROOT, mojo

OUTPUT = BUILD / "docs" / "api"
KINDS = ("structs", "traits", "functions", "aliases")

Node = dict[str, Any]


def read_library() -> Node:
    """Lets the compiler read every docstring."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    target = OUTPUT.parent / "api.json"
    result = mojo("doc", "flare", "-o", str(target))
    if result.returncode:
        sys.exit(result.stdout)
    return json.loads(target.read_text())["decl"]


def declarations(
    package: Node, prefix: str = ""
) -> dict[tuple[str, str], Node]:
    """Finds every declaration by its module and name."""
    name = f"{prefix}{package['name']}"
    found = {}
    for module in package["modules"]:
        for kind in KINDS:
            for node in module[kind]:
                found[(f"{name}.{module['name']}", node["name"])] = node
    for inner in package["packages"]:
        found |= declarations(inner, f"{name}.")
    return found


def inherited(node: Node, found: dict[tuple[str, str], Node]) -> list[str]:
    """Names, a line a trait of ours, the methods that a struct has from it."""
    own = {signature_key(method) for method in node.get("functions", [])}
    out = []
    for parent in node.get("parentTraits", []):
        path = parent.get("path", "")
        module, _, name = path.strip("/").rpartition("/")
        methods = found.get((module.replace("/", "."), name), {})
        names = [
            method["name"]
            for method in methods.get("functions", [])
            if not method["name"].startswith("_")
            and signature_key(method) not in own
        ]
        if names:
            listed = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
            out += [f"Also has, from `{name}`: {listed}.", ""]
    return out


def signature_key(method: Node) -> tuple[str, ...]:
    """Tells a method from others: its name and those of its arguments."""
    arguments = method["overloads"][0]["args"]
    return (method["name"], *(argument["name"] for argument in arguments))


def section(node: Node, level: int) -> list[str]:
    """Writes one declaration with all that belongs to it."""
    if "overloads" in node:
        return [
            line
            for overload in node["overloads"]
            for line in function_section(node["name"], overload, level)
        ]
    out = [f"{'#' * level} `{node['name']}`", ""]
    if signature := node.get("signature"):
        out += ["```mojo", signature, "```", ""]
    out += prose(node)
    members = node.get("aliases", []) + node.get("fields", [])
    for member in members:
        if not member["name"].startswith("_"):
            text = " ".join(prose(member)).strip()
            out.append(f"- `{member['name']}`: {text}")
    if members:
        out.append("")
    for method in node.get("functions", []):
        name = method["name"]
        if not name.startswith("_") or name == "__init__":
            out += section(method, level + 1)
    return out


def function_section(name: str, node: Node, level: int) -> list[str]:
    """Writes one overload of a function."""
    signature = node["signature"]
    if node["raises"] and " raises" not in signature:
        head, arrow, result = signature.rpartition(" -> ")
        signature = (
            f"{head} raises -> {result}" if arrow else f"{signature} raises"
        )
    out = [f"{'#' * level} `{name}`", "", "```mojo", signature, "```", ""]
    out += prose(node)
    for entry in node["parameters"] + node["args"]:
        if entry.get("description"):
            out.append(f"- `{entry['name']}`: {flat(entry['description'])}")
    if text := (node.get("returns") or {}).get("doc"):
        out.append(f"- Returns: {flat(text)}")
    if node["raisesDoc"]:
        out.append(f"- Raises {flat(node['raisesDoc'])}")
    return out + [""]


def prose(node: Node) -> list[str]:
    """Gives a docstring's summary and description as paragraphs."""
    texts = (node.get("summary"), node.get("description"))
    return [line for text in texts if text for line in (text.strip(), "")]


def flat(text: str) -> str:
    """Joins a text to one line."""
    return " ".join(text.split())


def page(front: Path, found: dict[tuple[str, str], Node]) -> list[str]:
    """Writes the page of one package front."""
    source = Source.read(ROOT, front)
    package = ".".join(front.parent.parts)
    summary = source.text.split('"""')[1].strip()
    out = [f"# {package}", "", summary, ""]
    for entry in source.imports:
        for name in entry.names:
            # A front may pass on what another front offers.
            keys = [key for key in found if key[1] == name]
            exact = (entry.module, name)
            chosen = exact if exact in found else next(iter(keys), None)
            if chosen:
                out += section(found[chosen], 2)
                if found[chosen]["kind"] == "struct":
                    out += inherited(found[chosen], found)
    return out


def main() -> None:
    """Writes a page for each package front and an index of them."""
    found = declarations(read_library())
    layers = Layers.read(ROOT / "tools" / "layers.toml")
    index = ["# API reference", ""]
    for package in layers.fronts:
        front = Path(package) / "__init__.mojo"
        if not (ROOT / front).exists():
            continue
        text = page(front, found)
        if len(text) <= 4:
            continue
        name = package.replace("/", ".")
        (OUTPUT / f"{name}.md").write_text("\n".join(text).rstrip() + "\n")
        index.append(f"- [{name}]({name}.md): {text[2]}")
    (OUTPUT / "index.md").write_text("\n".join(index) + "\n")
    print(f"docs: {len(index) - 2} pages in {OUTPUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
