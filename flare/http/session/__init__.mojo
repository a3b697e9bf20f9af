"""Sessions, in signed cookies or in a store."""

from flare.http.session.session import (
    has_csrf_token,
    issue_csrf_token,
    Session,
    SessionConfig,
)
from flare.http.session.signing_keys import SigningKeyError, SigningKeys
from flare.http.session.store import SessionStore
