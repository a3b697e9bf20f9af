"""Whether a service lives and is ready."""

from flare.http.message.request import Request
from flare.http.message.response import APPLICATION_JSON, Response
from flare.http.handler.handler import Handler, RequestPolicy
from flare.http.handler.ready_switch import ReadySwitch
from flare.json.writer import JsonComposer

comptime HealthCheck = def() raises thin -> None
"""Finds out whether a part works; raises with the reason if not."""


@fieldwise_init
struct Health(Handler):
    """Answers 200 as long as the program answers at all (liveness)."""

    def serve(self, req: Request) raises -> Response:
        """Says that the program lives, by a 200 that no cache keeps.

        Raises:
            Error: Never.
        """
        return _report(200, '{"status":"ok"}')

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells that this takes no time."""
        return RequestPolicy.by_head()


@fieldwise_init
struct _NamedCheck(Copyable, Movable):
    var name: String
    var check: HealthCheck


struct Readiness(Handler):
    """Answers 200 if the program can serve requests, else 503 (readiness).

        var ready = Readiness(server.ready_switch())
        ready.add("database", ping_database)
        router.get("/ready", ready^)

    All checks run for each request, one after the other, on the worker's own
    thread or a handler thread, as any handler (`ServerConfig.handler_threads`).
    """

    var switch: ReadySwitch
    """Turned off, it makes the answer 503 whatever the checks say."""
    var _checks: List[_NamedCheck]

    def __init__(out self, switch: ReadySwitch = ReadySwitch()):
        """Makes an endpoint without checks."""
        self.switch = switch
        self._checks = []

    def add(mut self, var name: String, check: HealthCheck):
        """Adds a check.

        Args:
            name: What is checked; it stands in the answer.
            check: Raises if it does not work; the reason is not told.
        """
        self._checks.append(_NamedCheck(name^, check))

    def serve(self, req: Request) raises -> Response:
        """Runs the checks, and gives 200 or 503, with a JSON object that names
        each check's outcome.

        Raises:
            Error: Never.
        """
        var is_ready = self.switch.is_ready()
        var writer = JsonComposer()
        writer.text("switch", "ok" if is_ready else "off")
        for ref named in self._checks:
            var works = _works(named.check)
            writer.text(named.name, "ok" if works else "failed")
            is_ready = is_ready and works
        return _report(200 if is_ready else 503, writer^.finish())


def _works(check: HealthCheck) -> Bool:
    try:
        check()
        return True
    except:
        return False


def _report(status: Int, var text: String) raises -> Response:
    var response = Response(status, text^, content_type=APPLICATION_JSON)
    response.headers.set("Cache-Control", "no-store")
    return response^
