"""A download to a file, which goes on where an earlier one has stopped.

What comes is written to PATH.part, beside the file; PATH.part.info says what it
is a part of: the URL, the validator of the representation and its length. The
next request asks for the rest on the condition that the validator is still the
same (Range and If-Range, RFC 9110 sections 14.2 and 13.1.5). Complete, it takes
the file's name.
"""

from flare.bytes.checked import *
from flare.http.client.connect.cancel import pause_unless_cancelled
from flare.http.client.connect.error import (
    Cancelled,
    ClientError,
    Phase,
    ResponseTooLarge,
    SinkFailed,
    UnexpectedResponse,
    bad_request,
)
from flare.http.client.event_source import is_busy
from flare.http.client.open_response import (
    AfterHead,
    OpenResponse,
    OpenTimes,
    ResponseOpener,
)
from flare.http.client.message.request import (
    CLIENTS_OWN,
    ClientRequest,
    Transfer,
    TransferProgress,
)
from flare.http.client.message.retry_policy import (
    RETRY_AFTER_MS_MAX,
    retry_after_ms,
)
from flare.http.client.exchange.repetition import is_transient
from flare.http.conditional.conditional import EntityTag
from flare.http.conditional.range import ContentRange
from flare.http.message.date import parse_http_date
from flare.http.message.header_map import HeaderMap
from flare.sys.backoff import Backoff
from flare.sys.clock import unix_seconds
from flare.sys.errno import EAGAIN, EEXIST, OsError
from flare.sys.file import File, folder_of, give_name, NewFile, PathKind
from flare.sys.random import random_word
from flare.url.url import Url
from std.os import remove

comptime DOWNLOAD_ATTEMPT_COUNT = 5
"""How many requests in turn may bring little unless it is said otherwise."""

comptime PROGRESS_LEN = 65_536
"""What a request has to bring so that those before it do not count, in bytes."""

comptime _READ_LEN = 65_536
comptime _INFO_LEN_MAX = 65_536
comptime _INFO_HEAD = StaticString("flare download 1")


@fieldwise_init
struct DownloadOptions(TrivialRegisterPassable):
    """The habits of a download to a file."""

    var resumes: Bool
    """True to go on where an earlier download has stopped, and to keep what is
    there if this one fails."""
    var replaces: Bool
    """True if a file of that name gives way."""
    var syncs: Bool
    """True to have the file survive a loss of power."""
    var max_attempts: Int
    """How many requests in turn may bring little."""


struct DownloadedFile(Movable):
    """What a download has brought."""

    var path: String
    """The file."""
    var size: Int
    """Its length in bytes."""
    var resumed_from: Int
    """How much of it was there from an earlier download, in bytes."""
    var request_count: Int
    """How many requests it took, redirections aside."""
    var headers: HeaderMap
    """The header fields of the last response."""
    var url: Url
    """The URL that has answered, after redirections."""

    def __init__(out self, var path: String, response: OpenResponse):
        """Begins with a response.

        Args:
            response: The last response.
        """
        self.path = path^
        self.size = 0
        self.resumed_from = 0
        self.request_count = 0
        self.headers = response.headers.copy()
        self.url = response.url.copy()


comptime _READ = UInt8(0)
comptime _IS_WHOLE = UInt8(1)
comptime _ASK_AGAIN = UInt8(2)


