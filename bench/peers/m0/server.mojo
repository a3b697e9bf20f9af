"""The hello server of the benchmarks on m0, a web framework in Mojo.

Usage: server --port PORT [--workers N]; M0_HOST is the address.
"""

from lightbug_http.header import Header, HeaderKey, Headers
from lightbug_http.http import HTTPRequest, HTTPResponse
from m0_host.flags import host_config
from m0_host.host import HostContext, ViewsApp, ViewState, serve
from m0_http import Views, reply


def plain(text: String) -> HTTPResponse:
    """Answers 200 with text."""
    return HTTPResponse(
        text.as_bytes(),
        Headers(Header(HeaderKey.CONTENT_TYPE, "text/plain; charset=utf-8")),
    )


struct Page(ViewState):
    """The 64 KiB that one route answers with."""

    var text: String

    def __init__(out self):
        self.text = String("x") * 65_536

    @staticmethod
    def make(ctx: HostContext) raises -> Self:
        return Self()

    @staticmethod
    def urls() raises -> Views[Self]:
        var views = Views[Self]()
        views.add_loop("GET", "/", hello)
        views.add_loop("GET", "/json", object)
        views.add_loop("GET", "/users/:id", user)
        views.add_loop("POST", "/upload", upload)
        views.add_read("GET", "/64k", large, on_loop=True)
        return views^


def hello(req: HTTPRequest, params: List[String]) -> HTTPResponse:
    return plain("Hello, World!")


def object(req: HTTPRequest, params: List[String]) -> HTTPResponse:
    return reply.json(200, "OK", '{"message":"Hello, World!"}')


def user(req: HTTPRequest, params: List[String]) -> HTTPResponse:
    return plain("user " + params[0])


def upload(req: HTTPRequest, params: List[String]) -> HTTPResponse:
    return plain("OK")


def large(
    req: HTTPRequest, params: List[String], page: Page
) raises -> HTTPResponse:
    return plain(page.text)


def main() raises:
    serve[ViewsApp[Page]](host_config())
