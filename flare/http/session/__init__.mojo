"""Sessions in signed cookies."""

from flare.http.session.session import (
    has_csrf_token,
    issue_csrf_token,
    Session,
    SessionConfig,
)
from flare.http.session.signing_keys import SigningKeyError, SigningKeys
