"""The selector of the platform that the program is built for.

A selector watches descriptors and hands back the token that each was registered
with. `EpollSelector` and `KqueueSelector` meet one contract: `register`,
`modify`, `deregister`, `wait` and `event`.
"""

from flare.runtime.epoll_selector import EpollSelector

comptime Selector = EpollSelector
"""What watches descriptors here."""
