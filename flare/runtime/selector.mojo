"""The selector of the platform that the program is built for."""

from flare.runtime.epoll_selector import EpollSelector
from flare.runtime.kqueue_selector import KqueueSelector
from flare.sys.platform import IS_MACOS

comptime Selector = KqueueSelector if IS_MACOS else EpollSelector
"""What watches descriptors here; its contract is `SelectorContract`."""
