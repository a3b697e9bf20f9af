"""The version of the library."""

comptime VERSION = "0.1.0"
"""What is installed, as semantic versioning has it.

This line is the one place that holds it: the wheel, the command and the
changelog are held to it.
"""


def version() -> StaticString:
    """Tells which version of the library a program was built with.

    Returns:
        Three numbers with dots between, such as `0.1.0`.
    """
    return VERSION
