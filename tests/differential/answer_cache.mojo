"""What a cache may do with a response, by the rules of RFC 9111."""

from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.storage import StoreRefusal, store_refusal
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.status import Status
from flare.json.value import JsonView, parse

comptime _NOW_S = 1_704_067_200
# 2024-01-01, when the response came.


def answer_cache(input: Span[UInt8, _]) -> String:
    """Decides on a response and on a later request.

    Args:
        input: A JSON object: `shared`, `request`, `status`, `response`, `later`
            (seconds from the response on) and `asked` (the later request's
            fields).

    Returns:
        `M storable - - -`, or of what may be kept `M storable lifetime age
        reuse`; `E refuse:` for what is no such object.
    """
    try:
        return _decide(input)
    except:
        return "E refuse:case"


def _decide(input: Span[UInt8, _]) raises -> String:
    var whole = parse(input)
    var case_ = whole.view()
    var policy = CachePolicy(
        is_shared=case_["shared"].bool_value(),
        heuristic_percent=10,
        heuristic_max_s=1 << 30,
        obeys_clients=True,
        keeps_cookies=True,
    )
    var request = _headers(case_["request"])
    var response = _headers(case_["response"])
    var status = Status(case_["status"].int_value())
    var times = ExchangeTimes(_NOW_S, _NOW_S)
    var refusal = store_refusal(
        request.lines_fields(), status, response, policy, times
    )
    if refusal != StoreRefusal.NONE:
        return String("M no:", refusal.code, " - - - E end")
    var stored = StoredResponse(
        status,
        response,
        Body(),
        request.lines_fields(),
        policy=policy,
        times=times,
    )
    var now_s = _NOW_S + case_["later"].int_value()
    var asked = _headers(case_["asked"])
    var reuse = stored.reuse(
        CacheControl.of_request(asked.lines_fields()), policy, now_s
    )
    var is_used = reuse == Reuse.FRESH or reuse == Reuse.STALE
    is_used |= reuse == Reuse.STALE_WHILE_REVALIDATE
    is_used &= stored.vary.matches(asked.lines_fields())
    return String(
        "M yes ",
        stored.lifetime_s,
        " ",
        stored.age_s(now_s),
        " ",
        "use" if is_used else "ask",
        " E end",
    )


def _headers(view: JsonView) raises -> HeaderMap:
    var headers = HeaderMap()
    for member in view.members():
        headers.append(member.name, member.value.string_span())
    return headers^
