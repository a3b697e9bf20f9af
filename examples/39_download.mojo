# 39 A download with a bar: to a file, which has its name once it is complete,
# and goes on where an earlier download was broken off.
#
# Expected output:
#   [##########*] stopped: the power is gone
#   [####################] 1048576 bytes, 5* of them from before

from flare.http import ClientRequest, FileServer, HttpClient, HttpServer
from flare.http.client import Transfer, TransferProgress
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from std.subprocess import run
from std.tempfile import mkdtemp


struct Bar(TransferProgress):
    var marks: Int
    var stops_at: Int

    def __init__(out self, stops_at: Int):
        self.marks = 0
        self.stops_at = stops_at
        print("[", end="")

    def on_progress(mut self, transfer: Transfer) raises:
        if transfer.total_len <= 0:
            return
        while self.marks < 20 * transfer.done_len // transfer.total_len:
            print("#", end="", flush=True)
            self.marks += 1
        if transfer.done_len >= self.stops_at:
            raise Error("the power is gone")

    def end(self):
        print(" " * (20 - self.marks), "] ", sep="", end="")


@fieldwise_init
struct Serving(Task):
    var server: HttpServer
    var folder: String

    def run(mut self) raises:
        self.server.serve(FileServer(self.folder))


def fetch(url: String, path: String) raises:
    var client = HttpClient(url)
    var bar = Bar(600_000)
    try:
        _ = client.download_file(ClientRequest("GET", "/disk"), path, bar)
    except error:
        bar.end()
        print("stopped:", error.reason)
    bar = Bar(Int.MAX)
    var file = client.download_file(ClientRequest("GET", "/disk"), path, bar)
    bar.end()
    print(file.size, "bytes,", file.resumed_from, "of them from before")


def main() raises:
    var folder = mkdtemp()
    with open(folder + "/disk", "w") as disk:
        disk.write("flare---" * 131_072)
    # What was changed this second has no entity tag that could be trusted.
    _ = run(String("touch -d 2026-01-01 ", folder, "/disk"))
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    var thread = Thread(Serving(server^, folder))
    fetch(url, folder + "/copy")
    stopper.shutdown()
    thread^.join()
