"""What differs between the machines that the program runs on."""

from flare.http import ServerSettings, Url
from flare.settings import Secret, SettingsGroup

comptime CALL_COUNT_MAX = 32
"""Most requests that wait for the upstream at one time, if nobody says else."""
comptime SECRET_LEN = 16
"""Octets of a secret that is made up: 128 bits."""


struct Settings(Copyable, Defaultable, SettingsGroup):
    """How the gateway is set up: where it listens, and what is behind it."""

    var server: ServerSettings
    var upstream: String
    var token: Optional[Secret]
    var requests_per_second: Float64

    def __init__(out self):
        """Makes the defaults."""
        self.server = ServerSettings()
        # Handlers wait for the upstream, so they run on threads of their own.
        self.server.config.handler_threads = CALL_COUNT_MAX
        self.upstream = "http://127.0.0.1:9000"
        self.token = None
        self.requests_per_second = 20

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Says what a setting means, for `--help`."""
        if name == "upstream":
            return "The URL of the service behind the gateway."
        if name == "token":
            return "What clients show; without one it is made up, and printed."
        return "How often one address may ask in the long run."

    def problem(self) -> String:
        """Says what is wrong with the upstream; empty if all is well."""
        try:
            _ = Url.parse(self.upstream)
        except error:
            return String("upstream is '", self.upstream, "': ", error)
        return String()


def made_up_token(mut settings: Settings) raises:
    """Makes a token up if none was given, with the kernel's random octets: good
    for a try, but gone when the program ends."""
    if settings.token:
        return
    comptime DIGITS = StaticString("0123456789abcdef")
    var text = String()
    with open("/dev/urandom", "r") as source:
        for octet in source.read_bytes(SECRET_LEN):
            text += DIGITS[byte=Int(octet >> 4)]
            text += DIGITS[byte=Int(octet & 15)]
    settings.token = Secret(text^)
