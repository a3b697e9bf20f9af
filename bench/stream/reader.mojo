"""Reads a response piece by piece, and counts. PORT."""

from flare.http import HttpClient
from std.sys import argv


def main() raises:
    var client = HttpClient()
    var response = client.open(
        "GET", String("http://127.0.0.1:", argv()[1], "/")
    )
    var room = List[UInt8](length=65_536, fill=0)
    var total = 0
    while True:
        var count = response.read(room)
        if count == 0:
            break
        total += count
    print(total)
