"""Fields of a block of HTTP/2, as tests write them."""

from flare.http.h2.hpack_encoder import Indexing
from flare.http.h2.session import Http2Session


def add_field(mut session: Http2Session, name: StringSpan, value: StringSpan):
    """Adds a field to the block that a session has begun."""
    session.encoder.add(
        session.fields, name.as_bytes(), value.as_bytes(), Indexing.KEPT
    )
