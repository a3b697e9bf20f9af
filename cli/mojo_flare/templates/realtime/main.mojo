"""The program {{name}}: a room whose visitors hear each other.

It is started where the folder `site` is.
"""

from app.room import Room
from app.service import routes, service
from flare.backplane import Presence
from flare.http import AccessLog, ServerSettings
from flare.runtime import PreforkConfig, PreforkHooks
from flare.settings import exit_refusing, settings_or_exit
from std.os.path import isdir


@fieldwise_init
struct EachWorker(PreforkHooks):
    """What each worker process begins with."""

    var presence: Presence

    def on_worker_started(mut self, worker: Int) raises:
        # Its first visitor is to be told how many there are at the others.
        self.presence.open()


def main() raises:
    # Variables such as APP_PORT, and options such as --port 9000; see --help.
    var defaults = ServerSettings()
    defaults.workers = 2
    var settings = settings_or_exit[ServerSettings]("APP_", defaults^).take()
    if not isdir("site"):
        exit_refusing(["there is no folder site here; start it where that is"])
    var server = settings.bind_or_exit()
    print("http://", server.local_addr(), sep="", flush=True)
    # Processes: one that crashes is started anew while the others serve. Ctrl-C
    # and SIGTERM let requests under way finish.
    var room = Room()
    var each = EachWorker(room.presence.copy())
    server.serve_prefork(
        AccessLog(service("site", room^)),
        PreforkConfig(workers=settings.worker_count()),
        each^,
    )
