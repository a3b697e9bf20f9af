"""A folder for the time of a test."""

from std.subprocess import run
from std.tempfile import mkdtemp


struct TemporaryFolder(Movable):
    """An empty folder, removed behind the `with` block with all that is in it.

    The standard library's `TemporaryDirectory` keeps to itself what is raised
    in its block, so a test in such a block can only pass.
    """

    var path: String

    def __init__(out self) raises:
        self.path = mkdtemp()

    def __enter__(self) -> String:
        return self.path

    def __exit__(self) raises:
        _ = run(String("rm -rf '", self.path, "'"))

    def __exit__(self, error: Error) raises -> Bool:
        # False: the error goes on.
        self.__exit__()
        return False
