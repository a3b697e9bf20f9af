"""Which operating system the program is built for."""

from std.sys import CompilationTarget

comptime IS_MACOS = CompilationTarget.is_macos()
"""True when building for macOS; otherwise the target is Linux."""


@always_inline
def by_platform(linux: Int, macos: Int) -> Int:
    """Chooses a constant for the target, for use at compile time."""
    return macos if IS_MACOS else linux
