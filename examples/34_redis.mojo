# 34 Redis: commands, several at once, and what an error says. The server is the
# one of the first argument, or that of this machine.
#
# Needs: redis-server
# Expected output:
#   hello
#   visits: 42
#   queued: b, a
#   3 is no list: WrongType
#   entry: paid

from flare.redis import (
    Pipeline,
    RedisClient,
    RedisError,
    StreamPosition,
)
from std.sys import argv


def main() raises:
    var arguments = argv()
    var url = String("redis://127.0.0.1:6379")
    if len(arguments) > 1:
        url = String(arguments[1])
    var redis = RedisClient.connect(url)
    redis.set("example:greeting", "hello", expire_ms=60_000)
    print(redis.get("example:greeting").or_else("gone"))

    var pipe = Pipeline()
    pipe.delete("example:queue")
    pipe.set("example:visits", "41")
    pipe.incr("example:visits")
    pipe.command("LPUSH", "example:queue", "a", "b")
    print("visits:", redis.execute(pipe)[2].integer())
    print("queued:", ", ".join(redis.lrange("example:queue", 0, -1)))

    refuse(redis)

    var id = redis.xadd("example:orders", "state", "new")
    _ = redis.xadd("example:orders", "state", "paid")
    var batches = redis.xread([StreamPosition("example:orders", id)])
    print("entry:", batches[0].entries[0].get("state").value().text())
    _ = redis.delete("example:visits", "example:queue", "example:orders")


def refuse(mut redis: RedisClient) raises RedisError:
    redis.set("example:three", "3")
    try:
        _ = redis.lpush("example:three", "x")
    except error:
        print(redis.get("example:three").value(), "is no list:", error.kind)
    _ = redis.delete("example:three")