struct FileDownload(Movable):

    var _opener: ResponseOpener
    var _request: ClientRequest
    var _options: DownloadOptions
    var _path: String
    var _part_path: String
    var _info_path: String
    var _file: File
    # What the part is a part of.
    var _url: String
    var _validator: String
    var _total_len: Int
    var _kept_len: Int
    # Where the content under way ends, by its Content-Range; -1 without one.
    var _range_end: Int
    var _resumed_from: Int
    var _request_count: Int
    var _len_max: Int
    # What the last answer has asked for by Retry-After; -1 for nothing.
    var _after_ms: Int

    def __init__(
        out self,
        var opener: ResponseOpener,
        var request: ClientRequest,
        path: StringSpan,
        options: DownloadOptions,
    ) raises ClientError:
        """Opens the file, and looks for what is there already. Raises if it
        cannot be made, or another process writes it (`SinkFailed`), or the
        request for the content has a Range of its own."""
        if "range" in request.headers or request.method != "GET":
            raise bad_request(
                "download_file needs a GET without Range, which it sets;"
                " download takes other requests"
            )
        if options.max_attempts < 1:
            raise bad_request(
                String(
                    "max_attempts: ",
                    options.max_attempts,
                    " is none; allow 1 or more",
                )
            )
        self._len_max = opener.config().max_download_size
        self._url = opener.url_of(request)
        self._opener = opener^
        self._request = request^
        self._options = options
        self._path = String(path)
        self._part_path = String(path, ".part")
        self._info_path = String(path, ".part.info")
        self._validator = String()
        self._total_len = -1
        self._kept_len = 0
        self._range_end = -1
        self._resumed_from = 0
        self._request_count = 0
        self._after_ms = -1
        check_path(self._path, options.replaces)
        check_part(self._part_path)
        try:
            self._file = _part(self._part_path)
            self._kept_len = self._file.status().size
        except error:
            if error.number == EAGAIN:
                raise file_error(
                    String(
                        self._part_path,
                        " is being written by another download; wait for it",
                    )
                )
            raise file_error(String(self._part_path, ": ", error))
        if not options.resumes or not self._read_info():
            self._start_over()
        self._resumed_from = self._kept_len

    def run[
        P: TransferProgress
    ](mut self, mut progress: P) raises ClientError -> DownloadedFile:
        """Brings what is missing. Raises if it cannot be had; what is there is
        kept if it can be gone on with."""
        var poor_count = 0
        while True:
            var kept_len = self._kept_len
            var failure = Optional[ClientError]()
            try:
                var done = self._attempt(progress)
                if done:
                    var file = done.take()
                    self._finish()
                    file.size = self._kept_len
                    file.resumed_from = self._resumed_from
                    file.request_count = self._request_count
                    return file^
            except error:
                failure = error^
            poor_count += 1
            if self._kept_len - kept_len >= PROGRESS_LEN:
                poor_count = 1
            var is_over = poor_count >= self._options.max_attempts
            if failure and (is_over or not _may_pass(failure.value())):
                self._leave()
                raise failure.take()
            if is_over:
                self._leave()
                raise self._unexpected(
                    String(
                        "the server has not given the rest of it in ",
                        poor_count,
                        " requests",
                    )
                )
            if failure:
                self._pause(poor_count)

    def _pause(mut self, attempt: Int) raises ClientError:
        var config = self._opener.config()
        var backoff = Backoff(config.retry_base_ms, config.retry_max_ms)
        var pause_ms = backoff.wait_ms(attempt, random_word())
        pause_ms += max(self._after_ms, 0)
        self._after_ms = -1
        try:
            pause_unless_cancelled(self._request.cancel, pause_ms)
        except error:
            self._leave()
            error.url = self._url
            raise error^

    def _attempt[
        P: TransferProgress
    ](mut self, mut progress: P) raises ClientError -> Optional[DownloadedFile]:
        """Sends a request, and writes what it brings; nothing if another one is
        needed."""
        if self._kept_len > 0 and self._validator.byte_length() == 0:
            # There is no telling whether the rest would be of the same.
            self._start_over()
        self._request_count += 1
        var response = self._opener.open(
            self._next_request(),
            OpenTimes(CLIENTS_OWN, CLIENTS_OWN, AfterHead.PROGRESS),
        )
        var verdict = self._judge(response)
        if verdict == _ASK_AGAIN:
            self._start_over()
            return None
        if verdict == _READ:
            if not self._receive(response, progress):
                self._start_over()
                return None
            if self._lacks_rest():
                return None
        return DownloadedFile(self._path.copy(), response)

    def _lacks_rest(self) -> Bool:
        """Tells whether there is more, or nobody has said that there is not: a
        part of what has no known length is all of it only if the next one is
        refused (RFC 9110 sections 14.4 and 15.5.17)."""
        if self._total_len < 0:
            return self._range_end >= 0
        return self._kept_len < self._total_len

    def _next_request(self) raises ClientError -> ClientRequest:
        var request = self._request.copy()
        try:
            if "accept-encoding" not in request.headers:
                # Ranges count octets as transferred; those are kept.
                request.headers.set("Accept-Encoding", "identity")
            if self._kept_len > 0:
                request.headers.set(
                    "Range", String("bytes=", self._kept_len, "-")
                )
                request.headers.set("If-Range", self._validator)
        except error:
            raise self._unexpected(String(error))
        return request^

    def _judge(mut self, response: OpenResponse) raises ClientError -> UInt8:
        """Decides what to do with a response (RFC 9110 sections 15.3.7 and
        15.5.17)."""
        var status = response.status
        self._range_end = -1
        if status == 200:
            self._start_over()
            self._begin_content(response)
            return _READ
        var found = _content_range(response.headers)
        if self._kept_len > 0 and status == 206:
            if not found or not self._continues(response, found.value()):
                return _ASK_AGAIN
            if found.value().size >= 0:
                self._total_len = found.value().size
            self._range_end = self._kept_len + found.value().length
            return _READ
        if self._kept_len > 0 and status == 416:
            if (
                found
                and found.value().size == self._kept_len
                and (self._is_same(response.headers))
            ):
                return _IS_WHOLE
            return _ASK_AGAIN
        self._after_ms = retry_after_ms(response.headers, unix_seconds())
        raise self._unexpected(
            String(
                "the server answered ",
                status,
                " ",
                response.reason,
                "; a download needs 200 or 206",
            ),
            is_busy(status.code) and self._after_ms <= RETRY_AFTER_MS_MAX,
        )

    def _continues(self, response: OpenResponse, found: ContentRange) -> Bool:
        """Tells whether a part goes on where ours ends, and is of the same."""
        return (
            found.start == self._kept_len
            and (
                self._total_len < 0
                or found.size < 0
                or found.size == self._total_len
            )
            and "content-encoding" not in response.headers
            and self._is_same(response.headers)
        )

    def _is_same(self, headers: HeaderMap) -> Bool:
        """Compares validators; one that is not there says nothing."""
        var name = "last-modified"
        if self._validator.startswith('"'):
            name = "etag"
        var index = headers.find(name)
        return index < 0 or headers.value(index) == self._validator

    def _begin_content(mut self, response: OpenResponse) raises ClientError:
        """Notes what the content is that begins, so that it can be gone on
        with."""
        self._resumed_from = 0
        if "content-encoding" in response.headers:
            # What is written is decoded, of which there are no ranges.
            return
        self._total_len = response.content_len()
        self._check_len(self._total_len)
        if not self._options.resumes or _refuses_ranges(response.headers):
            return
        self._validator = validator_of(response.headers, unix_seconds())
        if self._validator.byte_length() > 0:
            self._write_info()

    def _check_len(self, length: Int) raises ClientError:
        if length <= self._len_max:
            return
        var error = ClientError(
            Phase.READ_BODY,
            ResponseTooLarge,
            String("the content is longer than ", self._len_max, " bytes"),
        )
        error.name_setting("max_download_size")
        error.url = self._url
        raise error^

    def _receive[
        P: TransferProgress
    ](
        mut self, mut response: OpenResponse, mut progress: P
    ) raises ClientError -> Bool:
        """Writes what comes; False if that is more than its Content-Range says,
        so that nobody knows what it is (RFC 9110 section 14.4)."""
        var room = List[UInt8](length=_READ_LEN, fill=0)
        var start = self._kept_len
        var total_len = response.content_len()
        if total_len >= 0:
            total_len += start
        while True:
            var count = response.read(room)
            var done_len = start + response.received_len()
            try:
                progress.on_progress(Transfer(False, done_len, total_len))
            except error:
                raise file_error(String(error))
            if count == 0:
                return True
            if self._range_end >= 0 and (
                self._kept_len + count > self._range_end
            ):
                return False
            self._check_len(self._kept_len + count)
            try:
                self._file.append(Span(room).before(count))
            except error:
                raise self._write_error(error)
            self._kept_len += count

    def _write_error(mut self, error: OsError) -> ClientError:
        try:
            # A part of the piece may have been written.
            self._kept_len = self._file.status().size
        except:
            # It goes on being what was written for sure.
            pass
        var reason = String("cannot write ", self._part_path, ": ", error)
        if self._may_be_resumed():
            reason.write(
                "; ",
                self._kept_len,
                " bytes are kept, and the same call goes on behind them",
            )
        return file_error(reason^)

    def _may_be_resumed(self) -> Bool:
        return self._options.resumes and self._validator.byte_length() > 0

    def _start_over(mut self) raises ClientError:
        try:
            if self._kept_len > 0:
                self._file.truncate(0)
        except error:
            raise file_error(String(self._part_path, ": ", error))
        _remove(self._info_path)
        self._kept_len = 0
        self._resumed_from = 0
        self._validator = String()
        self._total_len = -1

    def _leave(mut self):
        """Keeps what can be gone on with, and nothing else."""
        if self._kept_len == 0 or not self._may_be_resumed():
            _remove(self._part_path)
            _remove(self._info_path)

    def _finish(mut self) raises ClientError:
        # Meanwhile something else may have taken it.
        check_path(self._path, self._options.replaces)
        try:
            if self._options.syncs:
                self._file.sync()
            give_name(
                self._part_path, self._path, replaces=self._options.replaces
            )
        except error:
            raise file_error(String(self._path, ": ", error))
        if not self._options.replaces:
            _remove(self._part_path)
        _remove(self._info_path)
        if not self._options.syncs:
            return
        try:
            File.folder(folder_of(self._path)).sync()
        except error:
            raise file_error(String(self._path, ": ", error))

    def _read_info(mut self) -> Bool:
        """Reads what the part is a part of; False if that is not known, or
        something else."""
        var text: String
        try:
            var file = File.open(self._info_path)
            var octets = List[UInt8](length=_INFO_LEN_MAX, fill=0)
            var length = file.read_at(octets, 0)
            text = String(from_utf8_lossy=Span(octets).before(length))
        except:
            return False
        var lines = text.split("\n")
        if (
            len(lines) < 5
            or not (lines.at(0) == _INFO_HEAD)
            or not (lines.at(1) == self._url)
        ):
            return False
        self._validator = String(lines.at(2))
        try:
            self._total_len = Int(lines.at(3))
        except:
            return False
        var is_good = self._total_len < 0 or self._kept_len <= self._total_len
        return is_good and self._validator.byte_length() > 0

    def _write_info(self) raises ClientError:
        try:
            var file = NewFile(self._info_path)
            var text = String(_INFO_HEAD, "\n", self._url, "\n")
            text.write(self._validator, "\n", self._total_len, "\n")
            file.append(text.as_bytes())
            file.take_name(replaces=True)
        except error:
            raise file_error(String(self._info_path, ": ", error))

    def _unexpected(
        self, var reason: String, may_pass: Bool = False
    ) -> ClientError:
        var phase = Phase.READ_BODY
        if may_pass:
            phase = Phase.READ_HEAD
        var error = ClientError(phase, UnexpectedResponse, reason^)
        error.url = self._url
        return error^


