"""Answers from what is kept: Age, Cache-Status, conditions and ranges (RFC 9111
sections 4 and 4.3.2)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.cache.core.cache_status import CacheStatus
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse, validators_of
from flare.http.conditional.conditional import (
    Precondition,
    evaluate_preconditions,
    range_applies,
)
from flare.http.conditional.range import (
    RangeSet,
    RangeVerdict,
    content_range,
    unsatisfied_range,
)
from flare.http.message.body import Body
from flare.http.message.date import parse_http_date_in_cache
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response

comptime _SPARE_OCTETS = 128
# For Age and Cache-Status.


def stored_reply(
    req: Request,
    stored: StoredResponse,
    policy: CachePolicy,
    status: CacheStatus,
    now_s: Int,
) raises -> Response:
    """Makes the answer to a GET or HEAD that selects a stored response; 304,
    206 or 416 if the request asks for it. The content is shared with the store.
    """
    var response = Response(stored.status, stored.body.copy())
    response.headers = HeaderMap(
        copy_of=stored.headers, spare_octets=_SPARE_OCTETS
    )
    var age = Buffer(16)
    age.append_decimal(stored.age_s(now_s))
    response.headers.append("Age", StringSpan(unsafe_from_utf8=age.span()))
    status.add_to(response.headers, policy.cache_name)
    return conditional_reply(req, response^, now_s)


def conditional_reply(
    req: Request, var response: Response, now_s: Int
) raises -> Response:
    """Answers If-None-Match, If-Modified-Since and Range by a complete response:
    as it is, or by 304, 206 or 416; a part of what is in memory alone. The
    request is GET or HEAD, without If-Match and If-Unmodified-Since: those are
    for origins (section 4.3.2)."""
    if response.status != 200:
        return response^
    var has_range = (
        req.method == Method.GET
        and "range" in req.headers
        and not response.body.is_stream()
    )
    if not has_range and not is_conditional(req.headers):
        return response^
    var validators = validators_of(response.headers, now_s)
    if "if-modified-since" in req.headers and not validators.modified_s:
        # Section 4.3.2: in its place counts when the response was made.
        validators.modified_s = _date_of(response.headers, now_s)
    var outcome = evaluate_preconditions(
        req.method, req.headers, validators, now_s
    )
    if outcome == Precondition.NOT_MODIFIED:
        return _not_modified(response^)
    if not has_range or not range_applies(req.headers, validators, now_s):
        return response^
    return _ranged(req.headers, response^)


def is_conditional(fields: Fields) -> Bool:
    """Tells whether a request says what its client has, by If-None-Match or
    If-Modified-Since."""
    return "if-none-match" in fields or "if-modified-since" in fields


def _date_of(headers: HeaderMap, now_s: Int) -> Optional[Int]:
    var date = headers.get("date")
    if not date:
        return None
    return parse_http_date_in_cache(date.held().as_bytes(), now_s)


def _not_modified(var response: Response) raises -> Response:
    """Makes the 304 of a 200 (RFC 9110 section 15.4.5)."""
    for name in [
        "Content-Type",
        "Content-Encoding",
        "Content-Language",
        "Content-Range",
        "Accept-Ranges",
    ]:
        _ = response.headers.remove(name)
    response.status = 304
    response.body = Body()
    return response^


def _ranged(fields: Fields, var response: Response) raises -> Response:
    """Makes the 206 or 416 of a 200 (RFC 9110 section 14.2). Several ranges are
    not worth parts: the whole is here, and may be sent in their place."""
    var index = fields.find("range")
    var size = len(response.body)
    if fields.find("range", index + 1) >= 0:
        return response^
    var wanted = RangeSet.parse(fields.value_bytes(index), size)
    if wanted.verdict == RangeVerdict.UNSATISFIABLE:
        response.headers.set("Content-Range", unsatisfied_range(size))
        response.status = 416
        response.body = Body()
        return response^
    if wanted.verdict != RangeVerdict.PARTS:
        return response^
    wanted.coalesce()
    if len(wanted.ranges) != 1:
        return response^
    var part = wanted.ranges.at(0)
    var octets = List[UInt8](capacity=part.length)
    octets.extend(response.body.as_bytes().between(part.start, part.end()))
    response.headers.set("Content-Range", content_range(part, size))
    response.status = 206
    response.body = Body(octets^)
    return response^
