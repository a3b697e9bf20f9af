"""What the fields of `ServerConfig` mean, a line each, for `--help`.

Their docstrings have more, but a program cannot read those.
"""


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var name: StaticString
    var about: StaticString


comptime _ROWS: List[_Row] = [
    _Row("max_header_size", "Longest header section of a request (431)."),
    _Row("max_target_size", "Longest request target (414)."),
    _Row("max_fields", "Most header fields of a request (431)."),
    _Row("max_body_size", "Most content of a request (413)."),
    _Row(
        "max_buffered_bodies_size",
        "Memory for content of all requests, in each worker (503).",
    ),
    _Row(
        "max_keepalive_requests",
        "Requests that one connection may carry; 0 for no end.",
    ),
    _Row(
        "max_connections",
        "Connections that each worker may have open at once (503).",
    ),
    _Row("header_timeout_ms", "For the head of a request."),
    _Row("body_timeout_ms", "For the content of a request."),
    _Row(
        "min_body_rate",
        "Bytes a second that prolong body_timeout_ms; 0 for none.",
    ),
    _Row("idle_timeout_ms", "Between two requests of a connection."),
    _Row("write_timeout_ms", "For a client to take its response."),
    _Row(
        "min_send_rate",
        "Bytes a second that prolong write_timeout_ms; 0 for none.",
    ),
    _Row(
        "max_connection_age_ms",
        "How old a connection may get; 0 for any age.",
    ),
    _Row(
        "handler_threads",
        "Threads of each worker for handlers that wait; 0 none, -1 as needed.",
    ),
    _Row("handler_queue", "Requests that may wait for such a thread (503)."),
    _Row("handler_timeout_ms", "For a handler on such a thread (503)."),
    _Row(
        "linger_timeout_ms",
        "For a client to read the last response before the end.",
    ),
    _Row("shutdown_timeout_ms", "For requests under way at a shutdown."),
    _Row(
        "listener",
        "per_worker for a socket for each worker, or shared for one.",
    ),
    _Row(
        "proxy_protocol",
        "Networks of proxies that begin with a PROXY header.",
    ),
    _Row(
        "inherits_listeners",
        "Take listening sockets over from a service manager.",
    ),
    _Row("handles_signals", "Stop in good order at SIGTERM and SIGINT."),
    _Row("logs_errors", "Log errors of handlers and connections."),
    _Row(
        "slow_handler_ms",
        "Warn of handlers that hold a worker for longer; 0 for never.",
    ),
    _Row("http2", "Speak HTTP/2 with clients that do."),
    _Row("http2_limits", "What a client may ask for over HTTP/2."),
]


def about_field(name: StringSpan) -> StaticString:
    """Says what a field means; empty for a name that is none."""
    for row in materialize[_ROWS]():
        if row.name == name:
            return row.about
    return ""
