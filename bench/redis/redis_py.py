"""The benchmark's commands by redis-py: SOCKET COUNT PIPELINED GET|SET|SUB."""

import sys

import redis

KEY = "bench:key"
VALUE = "value-of-31-octets-01234567890."


def single(client: redis.Redis, count: int, is_get: bool) -> int:
    total = 0
    for _ in range(count):
        if is_get:
            total += len(client.get(KEY))
        else:
            total += int(client.set(KEY, VALUE))
    return total


def pipelined(client: redis.Redis, count: int, size: int, is_get: bool) -> int:
    total = 0
    for _ in range(count // size):
        pipe = client.pipeline(transaction=False)
        for _ in range(size):
            if is_get:
                pipe.get(KEY)
            else:
                pipe.set(KEY, VALUE)
        total += len(pipe.execute())
    return total


def listen(client: redis.Redis, count: int) -> int:
    subscriber = client.pubsub(ignore_subscribe_messages=True)
    subscriber.subscribe("bench:channel")
    total = 0
    while count:
        if message := subscriber.get_message(timeout=30):
            total += len(message["data"])
            count -= 1
    return total


def main() -> None:
    path, count, size, what = sys.argv[1:]
    client = redis.Redis(unix_socket_path=path)
    if what == "SUB":
        print(listen(client, int(count)))
    elif int(size) > 1:
        print(pipelined(client, int(count), int(size), what == "GET"))
    else:
        print(single(client, int(count), what == "GET"))


if __name__ == "__main__":
    main()
