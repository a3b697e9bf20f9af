"""What is said to the client of the content of an upstream's response."""

from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import has_essence
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers

comptime _EVENTS = StaticString("text/event-stream")


def trailers_of(fields: HeaderMap) -> Trailers:
    """Takes what may be sent on of a trailer section (RFC 9110 section 6.5.1)."""
    var trailers = Trailers()
    for index in range(len(fields)):
        try:
            trailers.append(fields.name(index), fields.value(index))
        except:
            # Framing, routing and the like mean nothing there.
            continue
    return trailers^


def has_events(response: Response) -> Bool:
    """Tells whether the content is server-sent events, and goes on until
    somebody leaves: by type and subtype, whatever the parameters are (RFC 9110
    section 8.3.1)."""
    return has_essence(response.headers.content_type().as_bytes(), _EVENTS)
