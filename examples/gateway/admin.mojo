"""The gateway's own side: figures, a page of its upstreams, and changes."""

from flare.http import HttpServer, Request, Response, Router, bad_request
from flare.http import not_found, ok, ok_html
from flare.http.middleware import MetricSource, MetricsEndpoint
from flare.http.proxy import Outcome, UpstreamMetrics, Upstreams
from flare.http.routing import Handler
from flare.runtime import Task


@fieldwise_init
struct Group(Copyable, Movable):
    """The upstreams of one route."""

    var prefix: String
    var upstreams: Upstreams


@fieldwise_init
struct AllMetrics(Copyable, MetricSource):
    """The figures of all groups."""

    var groups: List[Group]

    def write_metrics(self, mut text: String):
        for group in self.groups:
            UpstreamMetrics(group.prefix, group.upstreams).write_metrics(text)


@fieldwise_init
struct Page(Handler):
    """Shows all upstreams, and brings itself up to date."""

    var groups: List[Group]

    def serve(self, req: Request) raises -> Response:
        var text = String(
            "<!doctype html><html lang=en><meta charset=utf-8><meta"
            " http-equiv=refresh content=2><title>Gateway</title><style>body{font:16px"
            " system-ui;margin:2rem}table{border-collapse:collapse}td,th{padding:.3rem"
            " 1rem;border-bottom:1px solid #ccc;text-align:left}.up{color:#060}"
            ".down,.ejected,.open{color:#a00}.draining{color:#850}</style>"
        )
        for group in self.groups:
            text.write("<h2>", _escaped(group.prefix), "</h2><table><tr>")
            text.write("<th>upstream<th>state<th>under way<th>answered")
            text.write("<th>failed<th>ejections")
            for member in group.upstreams.figures():
                var failed = 0
                for code in range(len(member.outcome_counts)):
                    if Outcome(UInt8(code)).is_failure():
                        failed += member.outcome_counts[code]
                var state = member.state.name()
                text.write("<tr><td>", _escaped(member.address))
                text.write(
                    " " if member.ip.byte_length() > 0 else "", member.ip
                )
                text.write("<td class=", state, ">", state)
                text.write("<td>", member.active_count, "<td>")
                text.write(member.outcome_counts[0], "<td>", failed)
                text.write("<td>", member.ejection_count)
            text.write("</table><p>sent again: ")
            text.write(group.upstreams.retry_count())
            for failed in group.upstreams.failed_counts():
                text.write("<br>failed: ", failed.count, " (")
                text.write(failed.outcome.reason(), "; not sent again: ")
                text.write(failed.decision.name(), ")")
        return ok_html(text^)


def _escaped(text: String) -> String:
    return text.replace("&", "&amp;").replace("<", "&lt;")


@fieldwise_init
struct Change(Handler):
    """Drains an upstream, removes it, or adds one:
    `POST /drain?route=/api&upstream=http://127.0.0.1:9001`."""

    var groups: List[Group]
    var what: String

    def serve(self, req: Request) raises -> Response:
        var url = req.query_param("upstream")
        var route = req.query_param("route")
        for group in self.groups:
            if group.prefix == route:
                return self._change(group.upstreams, url)
        return not_found(req.url)

    def _change(self, upstreams: Upstreams, url: String) raises -> Response:
        if self.what == "add":
            try:
                upstreams.add(url)
            except error:
                return bad_request(String(error))
            return ok("added\n")
        var is_there: Bool
        if self.what == "drain":
            is_there = upstreams.drain(url)
        else:
            is_there = upstreams.remove(url)
        if not is_there:
            return bad_request("there is no such upstream\n")
        if upstreams.is_drained(url):
            return ok("drained\n")
        return ok("draining\n")


@fieldwise_init
struct Admin(Movable, Task):
    """Serves all that, on a thread and a port of its own."""

    var server: HttpServer
    var groups: List[Group]

    def run(mut self) raises:
        var router = Router()
        router.get("/", Page(self.groups.copy()))
        router.get("/metrics", MetricsEndpoint(AllMetrics(self.groups.copy())))
        for what in ["drain", "remove", "add"]:
            router.post(
                String("/", what), Change(self.groups.copy(), String(what))
            )
        self.server.serve(router^)
