"""Whether a connection of HTTP/2 takes more requests: every state with every event."""

from flare.http.client.exchange.http2_link import LinkEnd
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    var before: LinkEnd
    var closed: LinkEnd
    var failed: LinkEnd
    var silent: LinkEnd
    var has_failed: Bool


def test_every_end_with_every_event() raises:
    # RFC 9113 section 6.8: behind GOAWAY, streams that were begun with may go
    # on; what has failed has done so for the reason that came first.
    comptime E = LinkEnd
    var rows: List[_Row] = [
        _Row(E.OPEN, E.CLOSING, E.FAILED, E.SILENT, False),
        _Row(E.CLOSING, E.CLOSING, E.FAILED, E.SILENT, False),
        _Row(E.FAILED, E.FAILED, E.FAILED, E.FAILED, True),
        _Row(E.SILENT, E.SILENT, E.SILENT, E.SILENT, True),
    ]
    assert_equal(len(rows), E.COUNT)
    for row in rows:
        var end = row.before
        end.close()
        assert_true(end == row.closed, "it takes no more")
        end = row.before
        end.fail(is_silent=False)
        assert_true(end == row.failed, "it has failed")
        end = row.before
        end.fail(is_silent=True)
        assert_true(end == row.silent, "PING was not answered")
        assert_equal(row.before.has_failed(), row.has_failed)
