"""Removals from the caches of all worker processes."""

from flare.backplane.worker_control import (
    ORDER_TIMEOUT_MS,
    OrderOutcome,
    OrderReceiver,
    WorkerControl,
)
from flare.bytes.checked import *
from flare.http.cache.store import CacheStore

comptime _PURGE = StaticString("purge ")
comptime _PURGE_PREFIX = StaticString("prefix ")
comptime _INVALIDATE = StaticString("invalidate ")


struct CacheOrders(Copyable, Movable):
    """Removes responses from a `CacheStore` in all worker processes.

        var control = WorkerControl()
        var store = CacheStore()
        var orders = CacheOrders(control, store)
        ...
        var outcome = orders.purge("http://example.com/a")

    Each call waits until all workers have done so: what it came to says how
    many have, and `OrderOutcome.total` how many responses were removed. Make it
    before the workers are forked.
    """

    var _control: WorkerControl
    var _topic: String

    def __init__(
        out self,
        control: WorkerControl,
        store: CacheStore,
        *,
        name: StringSpan = "cache",
    ) raises:
        """Makes it, and says what carries the orders out.

        Args:
            control: Brings them to all workers.
            store: What is kept in each process.
            name: Distinct for each store of the program.

        Raises:
            Error: If another one has the name.
        """
        self._control = control
        self._topic = String("cache of responses ", name)
        control.add(self._topic, _Remover(store))

    def purge(
        self, url: StringSpan, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> OrderOutcome:
        """Drops the responses to a URL.

        Args:
            url: As for `CacheStore.purge`.
            timeout_ms: How long to wait for answers.

        Returns:
            What became of it.

        Raises:
            Error: As `WorkerControl.order` does.
        """
        return self._order(_PURGE, url, timeout_ms)

    def purge_prefix(
        self, url: StringSpan, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> OrderOutcome:
        """Drops the responses to all URLs that begin with a text; the rest is
        as for `purge`.

        Args:
            url: As for `CacheStore.purge_prefix`; empty for all.
        """
        return self._order(_PURGE_PREFIX, url, timeout_ms)

    def invalidate(
        self, url: StringSpan, *, timeout_ms: Int = ORDER_TIMEOUT_MS
    ) raises -> OrderOutcome:
        """Has the responses to a URL validated before they are used again; the
        rest is as for `purge`.

        Args:
            url: As for `CacheStore.invalidate`.
        """
        return self._order(_INVALIDATE, url, timeout_ms)

    def _order(
        self, what: StaticString, url: StringSpan, timeout_ms: Int
    ) raises -> OrderOutcome:
        # A worker that begins later has kept nothing.
        return self._control.order(
            self._topic, String(what, url), timeout_ms=timeout_ms
        )


@fieldwise_init
struct _Remover(OrderReceiver):
    """Removes responses in its process."""

    var store: CacheStore

    def carry_out(mut self, order: String) raises -> String:
        if order.startswith(_PURGE):
            return String(self.store.purge(_rest(order, _PURGE)))
        if order.startswith(_PURGE_PREFIX):
            return String(self.store.purge_prefix(_rest(order, _PURGE_PREFIX)))
        return String(self.store.invalidate(_rest(order, _INVALIDATE)))


def _rest(order: String, what: StaticString) -> String:
    return String(order[byte = what.byte_length() :])
