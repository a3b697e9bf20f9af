"""The methods of HTTP as calls, written once for all clients."""

from flare.http.client.message.arguments import (
    DataContent,
    FormContent,
    JsonContent,
    QueryParams,
    RequestHeaders,
)
from flare.http.client.connect.auth import Credentials
from flare.http.client.message.request import (
    CLIENTS_OWN,
    ClientRequest,
    RequestBody,
)
from flare.http.client.message.response import ClientResponse
from flare.trace.core.span import TraceSpan
from std.format import Writable as Writes


trait RequestMethods(Deinitable, Movable):
    """A client that can `send` has all these.

        var found = client.get("/items", params={"q": "tea"}, timeout_ms=500)
        client.post("/items", json={"name": "tea"}).raise_for_status()

    All but the URL and the content are given by name. Content is given once:
    as the second argument, or by one of `json`, `form` and `data`.
    """

    comptime Failure: Deinitable & Movable & Writes = Error
    """What is raised when there is no response."""

    def send(
        mut self, var request: ClientRequest
    ) raises Self.Failure -> ClientResponse:
        """Sends a request.

        Args:
            request: The request.

        Returns:
            The response.

        Raises:
            Failure: If there is none.
        """
        ...

    def request(
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
    ) raises Self.Failure -> ClientResponse:
        """Sends a request with any method.

        Args:
            method: The method, such as `PROPFIND`.
            url: The URL.
            body: The content, in place of `json`, `form` and `data`: text is sent
                as JSON, octets as octets, a form as a form.
            headers: Header fields, such as `{"Accept": "text/html"}`.
            params: Appended to the URL's query, such as `{"page": 2}`.
            json: The content as JSON: text that is JSON, a `JsonValue`, a
                plain struct, or a dictionary.
            form: The content as a form: a dictionary, a `FormData`, or a
                `MultipartForm`.
            data: The content as it is: text or octets.
            timeout_ms: Time for all of it in milliseconds.
            auth: `BasicAuth`, `BearerAuth` or `DigestAuth`.
            trace: The span that the request is a part of, such as
                `current_span(req)`; see `ClientRequest.set_trace`.

        Returns:
            The response.

        Raises:
            Failure: If there is none, or content is given twice.
        """
        var bare = bare_request(
            method, url, headers^, params^, timeout_ms, auth, trace
        )
        return self.send(with_content(bare^, body^, json^, form^, data^))

    def get(
        mut self,
        url: StringSpan,
        *,
        var headers: RequestHeaders = RequestHeaders(),
        var params: QueryParams = QueryParams(),
        timeout_ms: Int = CLIENTS_OWN,
        auth: Credentials = Credentials(),
        trace: TraceSpan = TraceSpan(),
    ) raises Self.Failure -> ClientResponse:
        """Fetches a resource.

        Returns:
            The response.

        Raises:
            Failure: If there is none.
        """
        return self.send(
            bare_request("GET", url, headers^, params^, timeout_ms, auth, trace)
        )

    def head(
        mut self,
        url: StringSpan,
        *,
        var headers: RequestHeaders = RequestHeaders(),
        var params: QueryParams = QueryParams(),
        timeout_ms: Int = CLIENTS_OWN,
        auth: Credentials = Credentials(),
        trace: TraceSpan = TraceSpan(),
    ) raises Self.Failure -> ClientResponse:
        """Fetches what is said of a resource, without its content; the rest is
        as for `get`."""
        return self.send(
            bare_request(
                "HEAD", url, headers^, params^, timeout_ms, auth, trace
            )
        )

    def options(
        mut self,
        url: StringSpan,
        *,
        var headers: RequestHeaders = RequestHeaders(),
        var params: QueryParams = QueryParams(),
        timeout_ms: Int = CLIENTS_OWN,
        auth: Credentials = Credentials(),
        trace: TraceSpan = TraceSpan(),
    ) raises Self.Failure -> ClientResponse:
        """Asks what a resource allows; the rest is as for `get`."""
        return self.send(
            bare_request(
                "OPTIONS", url, headers^, params^, timeout_ms, auth, trace
            )
        )

    def delete(
        mut self,
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
    ) raises Self.Failure -> ClientResponse:
        """Removes a resource; the rest is as for `request`."""
        var bare = bare_request(
            "DELETE", url, headers^, params^, timeout_ms, auth, trace
        )
        return self.send(with_content(bare^, body^, json^, form^, data^))

    def post(
        mut self,
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
    ) raises Self.Failure -> ClientResponse:
        """Lets a resource process content; the rest is as for `request`."""
        var bare = bare_request(
            "POST", url, headers^, params^, timeout_ms, auth, trace
        )
        return self.send(with_content(bare^, body^, json^, form^, data^))

    def put(
        mut self,
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
    ) raises Self.Failure -> ClientResponse:
        """Replaces a resource; the rest is as for `request`."""
        var bare = bare_request(
            "PUT", url, headers^, params^, timeout_ms, auth, trace
        )
        return self.send(with_content(bare^, body^, json^, form^, data^))

    def patch(
        mut self,
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
    ) raises Self.Failure -> ClientResponse:
        """Changes a part of a resource; the rest is as for `request`."""
        var bare = bare_request(
            "PATCH", url, headers^, params^, timeout_ms, auth, trace
        )
        return self.send(with_content(bare^, body^, json^, form^, data^))


def bare_request(
    method: StringSpan,
    url: StringSpan,
    var headers: RequestHeaders,
    var params: QueryParams,
    timeout_ms: Int,
    auth: Credentials,
    trace: TraceSpan,
) -> ClientRequest:
    """Makes a request without content of the arguments of a call; what is wrong
    with them is noted in it, for whoever sends it to raise. The time is for all
    of it, in milliseconds."""
    var request = ClientRequest(String(method), String(url))
    swap(request.headers, headers.fields)
    swap(request.query, params.pairs)
    request.total_timeout_ms = timeout_ms
    request.auth = auth.copy()
    request.problem = headers.problem
    request.set_trace(trace)
    return request^


def with_content(
    var request: ClientRequest,
    var body: RequestBody,
    var json: JsonContent,
    var form: FormContent,
    var data: DataContent,
) -> ClientRequest:
    """Gives a request without content that of a call: the body, unless it is
    given by name. That it is given twice, or is no JSON, is noted as in
    `bare_request`."""
    swap(request.body, body)
    if json.problem.byte_length() > 0:
        request.problem = json.problem
    _take_content(request, "json", json.body)
    _take_content(request, "form", form.body)
    _take_content(request, "data", data.body)
    return request^


def _take_content(
    mut request: ClientRequest, name: StaticString, mut body: RequestBody
):
    if not body.is_given:
        return
    if request.body.is_given:
        request.problem = String(
            "content is given twice, the second time by ", name, "=; give one"
        )
    swap(request.body, body)
