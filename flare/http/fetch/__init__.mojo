"""Requests of a handler to other servers, answered on the worker's own loop."""

from flare.http.fetch.fetch_later import (
    Continuation,
    fetch_failure,
    fetch_later,
    NextStep,
    relayed_response,
)
