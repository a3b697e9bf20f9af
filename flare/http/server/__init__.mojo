"""The HTTP server."""

from flare.http.h1.field_section import HeadLimits
from flare.http.server.config import (
    AUTOMATIC_THREADS,
    ListenerMode,
    ServerConfig,
)
from flare.http.server.server import (
    HttpServer,
    ReloadHandle,
    ShutdownHandle,
    StatsHandle,
)
from flare.http.server.settings import ServerSettings
