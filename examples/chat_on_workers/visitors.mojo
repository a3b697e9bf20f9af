"""Two visitors of the room, whose workers are not the same."""

from examples.chat_on_workers.room import Message, News
from flare.http import ClientRequest, HttpClient
from flare.json import parse, read_json
from flare.ws import WsClient
from std.os import Process
from std.time import perf_counter_ns, sleep

comptime WAIT_S = 30


struct Visitor(Movable):
    """A client of the room, and the worker that it is at."""

    var name: String
    var socket: WsClient
    var worker: Int

    def __init__(out self, port: Int, name: StringSpan) raises:
        self.name = String(name)
        self.socket = WsClient.connect(
            String("ws://127.0.0.1:", port, "/room?name=", name)
        )
        self.worker = 0
        self.worker = self.hear("welcome").worker

    def say(mut self, text: StringSpan) raises:
        self.socket.send_text(String('{"text":"', text, '"}'))

    def hear(mut self, kind: StringSpan) raises -> News:
        """Waits for news of a kind."""
        while True:
            var document = parse(self.socket.recv_message().as_text())
            var news = read_json[News](document.view())
            if news.kind == kind:
                return news^

    def show_names(mut self, wanted: StringSpan) raises:
        """Asks until these are in the room: who died is missed after 5 s."""
        var end_ns = perf_counter_ns() + WAIT_S * 1_000_000_000
        var names = String()
        while names != wanted and perf_counter_ns() < end_ns:
            sleep(0.05)
            self.socket.send_text("{}")
            names = ", ".join(self.hear("who").names)
        print(self.name, "sees:", names)


def read_one(port: Int, last_id: String) raises -> Tuple[String, String]:
    """Reads the first message behind one, at any worker; gives its id, too."""
    var client = HttpClient(String("http://127.0.0.1:", port))
    var messages = client.events(
        ClientRequest("GET", "/messages"), last_id=last_id
    )
    var event = messages.next().value().copy()
    var document = parse(event.data)
    var message = read_json[Message](document.view())
    return (String(message.name, ": ", message.text), event.id)


def visit(port: Int) raises:
    """Talks, has a worker killed, and finds what was said meanwhile."""
    var ann = Visitor(port, "ann")
    var bob = Visitor(port, "bob")
    while bob.worker == ann.worker:
        # Who is asked is the kernel's choice.
        bob = Visitor(port, "bob")
    print("ann and bob are at two workers")

    ann.say("good morning")
    var read = read_one(port, "")
    print("bob reads:", read[0])
    ann.show_names("ann, bob")
    bob.show_names("ann, bob")

    var kill = Process.run("/bin/kill", ["-KILL", String(ann.worker)])
    _ = kill.wait()
    print("ann's worker is killed")
    bob.say("are you still there?")
    # Any worker knows what came behind the last message that she has.
    print("ann reads:", read_one(port, read[1])[0])
    ann = Visitor(port, "ann")
    ann.show_names("ann, bob")
    bob.show_names("ann, bob")
    # A connection ends with the last use of what holds it.
    _ = ann^
