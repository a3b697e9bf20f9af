"""A client of flare: URL, how many requests at once, length of the content. For
each line on standard input it asks for so many seconds and prints what came of
it."""

from flare.http import (
    ClientConfig,
    ClientError,
    ClientRequest,
    ClientResponse,
    HttpClient,
    RequestBody,
)
from flare.sys.clock import monotonic_ns
from std.sys import argv

comptime BATCH_OF_EACH = 10
"""Requests handed over at once for each that is under way."""


struct Figures(Movable):
    """Counts responses."""

    var request_count: Int
    var octet_count: Int
    var failure_count: Int
    var _began_ns: Int
    var _end_ns: Int

    def __init__(out self, seconds: Int):
        self.request_count = 0
        self.octet_count = 0
        self.failure_count = 0
        self._began_ns = monotonic_ns()
        self._end_ns = self._began_ns + seconds * 1_000_000_000

    def is_over(self) -> Bool:
        return monotonic_ns() >= self._end_ns

    def take(mut self, response: ClientResponse):
        if response.status == 200:
            self.request_count += 1
            self.octet_count += len(response.body)
        else:
            self.failure_count += 1

    def tell(self):
        print('{"requests": ', self.request_count, sep="", end="")
        print(', "bytes": ', self.octet_count, sep="", end="")
        print(', "failures": ', self.failure_count, sep="", end="")
        var duration_us = (monotonic_ns() - self._began_ns) // 1000
        print(', "duration_us": ', duration_us, "}", sep="", flush=True)


def new_request(url: String, data_len: Int) -> ClientRequest:
    if data_len == 0:
        return ClientRequest("GET", url)
    var content = List[UInt8](length=data_len, fill=117)
    return ClientRequest("POST", url, RequestBody(content^))


def one_by_one(
    mut client: HttpClient, request: ClientRequest, mut figures: Figures
):
    while not figures.is_over():
        try:
            figures.take(client.send(request.copy()))
        except error:
            figures.failure_count += 1


def at_once(
    mut client: HttpClient,
    request: ClientRequest,
    parallel: Int,
    mut figures: Figures,
) raises ClientError:
    var requests = List[ClientRequest]()
    for _ in range(BATCH_OF_EACH * parallel):
        requests.append(request.copy())
    while not figures.is_over():
        var results = client.send_all(requests, max_parallel=parallel)
        for index in range(len(results)):
            ref result = results[index]
            if result.response:
                figures.take(result.response.value())
            else:
                figures.failure_count += 1


def main() raises:
    """Asks until the input ends."""
    var parallel = Int(argv()[2])
    var request = new_request(String(argv()[1]), Int(argv()[3]))
    var config = ClientConfig()
    config.pool.max_idle_per_host = parallel
    # As the others, which offer no codings here.
    config.decodes_content = False
    var client = HttpClient(config=config^)
    while True:
        var seconds: Int
        try:
            seconds = Int(input())
        except:
            return
        var figures = Figures(seconds)
        if parallel == 1:
            one_by_one(client, request, figures)
        else:
            at_once(client, request, parallel, figures)
        figures.tell()
