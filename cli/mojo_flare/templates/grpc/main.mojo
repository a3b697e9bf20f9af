"""The program {{name}}: services of gRPC."""

from app.service import routes, service
from flare.http import AccessLog, ServerSettings
from flare.settings import settings_or_exit


def main() raises:
    # Variables such as APP_PORT, and options such as --port 9000; see --help.
    var defaults = ServerSettings()
    defaults.workers = 2
    var settings = settings_or_exit[ServerSettings]("APP_", defaults^).take()
    var server = settings.bind_or_exit()
    print("http://", server.local_addr(), sep="", flush=True)
    # Processes: one that crashes is started anew while the others serve. Ctrl-C
    # and SIGTERM let requests under way finish.
    server.serve_prefork(AccessLog(service()), workers=settings.worker_count())
