"""The routes that every hello server of the benchmarks answers."""

from flare.http import Handler, Request, Response, Router, ok


def hello(req: Request) -> Response:
    return ok("Hello, World!")


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def upload(req: Request) -> Response:
    return ok("OK")


@fieldwise_init
struct Page(Copyable, Handler):
    """Answers with 64 KiB that all responses share."""

    var text: String

    def serve(self, req: Request) raises -> Response:
        return ok(self.text)


def hello_router() raises -> Router:
    """Makes the router of the hello servers."""
    var router = Router()
    router.get("/", hello)
    router.get("/users/:id", user)
    router.post("/upload", upload)
    router.get("/64k", Page(String("x") * 65_536))
    return router^
