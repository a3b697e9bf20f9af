"""The program {{name}}: a JSON API with login."""

from app.service import routes, service
from app.settings import Settings, made_up_secrets
from flare.http import AccessLog
from flare.settings import settings_or_exit


def main() raises:
    # Variables such as APP_PORT, and options such as --port 9000; see --help.
    var settings = settings_or_exit[Settings]("APP_").take()
    var is_made_up = not settings.password
    made_up_secrets(settings)
    var server = settings.server.bind_or_exit()
    var url = String("http://", server.local_addr())
    print(url, "- its description is at", url + "/docs", flush=True)
    if is_made_up:
        var password = settings.password.value().reveal()
        print("log in as admin with", password, flush=True)
    var workers = settings.server.worker_count()
    # A process that crashes is started anew. Ctrl-C and SIGTERM let requests
    # under way finish.
    server.serve_prefork(AccessLog(service(settings)), workers=workers)
