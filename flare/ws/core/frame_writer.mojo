"""Frames as octets."""

from flare.bytes.buffer import Buffer
from flare.ws.core.frame_header import FrameHeader
from flare.ws.core.mask import copy_masked


def write_frame(
    mut out: Buffer, header: FrameHeader, payload: Span[UInt8, _]
):
    """Appends a frame.

    Source: RFC 6455 sections 5.2 and 5.3.

    Args:
        out: Where to.
        header: The header; its length is that of the payload.
        payload: The payload, unmasked; not a part of `out`.
    """
    header.write_to(out)
    if not header.key.is_given:
        out.append(payload)
        return
    out.reserve(len(payload))
    copy_masked(payload, out.room()[: len(payload)], header.key)
    out.commit(len(payload))
