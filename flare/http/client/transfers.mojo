"""What all clients do with content that goes through them, written once."""

from flare.http.client.message.arguments import (
    DataContent,
    FormContent,
    JsonContent,
    QueryParams,
    RequestHeaders,
)
from flare.http.client.connect.auth import Credentials
from flare.http.client.exchange.driver import NoStream
from flare.http.client.connect.error import ClientError, bad_request
from flare.http.client.event_source import (
    EVENT_ATTEMPT_COUNT,
    EVENT_IDLE_MS,
    EventSource,
)
from flare.http.client.file_download import (
    DOWNLOAD_ATTEMPT_COUNT,
    DownloadOptions,
    DownloadedFile,
    FileDownload,
)
from flare.http.client.open_request import OpenRequest, UploadSource
from flare.http.client.open_response import (
    AfterHead,
    OpenResponse,
    OpenTimes,
    ResponseOpener,
)
from flare.http.client.exchange.prepared_request import UNKNOWN_LEN, Upload
from flare.http.client.message.request import (
    CLIENTS_OWN,
    ClientRequest,
    RequestBody,
    NoProgress,
    TransferProgress,
)
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    SendResult,
)
from flare.http.client.message.verbs import (
    RequestMethods,
    bare_request,
    with_content,
)
from flare.io.stream import Readable, Writable
from flare.trace.core.span import TraceSpan


