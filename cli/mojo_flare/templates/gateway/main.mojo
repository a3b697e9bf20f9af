"""The program {{name}}: stands before other services.

It has a token and limits of its own.
"""

from app.service import routes, service
from app.settings import Settings, made_up_token
from flare.http import AccessLog
from flare.http.middleware import LogFormat
from flare.settings import settings_or_exit


def main() raises:
    # Variables such as APP_UPSTREAMS, and options such as --port 9000; see
    # --help.
    var settings = settings_or_exit[Settings]("APP_").take()
    var is_made_up = not settings.token
    made_up_token(settings)
    var server = settings.server.bind_or_exit()
    var url = String("http://", server.local_addr())
    print(url, "stands before", settings.upstreams, flush=True)
    if is_made_up:
        var token = settings.token.value().reveal()
        print("clients need the token", token, flush=True)
    var workers = settings.server.worker_count()
    # Processes: one that crashes is started anew while the others serve. Ctrl-C
    # and SIGTERM let requests under way finish.
    server.serve_prefork(
        AccessLog(service(settings), LogFormat.JSON), workers=workers
    )
