"""What is served: a page, a greeting, and a sign of life."""

from flare.http import Request, Response, Router, SecurityHeaders, ok, ok_html
from flare.http.middleware import Health
from flare.http.routing import AnyHandler

comptime PAGE = StaticString(
    """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>{{name}}</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <h1>{{name}}</h1>
    <p>It runs. Say <a href="/hello/world">hello</a>.</p>
  </body>
</html>
"""
)


def routes() raises -> Router:
    """Puts the routes together; `flare routes` lists them."""
    var router = Router()
    router.get("/", home)
    router.get("/hello/:name", hello)
    router.get("/live", Health())
    return router^


def service() raises -> AnyHandler:
    """Puts middleware around the routes, for the server and for tests alike."""
    return SecurityHeaders(routes())


def home(req: Request) raises -> Response:
    return ok_html(PAGE)


def hello(req: Request) raises -> Response:
    return ok(String("hello, ", req.param("name"), "\n"))
