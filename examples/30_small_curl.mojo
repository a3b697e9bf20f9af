# 30 A small curl: fetches URLs, with curl's options and exit codes.
#
#   30_small_curl [-L] [-I] [-f] [-G] [-0] [--compressed] [-X METHOD]
#                 [-H FIELD] [-d DATA] [-A AGENT] [-e URL] [-b COOKIES]
#                 [-u USER:PASSWORD] [--max-redirs N] [-m SECONDS] URL...
#
# The authorities to trust come from SSL_CERT_FILE, or else from the system.
# Where curl 7 and RFC 9110 differ on a redirection (a method given with -X and
# 301, 302 or 303), this program keeps to the RFC. Without arguments it shows
# itself on a server of its own.
#
# Expected output:
#   hello from GET
#   $ -L /moved
#   hello from GET
#   $ -d a=1 -d b=2
#   hello from POST: a=1&b=2
#   $ -G -d a=1
#   hello from GET to /?a=1
#   $ -f /nowhere
#   exit code 22
#   $ http://127.0.0.1:1/
#   exit code 7

from examples.small_curl.cookie_file import keep_cookie
from examples.small_curl.failure import Failure
from examples.small_curl.options import Options, read_file
from examples.small_curl.standard_output import StandardOutput
from flare.http import BasicAuth, ClientConfig, ClientRequest, ClientResponse
from flare.http import CookieJar, Handler, HttpClient, HttpServer, Request
from flare.http import Response, ShutdownHandle, not_found, ok, redirect
from flare.http.client import Credentials, RequestBody, proxy_from_env
from flare.http.client.message.redirect import (
    drop_credentials,
    is_redirect,
    redirect_url,
)
from flare.http.message.body import Body
from flare.net import SocketAddr
from flare.sys.signal import ignore_sigpipe
from flare.tls import TlsConfig
from std.os import Process, getenv
from std.sys import argv, exit, stderr

comptime SILENCE_MS_MAX = 300_000
"""As curl's longest wait for a connection; here for each octet too."""


def make_client(options: Options) raises -> HttpClient:
    var config = ClientConfig()
    config.connect_timeout_ms = SILENCE_MS_MAX
    config.read_timeout_ms = SILENCE_MS_MAX
    config.write_timeout_ms = SILENCE_MS_MAX
    config.total_timeout_ms = options.time_ms
    config.decodes_content = options.has("z")
    config.proxy = proxy_from_env()
    var authorities = getenv("SSL_CERT_FILE")
    if authorities != "":
        config.tls = TlsConfig(ca_file=authorities, alpn=["http/1.1"])
    for field in options.fields:
        # `Name:` takes away what the client sends of itself.
        _ = config.headers.remove(field.split(":")[0])
    var client = HttpClient(config=config^)
    if len(options.cookie_files) == 0:
        return client^
    var jar = CookieJar()
    for path in options.cookie_files:
        try:
            var octets = read_file(path)
            for line in String(from_utf8_lossy=octets).split("\n"):
                keep_cookie(jar, line.removesuffix("\r"))
        except:
            # As curl, which makes an empty jar of a missing file.
            pass
    return client^.with_cookies(jar^)


def make_request(options: Options, url: String) raises -> ClientRequest:
    var request = ClientRequest("GET", _full_url(options, url))
    if options.has("I"):
        request.method = "HEAD"
    elif options.data and not options.has("G"):
        request.method = "POST"
        request.body = RequestBody(
            Body(options.data.value().copy()),
            "application/x-www-form-urlencoded",
        )
    if options.method:
        request.method = options.method.value()
    for field in options.fields:
        if ":" not in field and field.endswith(";"):
            request.headers.append(field.removesuffix(";"), "")
        elif ":" in field:
            var colon = field.find(":")
            var value = field[byte = colon + 1 :].strip()
            if value.byte_length() > 0:
                request.headers.append(field[byte=:colon], value)
    if options.cookies != "":
        request.headers.append("Cookie", options.cookies)
    if options.user:
        var pair = options.user.value()
        var user = pair.split(":")[0]
        var password = pair[byte = user.byte_length() :].removeprefix(":")
        request.auth = BasicAuth(String(user), String(password))
    request.max_redirects = 0
    if options.has("L") and not options.has("I"):
        request.max_redirects = options.max_redirects
        if options.max_redirects < 0:
            request.max_redirects = Int.MAX
    if options.has("0"):
        request.minor_version = 0
    return request^


