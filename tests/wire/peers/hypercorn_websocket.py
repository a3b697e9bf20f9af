"""Hypercorn with an application that echoes WebSocket messages, for the client's
tests.

    hypercorn_websocket.py CERTIFICATE KEY
"""

import asyncio
import socket
import sys

try:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
except ImportError:
    print("hypercorn is not installed", flush=True)
    sys.exit(1)


async def echo(scope, receive, send) -> None:
    """Says which version and path it was asked by, then what it hears."""
    if scope["type"] != "websocket":
        return
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    first = f"{scope['http_version']} {scope['path']}"
    await send({"type": "websocket.send", "text": first})
    while (event := await receive())["type"] == "websocket.receive":
        said = {name: event[name] for name in ("bytes", "text") if event.get(name) is not None}
        await send({"type": "websocket.send", **said})


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.certfile, config.keyfile = sys.argv[1:]
    config.errorlog = None
    # Who connects before it serves waits in the listener's queue.
    print(f"listening on 127.0.0.1:{listener.getsockname()[1]}", flush=True)
    asyncio.run(serve(echo, config))


if __name__ == "__main__":
    main()
