"""Event loops: selector, timers, wakers, signals."""
