"""The program {{name}}: a JSON API with login."""

from app.service import routes, service
from app.settings import Settings, made_up_secrets
from flare.http import AccessLog
from flare.settings import read_settings


def main() raises:
    # Variables such as APP_PORT, and options such as --port 9000; see --help.
    var settings = read_settings[Settings]("APP_").take()
    var is_made_up = not settings.password
    made_up_secrets(settings)
    var server = settings.server.bind()
    var url = String("http://", server.local_addr())
    print(url, "- its description is at", url + "/docs", flush=True)
    if is_made_up:
        var password = settings.password.value().reveal()
        print("log in as admin with", password, flush=True)
    var workers = settings.server.worker_count()
    # Ctrl-C and SIGTERM let requests under way finish.
    server.serve(AccessLog(service(settings)), num_workers=workers)
