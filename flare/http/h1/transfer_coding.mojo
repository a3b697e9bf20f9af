"""The value of Transfer-Encoding in a request."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.h1.protocol_error import Rule
from flare.http.message.list_elements import ListElements

comptime _REGISTERED = StaticString("gzip x-gzip deflate compress x-compress")


def check_transfer_encoding(value: Span[UInt8, _]) -> Optional[Rule]:
    """Decides whether a request with this Transfer-Encoding can be framed.

    Source: RFC 9112 sections 6.1 and 6.3: a request whose final coding is not
    chunked has no length (400); codings we do not decode are not implemented
    (501).

    Args:
        value: The field's value without whitespace around.

    Returns:
        None for exactly `chunked`, else the rule that is broken.
    """
    if equals_ignore_case(value, "chunked".as_bytes()):
        return None
    var chunked_count = 0
    var last_is_chunked = False
    for coding in ListElements(value.as_imm()):
        last_is_chunked = equals_ignore_case(coding, "chunked".as_bytes())
        if last_is_chunked:
            chunked_count += 1
        elif not _is_registered(coding):
            return materialize[Rule.CODING_UNKNOWN]()
    if chunked_count == 1 and last_is_chunked:
        return materialize[Rule.CODING_UNKNOWN]()
    return materialize[Rule.CODING_NOT_FINAL]()


def _is_registered(coding: Span[UInt8, _]) -> Bool:
    # An empty list element counts as registered: it is then no final coding.
    if len(coding) == 0:
        return True
    for name in _REGISTERED.split(" "):
        if equals_ignore_case(coding, name.as_bytes()):
            return True
    return False
