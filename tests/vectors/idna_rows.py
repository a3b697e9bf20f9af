"""Reads Unicode's IdnaTestV2.txt, which is not kept here, for the vectors.

It is looked for beside the other vectors and in build/unicode/; the sources of
the Rust crate `idna` 1.1 have it, as tests/IdnaTestV2.txt. Its version has to
be that of the tables (tools/gen_idna.py names it): names with letters that one
of both does not know yet would count as wrong answers.
"""

import re

# What the settings of the URL Standard do not check (UTS 46 section 4, the
# flags): lengths, hyphens, ASCII signs; X4_2 is an empty label in toUnicode.
NOT_CHECKED = {"A4_1", "A4_2", "X4_2", "V2", "V3", "U1"}
ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\x\{([0-9A-Fa-f]+)\}")


def field_text(field, default):
    """Reads one column; blank means what an earlier one says."""
    if field == "":
        return default
    if field == '""':
        return ""
    return ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), field)


def statuses(field, default):
    """Reads a set of status codes."""
    return set(re.findall(r"\w+", field)) if field else default


def read_rows(text):
    """Gives a row for each line, as those of the other suites."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = [part.strip(" \t") for part in line.split("#")[0].split(";")]
        if len(fields) < 5:
            continue
        source = field_text(fields[0], "")
        if any(0xD800 <= ord(char) <= 0xDFFF for char in source):
            # Ill-formed text, which UTF-8 cannot carry.
            continue
        ascii_form = field_text(fields[3], field_text(fields[1], source))
        status = statuses(fields[4], statuses(fields[2], set()))
        octets = ascii_form.encode("utf-8", "surrogatepass").hex()
        rows.append(
            {
                "name": f"line {number}: {ascii(source)} {sorted(status)}",
                "line": source.encode().hex() or "-",
                "expect": "ERR"
                if status - NOT_CHECKED
                else f"OK {octets or '-'}",
            }
        )
    return rows
