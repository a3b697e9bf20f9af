"""What the commands end with: the exit codes, and the error that carries one."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of all commands; `flare --help` prints this table."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_TOOLCHAIN = 3
    DOES_NOT_COMPILE = 4
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "done, and all is well",
    ExitCode.FAILED: "a test failed, a program ended badly, or a check found something",
    ExitCode.USAGE: "the command was not understood, or was asked for what cannot be",
    ExitCode.NO_TOOLCHAIN: "the Mojo compiler, the library or the C compiler is missing",
    ExitCode.DOES_NOT_COMPILE: "a program does not compile",
    ExitCode.INTERRUPTED: "stopped by Ctrl-C",
}


class CommandError(Exception):
    """Ends a command: what is wrong, what to do about it, and the exit code."""

    def __init__(
        self, message: str, remedy: str = "", code: ExitCode = ExitCode.USAGE
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code
