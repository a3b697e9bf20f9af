"""Metadata as the conformance suite writes them."""

from conformance_messages.connectrpc.conformance.v1.service_pb import Header
from flare.grpc import GrpcStatus, Metadata


def add_all(mut metadata: Metadata, headers: List[Header]) raises GrpcStatus:
    """Adds what is wanted beside messages."""
    for header in headers:
        for value in header.value:
            metadata.add(header.name.lower(), value)


def seen(metadata: Metadata) -> List[Header]:
    """Tells what has come beside messages, each name once."""
    var headers = List[Header]()
    for index in range(len(metadata)):
        var name = String(metadata.name(index))
        var place = 0
        while place < len(headers) and headers[place].name != name:
            place += 1
        if place == len(headers):
            headers.append(Header(name=name))
        headers[place].value.append(String(metadata.value(index)))
    return headers^
