"""Tokens that show that a form came from one of our own pages."""

from flare.bytes.base64url import base64url_decode, base64url_encode
from flare.bytes.sha256 import SHA256_LEN
from flare.http.message.signing_keys import SigningKeys

comptime CSRF_RANDOM_LEN = 16
"""Random octets of a token.

They make each token look new, so that a compressed page does not give its
session's token away piece by piece.
"""

comptime _PURPOSE = StaticString("csrf token")


def issue_csrf_token(
    keys: SigningKeys,
    session: StringSpan,
    random: Array[UInt8, CSRF_RANDOM_LEN],
) -> String:
    """Makes a token for a form, or for a header that scripts set.

    Args:
        keys: What signs it.
        session: What tells the session from all others: its id, or the value
            of its cookie. A token is good for that session alone.
        random: Octets from a cryptographic random source.

    Returns:
        The token, in digits that need no quoting.
    """
    var octets = List[UInt8](capacity=CSRF_RANDOM_LEN + SHA256_LEN)
    octets.extend(Span(random))
    var code = keys.code(_PURPOSE, _bound(Span(random), session))
    octets.extend(Span(code))
    var token = List[UInt8]()
    base64url_encode(octets, token)
    return String(unsafe_from_utf8=token)


def has_csrf_token(
    keys: SigningKeys, session: StringSpan, token: Span[UInt8, _]
) -> Bool:
    """Tells whether a token was made for a session.

    Args:
        keys: What may have signed it.
        session: As it was made for.
        token: What the client sent.

    Returns:
        True if so. Answer 403 otherwise.
    """
    # Four digits for each three of 48 octets.
    if len(token) != (CSRF_RANDOM_LEN + SHA256_LEN) // 3 * 4:
        return False
    var octets = base64url_decode(token)
    if not octets:
        return False
    var random = Span(octets.value())[:CSRF_RANDOM_LEN]
    return keys.has_code(
        _PURPOSE,
        _bound(random, session),
        Span(octets.value())[CSRF_RANDOM_LEN:],
    )


def _bound(random: Span[UInt8, _], session: StringSpan) -> List[UInt8]:
    var octets = List[UInt8](capacity=len(random) + session.byte_length())
    octets.extend(random)
    octets.extend(session.as_bytes())
    return octets^
