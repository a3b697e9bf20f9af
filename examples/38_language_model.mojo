# 38 The answer of a language model, read while it is made: server-sent events
# of one response, with JSON in each.
#
# Expected output:
#   Mojo is fast.
#   4 tokens, then: stop

from flare.bytes.buffer import Buffer
from flare.http import HttpClient, HttpServer, Request, Response
from flare.http import ServerSentEvent, ok_stream
from flare.http.message import BodySource, Poll
from flare.json import parse, read_json
from flare.net import SocketAddr
from flare.runtime import Task, Thread

comptime WORDS: List[StaticString] = ["Mojo", " is", " fast", "."]


@fieldwise_init
struct Delta(Copyable, Movable):
    var token: String
    var finish: Optional[String]


struct Answer(BodySource):
    var next: Int

    def __init__(out self):
        self.next = 0

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var text = String('{"token": "", "finish": "stop"}')
        if self.next < 4:
            text = String('{"token": "', materialize[WORDS]()[self.next], '"}')
        ServerSentEvent(text^, name="delta").append_to(out)
        self.next += 1
        return Poll.READY if self.next <= 4 else Poll.DONE


def chat(req: Request) raises -> Response:
    return ok_stream(Answer(), "text/event-stream")


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        self.server.serve(chat)


def ask(url: String) raises:
    var client = HttpClient(url)
    # Nothing for a minute is the end; how long all of it takes does not matter.
    var response = client.open(
        "POST", "/chat", json={"stream": True}, idle_timeout_ms=60_000
    )
    response.raise_for_status()
    var count = 0
    while True:
        var event = response.next_event()
        if not event:
            raise Error("the answer was cut off")
        var document = parse(event.value().data)
        var delta = read_json[Delta](document.view())
        if delta.finish:
            print("\n", count, " tokens, then: ", delta.finish.value(), sep="")
            return
        print(delta.token, end="", flush=True)
        count += 1


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    var thread = Thread(Serving(server^))
    ask(url)
    stopper.shutdown()
    thread^.join()
