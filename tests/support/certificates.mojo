"""The certificates of the tests."""

from flare.sys.clock import unix_seconds
from std.os import stat
from std.os.path import exists
from std.subprocess import run

comptime _FOLDER = "build/certs/"
comptime _TOOL = "tools/certs.py"
comptime _AGE_S_MAX = 6 * 24 * 3600


def certificate(name: StringSpan) raises -> String:
    """Names a file that `tools/certs.py` makes, making all if they are not here.

    Args:
        name: Such as "good_chain.pem".

    Returns:
        The path, from the project's folder.
    """
    if not _are_fresh():
        _ = run(String("python3 ", _TOOL))
    var path = String(_FOLDER, name)
    if not exists(path):
        raise Error("there is no ", path, "; run python3 ", _TOOL)
    return path^


def _are_fresh() raises -> Bool:
    var stamp = String(_FOLDER, "made")
    if not exists(stamp):
        return False
    var made_at = Int(stat(stamp).st_mtimespec.as_nanoseconds()) // 10**9
    var source_at = Int(stat(_TOOL).st_mtimespec.as_nanoseconds()) // 10**9
    return made_at > source_at and unix_seconds() - made_at < _AGE_S_MAX
