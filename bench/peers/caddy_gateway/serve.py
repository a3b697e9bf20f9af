"""Writes the configuration of Caddy as a gateway into a folder, then becomes Caddy.

Usage: serve.py PORT UPSTREAM_PORT FOLDER; BENCH_HOST is the address.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    port, upstream, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    host = os.environ.get("BENCH_HOST", "127.0.0.1")
    proxy = {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"127.0.0.1:{upstream}"}],
        "transport": {
            "protocol": "http",
            "compression": False,
            "keep_alive": {"max_idle_conns_per_host": 1024},
        },
        # `Server` is let alone, and there is no second one.
        "headers": {"response": {"delete": ["Via"]}},
    }
    server = {
        "listen": [f"{host}:{port}"],
        "automatic_https": {"disable": True},
        "routes": [{"handle": [proxy]}],
    }
    configuration = {
        "admin": {"disabled": True},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "apps": {"http": {"servers": {"bench": server}}},
    }
    path = folder / "caddy.json"
    path.write_text(json.dumps(configuration))
    os.environ |= {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    os.execvp("caddy", ["caddy", "run", "--config", str(path)])


if __name__ == "__main__":
    main()
