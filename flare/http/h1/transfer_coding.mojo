"""The value of Transfer-Encoding in a request."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.octet_class import TCHAR
from flare.http.h1.protocol_error import Rule
from flare.http.message.list_elements import ListElements

comptime _REGISTERED = StaticString("gzip x-gzip deflate compress x-compress")


def check_transfer_encoding(value: Span[UInt8, _]) -> Optional[Rule]:
    """Decides whether a request with this Transfer-Encoding can be framed.

    Source: RFC 9112 sections 6.1 and 6.3: a request whose final coding is not
    chunked has no length (400); codings we do not decode are not implemented
    (501). Empty elements of the list count for nothing (RFC 9110 section
    5.6.1).

    Args:
        value: The field's value without whitespace around.

    Returns:
        None if `chunked` is the one coding, else the rule that is broken.
    """
    if equals_ignore_case(value, "chunked".as_bytes()):
        return None
    var chunked_count = 0
    var other_count = 0
    var last_is_chunked = False
    for coding in ListElements(value.as_imm()):
        if len(coding) == 0:
            continue
        last_is_chunked = equals_ignore_case(coding, "chunked".as_bytes())
        if last_is_chunked:
            chunked_count += 1
            continue
        other_count += 1
        var name_len = _name_len(coding)
        if name_len == 0 or equals_ignore_case(
            coding[0:name_len], "chunked".as_bytes()
        ):
            # No coding at all, or chunked with what it never has: parameters
            # (RFC 9112 section 7).
            return materialize[Rule.CODING_NOT_FINAL]()
        if not _is_registered(coding[0:name_len]):
            return materialize[Rule.CODING_UNKNOWN]()
    if chunked_count != 1 or not last_is_chunked:
        return materialize[Rule.CODING_NOT_FINAL]()
    if other_count > 0:
        return materialize[Rule.CODING_UNKNOWN]()
    return None


def _name_len(coding: Span[UInt8, _]) -> Int:
    """Measures the token that a coding begins with."""
    var end = 0
    while end < len(coding) and materialize[TCHAR]().contains(coding[end]):
        end += 1
    return end


def _is_registered(name: Span[UInt8, _]) -> Bool:
    for registered in _REGISTERED.split(" "):
        if equals_ignore_case(name, registered.as_bytes()):
            return True
    return False
