"""The HTTP server."""

from flare.http.server.config import ServerConfig
from flare.http.server.server import ReloadHandle, ShutdownHandle, StatsHandle
from flare.http.server.server import HttpServer
