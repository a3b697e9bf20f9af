"""The program {{name}}: stands before another service.

It has a token and limits of its own.
"""

from app.service import routes, service
from app.settings import Settings, made_up_token
from flare.http import AccessLog, LogFormat
from flare.settings import read_settings


def main() raises:
    # Variables such as APP_UPSTREAM, and options such as --port 9000; see
    # --help.
    var settings = read_settings[Settings]("APP_").take()
    var is_made_up = not settings.token
    made_up_token(settings)
    var server = settings.server.bind()
    var url = String("http://", server.local_addr())
    print(url, "stands before", settings.upstream, flush=True)
    if is_made_up:
        var token = settings.token.value().reveal()
        print("clients need the token", token, flush=True)
    var workers = settings.server.worker_count()
    # Ctrl-C and SIGTERM let requests under way finish.
    server.serve(
        AccessLog(service(settings), LogFormat.JSON), num_workers=workers
    )
