"""Domains: HEX(domain) to `ERR` or `OK` and the ASCII form in hex."""

from flare.url.idna import domain_to_ascii
from tests.vectors.hex_text import hex_of, octets_of


def run_idna(line: StringSpan) raises -> String:
    """Runs one case."""
    var domain = octets_of(line)
    try:
        return String("OK ", hex_of(domain_to_ascii(domain)))
    except:
        return "ERR"
