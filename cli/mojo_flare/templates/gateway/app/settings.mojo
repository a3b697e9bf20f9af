"""What differs between the machines that the program runs on."""

from flare.http import ServerSettings
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.settings import Secret, SettingsGroup

comptime HEAD_LEN_MAX = 32 * 1024
"""Longest head of a request, in bytes: clients bring tokens and cookies of all
that is behind the gateway."""


struct Settings(Copyable, Defaultable, SettingsGroup):
    """How the gateway is set up: where it listens, and what is behind it."""

    var server: ServerSettings
    var upstreams: List[String]
    var health_path: String
    var health_interval_ms: Int
    var max_attempts: Int
    var answer_timeout_ms: Int
    var token: Optional[Secret]
    var requests_per_second: Float64

    def __init__(out self):
        """Makes the defaults."""
        self.server = ServerSettings()
        # While one is started anew, the other serves.
        self.server.workers = 2
        self.server.config.max_header_size = HEAD_LEN_MAX
        self.upstreams = ["http://127.0.0.1:9000"]
        self.health_path = String()
        self.health_interval_ms = 5_000
        self.max_attempts = 3
        self.answer_timeout_ms = 10_000
        self.token = None
        self.requests_per_second = 20

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Says what a setting means, for `--help`."""
        if name == "upstreams":
            return "URLs of the services behind the gateway."
        if name == "health_path":
            return "Asks upstreams there how they are; not at all if empty."
        if name == "health_interval_ms":
            return "How often each worker asks."
        if name == "max_attempts":
            return "How often a request is sent at most, if that is safe."
        if name == "answer_timeout_ms":
            return "How long an upstream may take until it answers."
        if name == "token":
            return "What clients show; without one it is made up, and printed."
        return "How often one address may ask each worker in the long run."

    def proxy(self) raises -> ReverseProxy:
        """Makes what sends requests on.

        Raises:
            Error: If an upstream is no URL, or a number is out of range.
        """
        var config = ProxyConfig()
        config.connect_timeout_ms = 1_000
        config.head_timeout_ms = self.answer_timeout_ms
        config.max_body_size = self.server.config.max_body_size
        config.group.health_path = self.health_path
        config.group.health_interval_ms = self.health_interval_ms
        config.group.max_attempts = self.max_attempts
        # The token is the gateway's own.
        config.rules.removed_request_fields = ["Authorization"]
        return ReverseProxy(self.upstreams.copy(), config^)

    def problem(self) -> String:
        """Says what is wrong with the upstreams; empty if all is well."""
        try:
            _ = self.proxy()
        except error:
            return String("upstreams are ", self.upstreams, ": ", error)
        return String()


def made_up_token(mut settings: Settings) raises:
    """Makes a token up if none was given, with the kernel's random octets: good
    for a try, but gone when the program ends."""
    if settings.token:
        return
    settings.token = Secret.random()
