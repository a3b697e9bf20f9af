"""All places that a process has for lookups of names."""

from flare.sys.clock import Deadline
from flare.sys.poll import pause
from flare.sys.sockets.name_lookup import LOOKUP_COUNT_MAX, LookupPlace
from tests.support.loopback import PATIENCE_MS


def all_lookup_places() raises -> List[LookupPlace]:
    """Takes them all; threads that other tests have left behind give theirs back
    when they end."""
    var places = List[LookupPlace](capacity=LOOKUP_COUNT_MAX)
    var deadline = Deadline(PATIENCE_MS)
    while len(places) < LOOKUP_COUNT_MAX:
        var place = LookupPlace()
        if place.is_there:
            places.append(place^)
        elif deadline.left_ms() == 0:
            raise Error("lookups of other tests do not end")
        else:
            pause(1)
    return places^
