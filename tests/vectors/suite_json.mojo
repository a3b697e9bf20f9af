"""JSON texts: HEX(octets) to `OK` or `ERR`."""

from flare.json.value import parse
from tests.vectors.hex_text import octets_of


def run_json(line: StringSpan) raises -> String:
    """Runs one case."""
    try:
        _ = parse(Span(octets_of(line)))
    except:
        return "ERR"
    return "OK"
