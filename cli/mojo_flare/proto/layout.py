"""Lines of Mojo as its formatter would have them."""

import textwrap

WIDTH = 80


def call(indent: int, head: str, arguments: list[str], tail: str) -> list[str]:
    """Writes what stands in brackets: on one line if it fits, else on its own,
    else one a line."""
    space = " " * indent
    line = f"{space}{head}{', '.join(arguments)}{tail}"
    if len(line) <= WIDTH or not arguments:
        return [line]
    inner = f"{space}    {', '.join(arguments)}"
    if len(inner) <= WIDTH:
        return [space + head, inner, space + tail]
    return [space + head, *(f"{space}    {one}," for one in arguments), space + tail]


def docstring(indent: int, text: str) -> list[str]:
    """Writes a comment of a `.proto` as a docstring; none if it says nothing."""
    paragraphs = _paragraphs(text)
    if not paragraphs:
        return []
    space = " " * indent
    lines: list[str] = []
    for paragraph in paragraphs:
        if lines:
            lines.append("")
        lines += paragraph
    if len(lines) == 1 and len(space) + len(lines[0]) + 6 <= WIDTH:
        return [f'{space}"""{lines[0]}"""']
    first, *rest = lines
    return [
        f'{space}"""{first}',
        *((space + line).rstrip() for line in rest),
        f'{space}"""',
    ]


def _paragraphs(text: str) -> list[list[str]]:
    """Takes the comment's margin away, and what would end the docstring."""
    clean = text.replace("\\", "\\\\").replace('"""', "'''")
    # A control character in a comment is no text.
    clean = "".join(c for c in clean if c == "\n" or c.isprintable())
    lines = [line.rstrip() for line in textwrap.dedent(clean).strip().split("\n")]
    lines = [line.removeprefix(" ") for line in lines]
    result: list[list[str]] = []
    for line in lines:
        if not line:
            result.append([])
        elif result:
            result[-1].append(line)
        else:
            result.append([line])
    found = [paragraph for paragraph in result if paragraph]
    # A quote at the end would be the docstring's.
    if found and found[-1][-1].endswith('"'):
        found[-1][-1] += "."
    return found
