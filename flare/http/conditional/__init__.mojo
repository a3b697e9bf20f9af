"""Conditions, entity tags and ranges (RFC 9110 sections 13 and 14)."""

from flare.http.conditional.conditional import (
    EntityTag,
    evaluate_preconditions,
    Precondition,
    range_applies,
    Validators,
)
from flare.http.conditional.range import (
    ByteRange,
    ByterangesLayout,
    ContentRange,
    RangeSet,
    RangeVerdict,
)
