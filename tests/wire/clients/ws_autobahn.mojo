"""The client that the Autobahn test suite drives: it echoes every message.

Usage: ws_autobahn PORT FIRST LAST

Runs the cases from FIRST to LAST of the server's list (LAST 0 for all), then
asks it for its report.
"""

from flare.ws import WsClient, WsClientConfig
from std.sys import argv

comptime CASE_TIMEOUT_MS = 120_000
# The longest messages of section 9 have 16 MiB.
comptime MESSAGE_LEN_MAX = 20 << 20


def _config() -> WsClientConfig:
    var config = WsClientConfig()
    config.read_timeout_ms = CASE_TIMEOUT_MS
    config.write_timeout_ms = CASE_TIMEOUT_MS
    config.max_frame_size = MESSAGE_LEN_MAX
    config.max_message_size = MESSAGE_LEN_MAX
    return config^


def _case_count(server: String) raises -> Int:
    var ws = WsClient.connect(server + "/getCaseCount", _config())
    return Int(ws.recv_message().as_text())


def _echo(url: String) raises:
    var ws = WsClient.connect(url, _config())
    while True:
        var message = ws.recv_message()
        if message.is_text:
            ws.send_text(message.as_text())
        else:
            ws.send_binary(message.as_bytes())


def _run(server: String, number: Int):
    var url = String(server, "/runCase?case=", number, "&agent=flare")
    try:
        _echo(url)
    except:
        # Each case ends so: how it may end is for the server to judge.
        return


def main() raises:
    """Runs the cases one after the other."""
    var server = String("ws://127.0.0.1:", argv()[1])
    var last = Int(String(argv()[3]))
    if last == 0:
        last = _case_count(server)
    for number in range(Int(String(argv()[2])), last + 1):
        _run(server, number)
    var ws = WsClient.connect(server + "/updateReports?agent=flare", _config())
    ws.close()
