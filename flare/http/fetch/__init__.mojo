"""Requests of a handler to other servers, answered on the worker's own loop."""

from flare.http.fetch.continuation import Continuation, NextStep
from flare.http.fetch.fetch_later import (
    fetch_failure,
    fetch_later,
    relayed_response,
)
