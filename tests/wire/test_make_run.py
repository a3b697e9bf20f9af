"""What `make run` serves, in a network of its own, since its port is a fixed one."""

import subprocess
import sys

import pytest
from conftest import START_TIMEOUT_S
from toolchain import environment
from wire_programs import built_example

# Prints the port that the program tells, what it answers there, and how it ends.
VISIT = """
import http.client, re, signal, socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
others = [socket.create_server(("127.0.0.1", int(port))) for port in sys.argv[2:]]
server = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True)
said = [server.stdout.readline() for _ in range(3)]
host, port = re.search(r"curl -i http://(.+):(\\d+)/greet/you", said[1]).groups()
client = http.client.HTTPConnection(host, int(port), timeout=5)
client.request("GET", "/greet/you")
print(port, client.getresponse().read())
client.close()
server.send_signal(signal.SIGINT)
print(server.stdout.read().strip(), server.wait(20))
"""


@pytest.mark.parametrize("taken", [[], ["8080"]])
def test_it_serves_where_it_says(taken):
    inside = subprocess.run(["unshare", "--net", "ip", "link"], capture_output=True)
    if inside.returncode:
        pytest.skip("this machine gives us no network of our own")
    binary = built_example("server")
    found = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", VISIT, str(binary), *taken],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
    )
    assert found.returncode == 0, found.stderr
    (port, greeting), (word, status) = (
        line.split(" ", 1) for line in found.stdout.splitlines()
    )
    assert (greeting, word, status) == ("b'hi you\\n'", "stopped", "0")
    assert (port == "8080") == (not taken)
