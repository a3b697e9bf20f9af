"""What a cancelled token ends beyond one request: what comes back by itself."""

from flare.http.client.connect.cancel import CancelToken
from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig
from flare.http.client.file_download import DownloadOptions, FileDownload
from flare.http.client.message.hooks import AttemptOutcome, ClientHook
from flare.http.client.message.request import ClientRequest, NoProgress
from tests.support.assertions import assert_equal, assert_true
from tests.support.temporary_folder import TemporaryFolder

comptime NOWHERE = StaticString("http+unix://%2Fnowhere%2Fat.all/")
"""A socket that is not there: each attempt fails at once, and may be repeated."""


@fieldwise_init
struct _CancelBehind(ClientHook):
    """Cancels when an attempt has failed, so before the next one."""

    var token: CancelToken

    def after_attempt(self, outcome: AttemptOutcome):
        self.token.cancel()


def _cancelled(token: CancelToken) -> ClientRequest:
    """Makes a request that was given up before it was sent."""
    token.cancel()
    var request = ClientRequest("GET", String(NOWHERE))
    request.cancel = token
    return request^


def _cancelled_in_the_pause(token: CancelToken) -> ClientRequest:
    """Makes a request that is given up behind its first attempt."""
    var request = ClientRequest("GET", String(NOWHERE))
    request.cancel = token
    request.add_hook(_CancelBehind(token))
    return request^


def test_events_end_and_do_not_come_back() raises:
    var client = HttpClient()
    for is_before in [True, False]:
        var token = CancelToken()
        var request = _cancelled(token) if is_before else (
            _cancelled_in_the_pause(token)
        )
        var events = client.events(request^, max_attempts=2)
        var kind = String()
        try:
            _ = events.next()
        except error:
            kind = String(error.kind)
        assert_equal(kind, "Cancelled")
        assert_equal(events.connect_count, 1)
        # The stream is over.
        assert_true(not events.next())


def test_a_download_ends_and_does_not_come_back() raises:
    var config = ClientConfig()
    # Only for a program that goes on: what is cancelled waits for none of it.
    config.retry_base_ms = 1
    var client = HttpClient(config=config^)
    with TemporaryFolder() as folder:
        for is_before in [True, False]:
            var token = CancelToken()
            var request = _cancelled(token) if is_before else (
                _cancelled_in_the_pause(token)
            )
            var download = FileDownload(
                client._opener(),
                request^,
                String(folder, "/file"),
                DownloadOptions(True, True, False, 3),
            )
            var nobody = NoProgress()
            var kind = String()
            try:
                _ = download.run(nobody)
            except error:
                kind = String(error.kind)
            assert_equal(kind, "Cancelled")
            assert_equal(download._request_count, 1)
