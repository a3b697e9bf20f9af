"""Fuzzes backoff, budget and the sharing of sockets against their models."""

from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.prefork.config import Jitter, RestartBudget, RestartPolicy
from flare.runtime.prefork.roster import ListenerShare
from fuzz.engine import Target, fuzz_main


comptime _WORKER_COUNT_MAX = 5


struct PreforkTarget(Target):
    """Octets are times between crashes; each is looked at twice."""

    var shares: List[ListenerShare]
    """Sockets for one worker, for two, and so on: an input only says for how
    many, and twenty system calls for each would say nothing new."""

    def __init__(out self) raises:
        """Opens the sockets."""
        self.shares = List[ListenerShare]()
        for count in range(1, _WORKER_COUNT_MAX + 1):
            var share = ListenerShare(
                [RawSocket.listen_tcp(SocketAddr.localhost(0))], True
            )
            share.provide(count)
            self.shares.append(share^)

    def seeds(self) -> List[String]:
        """Lists times."""
        return ["aaaa", "zzzz", "\x01\x01\x7f"]

    def tokens(self) -> List[String]:
        """Lists times."""
        return ["\x01", "~"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares with counting anew, and keeps each socket owned once."""
        var policy = RestartPolicy(3, 100, 1, 1, 200)
        var budget = RestartBudget()
        var jitter = Jitter(UInt64(len(input)))
        var now = 0
        var crashes = List[Int]()
        for octet in input[0 : min(len(input), 64)]:
            now += Int(octet)
            crashes.append(now)
            var count = 0
            for crash in crashes:
                count += 1 if now - crash < 200 else 0
            if budget.note(policy, now) != count:
                raise Error("counted otherwise")
            var delay = policy.delay_ms(count, jitter.next())
            var full = min(3 << min(count - 1, 10), 100)
            if delay > full or delay < full - full // 2:
                raise Error("waits ", delay, " of ", full)
        var chosen = len(input) % _WORKER_COUNT_MAX
        _check_share(self.shares[chosen], 1 + chosen)


def _check_share(share: ListenerShare, count: Int) raises:
    for workers in range(1, count + 1):
        var owned = 0
        for worker in range(workers):
            owned += len(share.of(worker, workers))
        if owned != count and not share.is_shared:
            raise Error("sockets are lost")


def main() raises:
    """Runs the target."""
    fuzz_main("prefork", PreforkTarget())