def _full_url(options: Options, url: String) -> String:
    var full = url if "://" in url else "http://" + url
    if not options.has("G") or not options.data:
        return full
    var query = String(from_utf8_lossy=options.data.value())
    return String(full, "&" if "?" in full else "?", query)


def transfer(
    mut client: HttpClient, options: Options, url: String
) raises Failure:
    """Fetches a URL and writes what comes."""
    var request = _request(options, url)
    var scheme = request.url.split("://")[0].lower()
    if scheme != "http" and scheme != "https":
        raise Failure(1, String(request.url, ": only http and https are known"))
    var output = StandardOutput()
    if options.has("I"):
        return _show_heads(client, options, request^, output)
    var response = client.download(request^, output)
    _check(options, response)
    output.write_all(response.body.as_bytes())


def _request(options: Options, url: String) raises Failure -> ClientRequest:
    try:
        return make_request(options, url)
    except error:
        raise Failure(3, String(error))


def _check(options: Options, response: ClientResponse) raises Failure:
    var leads_on = is_redirect(response.status) and (
        "location" in response.headers
    )
    if options.has("L") and options.max_redirects == 0 and leads_on:
        raise Failure(47, "Maximum (0) redirects followed")
    if options.has("f") and response.status >= 400:
        var code = response.status.code
        raise Failure(22, String("The requested URL returned error: ", code))


def _show_heads(
    mut client: HttpClient,
    options: Options,
    var request: ClientRequest,
    mut output: StandardOutput,
) raises Failure:
    """Follows redirections itself: `-I` with `-L` shows the heads of all."""
    var left = options.max_redirects
    while True:
        var response = client.send(request.copy())
        output.write_head(response)
        var location = response.headers.get("location")
        var is_last = not is_redirect(response.status) or not location
        if is_last or not options.has("L"):
            return _check(options, response)
        if left == 0:
            var count = options.max_redirects
            raise Failure(
                47, String("Maximum (", count, ") redirects followed")
            )
        left -= 1
        var next = redirect_url(response.url, location.value())
        if not next.has_same_origin(response.url):
            drop_credentials(request.headers)
            request.auth = Credentials()
        request.url = String(next)


def run(words: List[String]) -> Int:
    """Fetches all URLs; the exit code is that of the last one."""
    var code = 0
    try:
        var options = Options(words)
        var client = _client(options)
        for url in options.urls:
            code = _run_one(client, options, url)
    except failure:
        return _tell(failure)
    return code


def _client(options: Options) raises Failure -> HttpClient:
    return make_client(options)


def _run_one(mut client: HttpClient, options: Options, url: String) -> Int:
    try:
        transfer(client, options, url)
        return 0
    except failure:
        return _tell(failure)


def _tell(failure: Failure) -> Int:
    print(t"curl: ({failure.code}) {failure.text}", file=stderr)
    return failure.code


@fieldwise_init
struct Demo(Handler):
    var stopper: ShutdownHandle

    def serve(self, req: Request) raises -> Response:
        if req.path == "/moved":
            return redirect("/")
        if req.path == "/stop":
            self.stopper.shutdown()
        elif not (req.path == "/"):
            return not_found("nothing here\n")
        var text = String("hello from ", req.method)
        if req.query.byte_length() > 0:
            text.write(" to ", req.url)
        if len(req.body) > 0:
            text.write(": ", String(from_utf8_lossy=req.body))
        return ok(text + "\n")


def show(program: String) raises:
    """Lets this program fetch from a server of its own."""
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var script = String(
        "u=http://", server.local_addr(), '; c="', program, '"\n'
    )
    script.write(
        """
export no_proxy='*'
say() { echo "$ $*"; }
$c $u/
say -L /moved; $c -L $u/moved
say -d a=1 -d b=2; $c -d a=1 -d b=2 $u/
say -G -d a=1; $c -G -d a=1 $u/
say -f /nowhere; $c -f $u/nowhere 2>/dev/null; echo exit code $?
say http://127.0.0.1:1/; $c http://127.0.0.1:1/ 2>/dev/null
echo exit code $?
$c $u/stop >/dev/null"""
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(Demo(server.shutdown_handle()))
    _ = client.wait()


def main() raises:
    var words = List[String]()
    for index in range(1, len(argv())):
        words.append(String(argv()[index]))
    if len(words) == 0:
        return show(String(argv()[0]))
    ignore_sigpipe()
    exit(run(words))
