"""Settings of programs: plain structs read from the environment and from
arguments of the command line, when the program asks for it."""

from flare.bytes.from_text import FromText, TextError
from flare.settings.fields import SettingsDefaults, SettingsGroup
from flare.settings.secret import Secret
from flare.settings.settings import (
    read_args,
    read_env,
    read_settings,
    Settings,
    SettingsError,
)
from flare.settings.start import (
    REFUSED_EXIT_CODE,
    exit_refusing,
    settings_or_exit,
)
