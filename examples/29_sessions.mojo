# 29 Sessions: a signed cookie around handlers, and a token that shows that a
# form came from one of our own pages.
#
# Expected output:
#   nobody
#   ann
#   posted: 200, from elsewhere: 403
#   nobody

from flare.http import Request, Response, Router, Sessions, forbidden, ok
from flare.http.middleware import CurrentSession
from flare.http.session import SessionConfig, SigningKeys
from flare.testing import TestClient


def login(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("user", req.query_param("user"))
    return ok()


def logout(req: Request) raises -> Response:
    CurrentSession.of(req)[].clear()
    return ok()


def whoami(req: Request) raises -> Response:
    return ok(CurrentSession.of(req)[].get("user").or_else("nobody"))


def form(req: Request) raises -> Response:
    return ok(CurrentSession.of(req).csrf_token())


def post(req: Request) raises -> Response:
    if not CurrentSession.of(req).has_csrf_token(req.query_param("token")):
        return forbidden()
    return ok()


def main() raises:
    var router = Router()
    router.post("/login", login)
    router.post("/logout", logout)
    router.get("/whoami", whoami)
    router.get("/form", form)
    router.post("/post", post)
    # The first key signs; older ones are still believed.
    var keys = SigningKeys("c2f1b5e09a7d4e38a6f0d1c2b3a49586")
    var config = SessionConfig(is_secure=False)  # there is no TLS here
    var client = TestClient(Sessions(router^, keys^, config^))

    print(client.get("/whoami").text())
    _ = client.post("/login?user=ann")
    print(client.get("/whoami").text())
    var token = client.get("/form").text()
    print("posted:", client.post("/post?token=" + token).status, end=", ")
    print("from elsewhere:", client.post("/post?token=guess").status)
    _ = client.post("/logout")
    print(client.get("/whoami").text())
