"""The program {{name}}: a room whose visitors hear each other.

It is started where the folder `site` is.
"""

from app.service import routes, service
from flare.http import AccessLog, ServerSettings
from flare.settings import read_settings


def main() raises:
    # Variables such as APP_PORT, and options such as --port 9000; see --help.
    var settings = read_settings[ServerSettings]("APP_").take()
    var server = settings.bind()
    print("http://", server.local_addr(), sep="", flush=True)
    # Ctrl-C and SIGTERM let requests under way finish.
    server.serve(
        AccessLog(service("site")), num_workers=settings.worker_count()
    )
