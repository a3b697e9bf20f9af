"""How many descriptors connections may take, so that files get some, too."""

from flare.http.server.config import ServerConfig
from flare.sys.descriptor import duplicate_from
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.resource_limit import descriptor_limit, raise_descriptor_limit

comptime RESERVE_COUNT_MAX = 4_096
"""Most descriptors that are kept from connections.

A quarter of the limit is: what files and upstreams take grows with the
connections, one each at most, and only while they answer.
"""


struct DescriptorBudget(ImplicitlyCopyable):
    """Bounds for the numbers of accepted sockets.

    The system gives the lowest number that is free, so a socket's own number
    tells how full the process is, whoever fills it.
    """

    var refused_from: Int
    """A socket with this number or a higher one is answered 503."""
    var dropped_from: Int
    """A socket with this number or a higher one is closed at once: answers,
    too, must not eat up the reserve."""

    def __init__(out self, limit: Int):
        """Divides the descriptors of a process.

        Args:
            limit: How many it may have.
        """
        var reserve = min(limit // 4, RESERVE_COUNT_MAX)
        self.refused_from = limit - reserve
        self.dropped_from = self.refused_from + reserve // 4

    @staticmethod
    def of_process() -> Self:
        """Divides the descriptors that this process may have now.

        Returns:
            The budget; none is missing if the system does not tell the limit.
        """
        try:
            return Self(descriptor_limit())
        except error:
            log_line(String(error, "; no descriptors are kept in reserve"))
            return Self(Int(Int32.MAX))


def prepare_descriptors(
    config: ServerConfig, listener: Int32, workers_of_process: Int
) -> DescriptorBudget:
    """Raises the limit of descriptors as far as the process may, and says so
    if it is too low all the same.

    Args:
        config: Says how many connections there may be.
        listener: Any open descriptor.
        workers_of_process: How many workers share the limit.

    Returns:
        What connections may take.
    """
    try:
        raise_descriptor_limit()
    except error:
        log_line(String(error, "; the limit stays as it is"))
    var budget = DescriptorBudget.of_process()
    # The lowest that is free: as many are in use, or a few more.
    var used = Int(duplicate_from(listener, 0).number())
    var possible = max(0, budget.refused_from - max(used, 0))
    var is_short = possible < config.max_connections * workers_of_process
    if is_short and config.logs_errors:
        var line = String("the limit of descriptors (RLIMIT_NOFILE) leaves ")
        line.write(possible, " for connections of a process, and ")
        line.write("max_connections is ", config.max_connections)
        if workers_of_process > 1:
            line.write(" for each of ", workers_of_process, " workers")
        line.write("; those beyond are answered 503. Raise the hard limit, or")
        line.write(" lower max_connections")
        log_line(line)
    return budget
