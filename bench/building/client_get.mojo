"""One GET: the smallest program that is a client."""

from flare.http import HttpClient


def main() raises:
    var client = HttpClient()
    var response = client.get("http://127.0.0.1:8080/")
    print(response.status, response.text())
