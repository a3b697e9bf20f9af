"""Fuzzes replies of Redis: the same however the octets are cut, alone and as a
pipeline."""

from fuzz.engine import Target, cut_points, fuzz_main
from tests.support.redis_log import replies_log


@fieldwise_init
struct RedisReplyTarget(Target):
    """Split invariance of replies."""

    def seeds(self) -> List[String]:
        """Lists replies of both protocols."""
        return [
            "+OK\r\n-ERR no\r\n:12\r\n$5\r\nhello\r\n$-1\r\n*-1\r\n",
            "*3\r\n$1\r\na\r\n*1\r\n:-7\r\n_\r\n",
            "%2\r\n+a\r\n#t\r\n+b\r\n,1.5\r\n~1\r\n(123\r\n",
            ">3\r\n+message\r\n+c\r\n$1\r\nx\r\n:1\r\n",
            "|1\r\n+k\r\n:1\r\n=7\r\ntxt:abc\r\n!5\r\nERR a\r\n",
        ]

    def tokens(self) -> List[String]:
        """Lists heads and ends."""
        return ["\r\n", "$1", "*2", "%1", ">1", "|1", "*-1", "#t", ":", "!0"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces."""
        var cuts = cut_points(input)
        for count in [1, 3]:
            for takes_pushes in [False, True]:
                var whole = replies_log(
                    input, [len(input)], count, takes_pushes=takes_pushes
                )
                var pieces = replies_log(
                    input, cuts, count, takes_pushes=takes_pushes
                )
                if whole != pieces:
                    raise Error("whole: ", whole, " in pieces: ", pieces)


def main() raises:
    """Runs the target."""
    fuzz_main("redis_reply", RedisReplyTarget())
