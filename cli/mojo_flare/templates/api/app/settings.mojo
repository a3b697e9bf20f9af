"""What differs between the machines that the program runs on."""

from flare.http import ServerSettings
from flare.settings import Secret, SettingsGroup

comptime KEY_LEN_MIN = 32


struct Settings(Copyable, Defaultable, SettingsGroup):
    """How the service is set up: where it listens, its limits, its secrets."""

    var server: ServerSettings
    var password: Optional[Secret]
    var key: Optional[Secret]
    var https: Bool

    def __init__(out self):
        """Makes the defaults."""
        self.server = ServerSettings()
        # Nothing that this API takes is long.
        self.server.config.max_body_size = 64 * 1024
        self.password = None
        self.key = None
        self.https = False

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        """Says what a setting means, for `--help`."""
        if name == "password":
            return "Of the user admin; without one it is made up, and printed."
        if name == "key":
            return "Signs sessions; without one they end with the program."
        return "Whether browsers come by HTTPS; cookies go that way alone then."

    def problem(self) -> String:
        """Says what is wrong with workers or secrets; empty if all is well."""
        # Each process would have items of its own.
        if self.server.workers != 1:
            return String(
                "workers is ",
                self.server.workers,
                "; allowed is 1 while the items are in memory",
            )
        if self.key and self.key.value().reveal().byte_length() < KEY_LEN_MIN:
            return String(
                "key is too short; allowed are ",
                KEY_LEN_MIN,
                " letters or more",
            )
        return String()


def made_up_secrets(mut settings: Settings) raises:
    """Makes up what was not given: good for a try, but gone when the program
    ends, and with it every login."""
    if not settings.password:
        settings.password = Secret.random()
    if not settings.key:
        settings.key = Secret.random()
