"""The benchmark's commands by flare: SOCKET COUNT PIPELINED GET|SET|SUB."""

from flare.redis import Pipeline, RedisClient, RedisConfig, RedisSubscriber
from std.sys import argv

comptime KEY = StaticString("bench:key")
comptime VALUE = StaticString("value-of-31-octets-01234567890.")


def single(mut redis: RedisClient, count: Int, is_get: Bool) raises -> Int:
    var total = 0
    for _ in range(count):
        if is_get:
            total += redis.get(KEY).value().byte_length()
        else:
            redis.set(KEY, VALUE)
            total += 1
    return total


def pipelined(
    mut redis: RedisClient, count: Int, size: Int, is_get: Bool
) raises -> Int:
    var pipe = Pipeline()
    var total = 0
    for _ in range(count // size):
        pipe.clear()
        for _ in range(size):
            if is_get:
                pipe.get(KEY)
            else:
                pipe.set(KEY, VALUE)
        for reply in redis.execute(pipe):
            total += Int(len(reply.octets()) > 0)
    return total


def listen(var config: RedisConfig, count: Int) raises -> Int:
    var subscriber = RedisSubscriber(config^)
    subscriber.subscribe("bench:channel")
    var total = 0
    for _ in range(count):
        var message = subscriber.receive(timeout_ms=30_000)
        total += len(message.value().octets())
    return total


def main() raises:
    var arguments = argv()
    var config = RedisConfig()
    config.unix_path = String(arguments[1])
    var count = Int(arguments[2])
    var size = Int(arguments[3])
    var what = String(arguments[4])
    if what == "SUB":
        print(listen(config^, count))
        return
    var redis = RedisClient.connect(config^)
    if size > 1:
        print(pipelined(redis, count, size, what == "GET"))
    else:
        print(single(redis, count, what == "GET"))