def validator_of(headers: HeaderMap, now_s: Int) -> String:
    """Finds what tells one version of a representation from the next: a value
    for If-Range; empty if there is none. Dates of two digits are read by the
    time now, in seconds since 1970.

    Source: RFC 9110 sections 8.8.1 to 8.8.3 and 13.1.5: a weak entity tag does
    not say that octets are the same, nor does a date of the second in which the
    response was made.
    """
    var index = headers.find("etag")
    if index >= 0:
        var value = headers.value(index)
        try:
            var tag = EntityTag.parse(value.as_bytes())
            return String() if tag.is_weak else String(value)
        except:
            return String()
    var modified = headers.find("last-modified")
    var date = headers.find("date")
    if modified < 0 or date < 0:
        return String()
    var value = headers.value(modified)
    var modified_s = parse_http_date(value.as_bytes(), now_s)
    var date_s = parse_http_date(headers.value(date).as_bytes(), now_s)
    if (
        not modified_s
        or not date_s
        or (date_s.value() - modified_s.value() < 1)
    ):
        return String()
    return String(value)


def _content_range(headers: HeaderMap) -> Optional[ContentRange]:
    var index = headers.find("content-range")
    if index < 0:
        return None
    return ContentRange.parse(headers.value(index).as_bytes())


def _refuses_ranges(headers: HeaderMap) -> Bool:
    var index = headers.find("accept-ranges")
    return index >= 0 and headers.value(index) == "none"


