"""A SOCKS5 proxy of others with a login; prints its port."""

import asyncio

import pproxy


async def main() -> None:
    server = pproxy.Server("socks5://127.0.0.1:0/#me:word")
    handler = await server.start_server({"rserver": []})
    print(handler.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
