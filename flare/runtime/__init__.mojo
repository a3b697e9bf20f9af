"""Event loops: selector, timers, wakers."""

from flare.runtime.event import Event, Interest
from flare.runtime.reactor import Reactor
from flare.runtime.timer_wheel import TimerId, TimerWheel
from flare.runtime.waker import Waker