def _may_pass(error: ClientError) -> Bool:
    """Tells whether another request may bring more."""
    if (
        error.kind == SinkFailed
        or error.kind == ResponseTooLarge
        or error.kind == Cancelled
    ):
        return False
    if error.phase == Phase.READ_BODY:
        return error.kind != UnexpectedResponse
    return is_transient(error)


def _part(path: StringSpan) raises OsError -> File:
    """Opens the part and takes it for this process."""
    while True:
        var file = File.appending(path)
        file.lock()
        var status = file.status()
        if not status.is_regular:
            raise OsError("open", EEXIST)
        # Between both calls it may have become the whole file.
        if status.is_linked and (
            PathKind.of(path, follows_links=False) != PathKind.NOTHING
        ):
            return file^


def _remove(path: String):
    try:
        remove(path)
    except:
        # It is not there.
        pass


def file_error(var reason: String) -> ClientError:
    """Makes the error for a file that cannot be written."""
    return ClientError(Phase.READ_BODY, SinkFailed, reason^)


def check_path(path: StringSpan, replaces: Bool) raises ClientError:
    """Refuses a name that is not free, and holds no file that gives way: what
    else stands there is never replaced. A symbolic link to a file, or to
    nothing, gives way itself."""
    var found: PathKind
    var end = PathKind.NOTHING
    try:
        found = PathKind.of(path, follows_links=False)
        if found == PathKind.LINK:
            end = PathKind.of(path, follows_links=True)
    except error:
        raise file_error(String(path, ": ", error))
    var is_replaceable = found == PathKind.FILE or (
        found == PathKind.LINK
        and (end == PathKind.FILE or end == PathKind.NOTHING)
    )
    var is_name = path.byte_length() > 0 and not path.endswith("/")
    if found == PathKind.NOTHING and is_name:
        return
    if is_replaceable and replaces:
        return
    if is_replaceable:
        raise file_error(
            String(path, " is there already; let it be replaced, or remove it")
        )
    if found == PathKind.NOTHING:
        raise file_error(
            String("'", path, "' names no file; name one in a folder")
        )
    var text = String(path, " is ", found)
    if found == PathKind.LINK:
        text.write(" to ", end)
    text.write(", and only a file is replaced; ")
    if found == PathKind.FOLDER or end == PathKind.FOLDER:
        text.write("name a file in it")
    else:
        text.write("choose another name, or `download` to write to it")
    raise file_error(text^)


def check_part(path: StringSpan) raises ClientError:
    """Refuses to write to what is no file, or not the part itself."""
    var found: PathKind
    try:
        found = PathKind.of(path, follows_links=False)
    except error:
        raise file_error(String(path, ": ", error))
    if found != PathKind.NOTHING and found != PathKind.FILE:
        raise file_error(
            String(
                path,
                ", which what comes is written to, is ",
                found,
                "; remove it, or choose another name",
            )
        )
