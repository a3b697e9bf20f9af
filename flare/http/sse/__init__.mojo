"""Server-sent events (WHATWG HTML section 9.2)."""

from flare.http.sse.event_hub import EventHub
from flare.http.sse.event_hub import ServerSentEvent
from flare.http.sse.event_parser import EventParser, EventTooLong
