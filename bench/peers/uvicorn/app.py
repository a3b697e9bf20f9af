"""The hello server of the benchmarks as an ASGI application for uvicorn.

There is no router: a dictionary of paths stands for one.
"""

PLAIN = b"text/plain; charset=utf-8"
ANSWERS = {
    "/": (PLAIN, b"Hello, World!"),
    "/json": (b"application/json", b'{"message":"Hello, World!"}'),
    "/64k": (PLAIN, b"x" * 65536),
}


async def app(scope: dict, receive: object, send: object) -> None:
    """Answers one request."""
    if scope["type"] != "http":
        return
    path, status = scope["path"], 200
    kind, body = ANSWERS.get(path, (PLAIN, b""))
    if path.startswith("/users/"):
        body = b"user " + path.removeprefix("/users/").encode()
    elif path == "/upload" and scope["method"] == "POST":
        while (await receive()).get("more_body"):
            pass
        body = b"OK"
    elif path not in ANSWERS:
        status = 404
    fields = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})