trait TransferMethods(RequestMethods):
    """A client of the network has all these: content from sources and to sinks,
    files, events, responses that are read as they come, many requests at once.
    """

    def _opener(self) -> ResponseOpener:
        ...

    def _run[
        R: Readable, W: Writable, P: TransferProgress
    ](
        mut self,
        var request: ClientRequest,
        upload: Upload,
        mut source: R,
        mut sink: W,
        mut progress: P,
        use: ContentUse,
    ) raises ClientError -> ClientResponse:
        ...

    def _changed_key(self, request: ClientRequest) raises ClientError -> String:
        # Whoever keeps responses knows what the request may change.
        return String()

    def _note_change(self, key: String, response: OpenResponse):
        return

    def _run_all(
        mut self, requests: List[ClientRequest], max_parallel: Int
    ) raises ClientError -> List[SendResult]:
        ...

    def send_all(
        mut self, requests: List[ClientRequest], max_parallel: Int = 10
    ) raises ClientError -> List[SendResult]:
        """Sends many requests at once, on this thread and one reactor.

        They reach servers in any order.

        Args:
            requests: The requests. All responses are in memory at the end.
            max_parallel: Most requests under way at the same time, and so most
                connections; 1 or more. Over HTTP/2 those to one server share a
                connection. The others wait, and their total time starts when
                they do not any more. After the last one as many connections
                stay open as `ClientConfig.pool` allows: 100 by default, so
                raise it for wider batches to one host.

        Returns:
            What became of them, in the order of the requests: one that fails
            leaves the others alone.

        Raises:
            ClientError: If `max_parallel` is 0 or less, or the system has no
                descriptors for a reactor.
        """
        if max_parallel < 1:
            raise bad_request("send_all: max_parallel must be 1 or more")
        return self._run_all(requests, max_parallel)

    def send[
        P: TransferProgress
    ](
        mut self, var request: ClientRequest, mut progress: P
    ) raises ClientError -> ClientResponse:
        """Sends a request, and tells how far content is, both ways.

            var bar = Bar()
            var response = client.send(request^, bar)

        Parameters:
            P: The type of who is told.

        Args:
            request: The request.
            progress: Is told; it counts octets as transferred.

        Raises:
            ClientError: If there is none, or `progress` raises.
        """
        var source = NoStream()
        var sink = NoStream()
        return self._run(
            request^, Upload(), source, sink, progress, ContentUse.KEEP
        )

    def download[
        W: Writable
    ](
        mut self, var request: ClientRequest, mut sink: W
    ) raises ClientError -> ClientResponse:
        """Sends a request, and writes the response's content to a sink.

        The content may be of any length: `max_response_size` is for content in
        memory. To stop, the sink raises.

        Parameters:
            W: The sink's type.

        Args:
            sink: Gets the decoded content of a 2xx response; that of others
                is the response's body.

        Returns:
            The response.

        Raises:
            ClientError: If there is none, or the sink fails (`SinkFailed`);
                the sink may have got a part of the content.
        """
        var nobody = NoProgress()
        return self.download(request^, sink, nobody)

    def download[
        W: Writable, P: TransferProgress
    ](
        mut self, var request: ClientRequest, mut sink: W, mut progress: P
    ) raises ClientError -> ClientResponse:
        """Writes the response's content to a sink, and tells how far it is.

        Raises:
            ClientError: If there is none, or the sink fails, or `progress`
                raises (`SinkFailed`).
        """
        var source = NoStream()
        return self._run(
            request^, Upload(), source, sink, progress, ContentUse.PASS_ON
        )

    def upload[
        R: Readable
    ](
        mut self,
        var request: ClientRequest,
        mut source: R,
        content_len: Int = UNKNOWN_LEN,
    ) raises ClientError -> ClientResponse:
        """Sends a request whose content comes from a source.

        Such a request is not repeated once its content was read from, and
        follows no redirection that would need it again.

        Parameters:
            R: The source's type.

        Args:
            request: The request; its own content is not sent.
            source: The content.
            content_len: Its length in bytes; if it is not known, the content
                is sent in chunks.

        Returns:
            The response.

        Raises:
            ClientError: If there is none, or the source fails or is not as
                long as said (`SourceFailed`).
        """
        var nobody = NoProgress()
        return self.upload(request^, source, nobody, content_len)

    def upload[
        R: Readable, P: TransferProgress
    ](
        mut self,
        var request: ClientRequest,
        mut source: R,
        mut progress: P,
        content_len: Int = UNKNOWN_LEN,
    ) raises ClientError -> ClientResponse:
        """Sends content from a source, and tells how much of it the connection
        has taken.

        Raises:
            ClientError: If there is none, or the source fails, or `progress`
                raises (`SourceFailed`).
        """
        var sink = NoStream()
        return self._run(
            request^,
            Upload(content_len),
            source,
            sink,
            progress,
            ContentUse.KEEP,
        )

    def open(
        mut self,
        var request: ClientRequest,
        *,
        raw: Bool = False,
        head_timeout_ms: Int = CLIENTS_OWN,
        idle_timeout_ms: Int = CLIENTS_OWN,
    ) raises ClientError -> OpenResponse:
        """Sends a request, and gives its response as soon as the head is there.

            var response = client.open(ClientRequest("GET", "/events"))

        Redirections are followed, and what fails before the head is repeated as
        for `send`. A total time that was set is one for all of it, the
        caller's own time between reads included; the default,
        `WHILE_PROGRESSING`, ends at the head.

        Args:
            raw: True to read the content as it is transferred, not decoded.
            head_timeout_ms: Time until the head is there, redirections and
                repetitions included. Without it silence is bounded by
                `read_timeout_ms`, and all of it by the total time.
            idle_timeout_ms: Longest silence while the caller reads; without it
                `read_timeout_ms`.

        Returns:
            The response, to be read.

        Raises:
            ClientError: If there is none.
        """
        var key = self._changed_key(request)
        var response = self._opener().open(
            request^,
            OpenTimes(head_timeout_ms, idle_timeout_ms, AfterHead.AS_SET),
            raw=raw,
        )
        self._note_change(key, response)
        return response^

    def open[
        R: Readable
    ](
        mut self,
        var request: ClientRequest,
        var source: R,
        content_len: Int = UNKNOWN_LEN,
        *,
        raw: Bool = False,
        head_timeout_ms: Int = CLIENTS_OWN,
        idle_timeout_ms: Int = CLIENTS_OWN,
    ) raises ClientError -> OpenResponse:
        """Sends a request whose content comes from a source, not from itself,
        and goes on being sent while the caller reads the response.

        The source is read when the connection takes more; while it waits, the
        response is not read. A status of 300 or more ends the content."""
        var key = self._changed_key(request)
        var response = self._opener().open(
            request^,
            OpenTimes(head_timeout_ms, idle_timeout_ms, AfterHead.AS_SET),
            Upload(content_len),
            UploadSource(source^),
            raw=raw,
        )
        self._note_change(key, response)
        return response^

    def open_request(
        self,
        var request: ClientRequest,
        *,
        raw: Bool = False,
        head_timeout_ms: Int = CLIENTS_OWN,
        idle_timeout_ms: Int = CLIENTS_OWN,
    ) raises ClientError -> OpenRequest:
        """Begins a request whose content the caller writes, while it reads the
        response: an echo, or a conversation over a stream of HTTP/2.

            var call = client.open_request(ClientRequest("POST", "/echo"))

        If the request has content in memory, that is sent, and nothing can be
        written. Redirections and repetitions are as for `open` with a source:
        once content was written there are none. No cache is asked. Until the
        head is there the time of the caller between calls counts, too.

        Returns:
            The request; nothing of it is sent yet.

        Raises:
            ClientError: If it cannot be sent.
        """
        var upload = Upload() if request.body.is_given else Upload(UNKNOWN_LEN)
        return self._opener().begin(
            request^,
            OpenTimes(head_timeout_ms, idle_timeout_ms, AfterHead.AS_SET),
            upload,
            raw=raw,
        )

    def open(
        mut self,
        method: StringSpan,
        url: StringSpan,
        var body: RequestBody = RequestBody(),
        *,
        var headers: RequestHeaders = RequestHeaders(),
        var params: QueryParams = QueryParams(),
        var json: JsonContent = JsonContent(),
        var form: FormContent = FormContent(),
        var data: DataContent = DataContent(),
        timeout_ms: Int = CLIENTS_OWN,
        auth: Credentials = Credentials(),
        trace: TraceSpan = TraceSpan(),
        raw: Bool = False,
        head_timeout_ms: Int = CLIENTS_OWN,
        idle_timeout_ms: Int = CLIENTS_OWN,
    ) raises ClientError -> OpenResponse:
        """Sends a request, with the arguments of `request`, and gives its
        response as soon as the head is there; its time is for reading, too.

            var response = client.open("POST", "/chat", json={"stream": True})

        Raises:
            ClientError: If there is none, or content is given twice.
        """
        var bare = bare_request(
            method, url, headers^, params^, timeout_ms, auth, trace
        )
        return self.open(
            with_content(bare^, body^, json^, form^, data^),
            raw=raw,
            head_timeout_ms=head_timeout_ms,
            idle_timeout_ms=idle_timeout_ms,
        )

    def events(
        self,
        var request: ClientRequest,
        *,
        var last_id: String = String(),
        idle_timeout_ms: Int = EVENT_IDLE_MS,
        max_attempts: Int = EVENT_ATTEMPT_COUNT,
    ) -> EventSource:
        """Listens to server-sent events, and comes back when the connection
        breaks.

            var events = client.events(ClientRequest("GET", "/events"))

        Args:
            request: What asks for the events; nothing is sent before the first
                `next`.
            last_id: The id of the last event that is known, if any is.
            idle_timeout_ms: Longest silence of a connection, heartbeats being
                none; after it another one is tried.
            max_attempts: How often in turn it may go wrong, without an event
                in between, before `next` fails; 1 for never again.

        Returns:
            The events.
        """
        var events = EventSource(self._opener(), request^, last_id^)
        events.idle_timeout_ms = idle_timeout_ms
        events.max_attempts = max_attempts
        return events^

    def download_file(
        self,
        var request: ClientRequest,
        path: StringSpan,
        *,
        resumes: Bool = True,
        replaces: Bool = True,
        syncs: Bool = False,
        max_attempts: Int = DOWNLOAD_ATTEMPT_COUNT,
    ) raises ClientError -> DownloadedFile:
        """Brings content into a file, and goes on where an earlier call has
        stopped.

            _ = client.download_file(ClientRequest("GET", "/disk.img"), "disk.img")

        What comes is written to `path` with `.part` after it, and takes the
        file's name when it is complete. If the connection breaks, the rest is
        asked for by Range, on the condition that the content is still the same
        (If-Range); so it is in the next call if this one fails.

        Args:
            request: The request: GET, without Range.
            path: The file; its folder is there.
            resumes: False to begin from the start, and to keep nothing if it
                fails.
            replaces: False to fail if the file is there already.
            syncs: True to have the file survive a loss of power.
            max_attempts: How many requests in turn may bring less than 64 KiB;
                1 to send one.

        Returns:
            What was brought.

        Raises:
            ClientError: If it cannot be had, or the file not be written
                (`SinkFailed`, such as for a full disk).
        """
        var progress = NoProgress()
        return self.download_file(
            request^,
            path,
            progress,
            resumes=resumes,
            replaces=replaces,
            syncs=syncs,
            max_attempts=max_attempts,
        )

    def download_file[
        P: TransferProgress
    ](
        self,
        var request: ClientRequest,
        path: StringSpan,
        mut progress: P,
        *,
        resumes: Bool = True,
        replaces: Bool = True,
        syncs: Bool = False,
        max_attempts: Int = DOWNLOAD_ATTEMPT_COUNT,
    ) raises ClientError -> DownloadedFile:
        """Brings content into a file, and tells how far it is, what was there
        before included."""
        var download = FileDownload(
            self._opener(),
            request^,
            path,
            DownloadOptions(resumes, replaces, syncs, max_attempts),
        )
        return download.run(progress)
