"""A reply that nobody has asked for is nobody's: what is unread before a command
ends the connection, but for pushes."""

import array
import contextlib
import fcntl
import queue
import socket
import ssl
import termios
import threading

import pytest
from conftest import running_client, wait_until
from ready import accepted, ready
from redis_servers import encoded
from test_redis_failures import HELLO, QUICK, call

TIMEOUT_S = 10
PUSH = b">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n"
SURPLUS = b"$4\r\nevil\r\n"
COUNT = 20


@pytest.fixture(scope="module")
def talker():
    yield from running_client("redis_talker")


class Echo:
    """A server of which each key has its own name for a value. Tests send more, in
    the pause behind a command, or along with the next answer."""

    def __init__(self, hello: bytes = HELLO, context: ssl.SSLContext | None = None):
        self.hello = hello
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        scheme = "rediss" if context else "redis"
        self.url = f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connection_count = 0
        self.along = b""
        # What the thread of the last connection is to send; nothing to close.
        self.orders: queue.Queue[tuple[bytes | None, threading.Event]]
        self.bell: socket.socket
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        for connection in accepted(self.listener):
            self.orders = queue.Queue()
            self.bell, ring = socket.socketpair()
            self.connection_count += 1
            arguments = (connection, self.orders, ring)
            threading.Thread(target=self._serve, args=arguments, daemon=True).start()

    def _serve(self, connection: socket.socket, orders, ring: socket.socket) -> None:
        """One thread for both directions, as TLS wants it."""
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            while True:
                readable = ready([connection, ring], TIMEOUT_S)
                if ring in readable:
                    ring.recv(1)
                    octets, done = orders.get()
                    if octets is None:
                        connection.close()
                        done.set()
                        return
                    connection.sendall(octets)
                    assert wait_until(lambda: unconfirmed(connection) == 0, TIMEOUT_S)
                    done.set()
                if connection in readable and not self._answer(connection):
                    return
        except OSError:
            pass
        finally:
            connection.close()

    def _answer(self, connection: socket.socket) -> bool:
        data = connection.recv(65_536)
        words = data.split(b"\r\n")[2::2]
        if not words:
            return False
        if words[0] == b"HELLO":
            connection.sendall(self.hello)
        else:
            along, self.along = self.along, b""
            connection.sendall(encoded(words[-1])[4:] + along)
        return True

    def say(self, octets: bytes | None) -> None:
        """Sends it, and returns when the client's system has it."""
        done = threading.Event()
        self.orders.put((octets, done))
        self.bell.sendall(b"!")
        assert done.wait(TIMEOUT_S)

    def end(self) -> None:
        self.say(None)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.listener.close()
        self.bell.close()


def unconfirmed(connection: socket.socket) -> int:
    """Counts the octets that the other end's system has not confirmed."""
    count = array.array("i", [0])
    fcntl.ioctl(connection, termios.TIOCOUTQ, count)
    return count[0]


def ask_many(talker, server: Echo, happens) -> tuple[int, int]:
    """Reads keys, and has something happen behind the third; gives how many
    answers were wrong, and how many connections there were."""
    wrong = 0
    for number in range(COUNT):
        key = f"key{number}"
        wrong += call(talker, "GET", key) != key
        if number == 2:
            happens(server)
    return wrong, server.connection_count


def along(octets: bytes):
    """With the next answer, in one piece."""

    def happens(server: Echo) -> None:
        server.along = octets

    return happens


def in_a_pause(octets: bytes):
    return lambda server: server.say(octets)


def cut(octets: bytes):
    """The rest comes when the next command waits."""

    def happens(server: Echo) -> None:
        server.say(octets[:9])
        later = (octets[9:], threading.Event())
        orders, bell = server.orders, server.bell

        def go_on() -> None:
            orders.put(later)
            # The connection may have ended for what has come of it.
            with contextlib.suppress(OSError):
                bell.sendall(b"!")

        threading.Timer(0.2, go_on).start()

    return happens


# What happens, and how many connections there are then.
CASES = {
    "a surplus reply": (along(SURPLUS), 2),
    "a surplus reply in a pause": (in_a_pause(SURPLUS), 2),
    "a part of one": (in_a_pause(SURPLUS[:5]), 2),
    "an error in a pause": (in_a_pause(b"-ERR max number of clients\r\n"), 2),
    "the end": (Echo.end, 2),
    "a push": (along(PUSH), 1),
    "a push in a pause": (in_a_pause(PUSH), 1),
    "many of them": (in_a_pause(PUSH * 2_000), 1),
    "a push that is cut": (cut(PUSH), 1),
    "a push and a surplus reply": (in_a_pause(PUSH + SURPLUS), 2),
    "a push that is cut, and a surplus reply": (cut(PUSH + SURPLUS), 2),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["plain", "tls", "RESP2"])
def test_answers_stay_with_their_commands(talker, certs, kind, case):
    happens, count = CASES[case]
    context, hello, options = None, HELLO, {}
    if kind == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
        options["ca_file"] = str(certs / "root.pem")
    if kind == "RESP2":
        hello = b"-ERR unknown command\r\n"
        # It knows no pushes.
        count = 2
    with Echo(hello, context) as server:
        answer = talker.ask(do="connect", url=server.url, **options, **QUICK)
        assert "error" not in answer, answer
        wrong, connections = ask_many(talker, server, happens)
    assert wrong == 0, f"{wrong} of {COUNT} got another's answer"
    assert connections == count


def test_what_changes_is_not_sent_twice(talker):
    """Nothing has left when it turns out that the connection is of no use."""
    with Echo() as server:
        talker.ask(do="connect", url=server.url, **QUICK)
        assert call(talker, "INCR", "a") == "a"
        server.say(SURPLUS)
        assert call(talker, "INCR", "b") == "b"
        server.end()
        assert call(talker, "INCR", "c") == "c"
        answer = talker.ask(do="pipeline", commands=[["GET", "d"]])
        assert answer["reply"] == ["d"]
        server.say(SURPLUS)
        answer = talker.ask(do="pipeline", commands=[["GET", "e"]])
        assert answer["reply"] == ["e"]
        assert server.connection_count == 4
