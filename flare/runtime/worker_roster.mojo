"""Which worker processes there are, and until when each may take."""

from flare.runtime.stats_board import BANK_LEN
from flare.runtime.worker_process import (
    NEVER_MS,
    WorkerProcess,
    WorkerSlot,
    signal_process,
)
from flare.sys.log import log_line
from flare.sys.signal import SIGKILL, SIGTERM


struct WorkerRoster(Movable):
    """All workers by number, and the processes that have been told to go."""

    var slots: List[WorkerSlot]
    """The workers; those from `worker_count` on are to go."""
    var worker_count: Int
    """How many workers there are to be."""
    var leaving: List[WorkerProcess]
    """Processes that finish what they do."""

    def __init__(out self, worker_count: Int):
        """Makes workers without processes.

        Args:
            worker_count: How many.
        """
        self.slots = []
        for _ in range(worker_count):
            self.slots.append(WorkerSlot())
        self.worker_count = worker_count
        self.leaving = []

    def are_all_ready(self) -> Bool:
        """Tells whether every worker works.

        Returns:
            False while one is starting or waits to be restarted.
        """
        for index in range(self.worker_count):
            ref slot = self.slots[index]
            if not slot.process or not slot.process.value().is_ready:
                return False
        return True

    def process_ids(self) -> List[Int]:
        """Lists the worker processes.

        Returns:
            All that have not been reaped.
        """
        var ids = List[Int]()
        for index in range(len(self.slots)):
            ref slot = self.slots[index]
            if slot.process:
                ids.append(slot.process.value().process_id)
            if slot.next:
                ids.append(slot.next.value().process_id)
        for index in range(len(self.leaving)):
            ids.append(self.leaving[index].process_id)
        return ids^

    def line_numbers(self) -> List[Int32]:
        """Lists the master's ends of the lines to worker processes.

        Returns:
            Descriptors, good until one of the processes is forgotten.
        """
        var numbers = List[Int32]()
        for index in range(len(self.slots)):
            ref slot = self.slots[index]
            if slot.process:
                numbers.append(slot.process.value().orders.number())
            if slot.next:
                numbers.append(slot.next.value().orders.number())
        for index in range(len(self.leaving)):
            numbers.append(self.leaving[index].orders.number())
        return numbers^

    def is_down(self, index: Int) -> Bool:
        """Tells whether a worker that has worked does not at the moment.

        Args:
            index: The worker.

        Returns:
            True if so.
        """
        ref slot = self.slots[index]
        if not slot.has_worked:
            return False
        return not slot.process or not slot.process.value().is_ready

    def let_go(mut self, index: Int, kill_ms: Int):
        """Notes that a worker's process finishes and goes by itself.

        Args:
            index: The worker; it has a process.
            kill_ms: When that is killed.
        """
        var process = self.slots[index].process.take()
        process.kill_ms = kill_ms
        self.leaving.append(process^)
        if self.slots[index].next:
            self.slots[index].process = self.slots[index].next.take()

    def is_row_used(self, row: Int) -> Bool:
        """Tells whether a process writes a row of the board.

        Args:
            row: The row.

        Returns:
            True if so.
        """
        for index in range(len(self.leaving)):
            if self.leaving[index].row == row:
                return True
        return self.slots[row % BANK_LEN].uses_row(row)

    def leave(mut self, index: Int, kill_ms: Int):
        """Tells a worker's process to finish and go, if there is one.

        Args:
            index: The worker.
            kill_ms: When it is killed.
        """
        if self.slots[index].process:
            self._send_off(self.slots[index].process.take(), kill_ms)

    def leave_all(mut self, kill_ms: Int):
        """Tells all processes to finish and go.

        Args:
            kill_ms: When they are killed.
        """
        for index in range(len(self.slots)):
            if self.slots[index].next:
                self._send_off(self.slots[index].next.take(), kill_ms)
            self.leave(index, kill_ms)

    def _send_off(mut self, var process: WorkerProcess, kill_ms: Int):
        signal_process(process.process_id, SIGTERM)
        process.kill_ms = kill_ms
        self.leaving.append(process^)

    def kill_all(mut self):
        """Ends those that have been told to go at once."""
        for index in range(len(self.leaving)):
            signal_process(self.leaving[index].process_id, SIGKILL)

    def kill_late(mut self, now_ms: Int):
        """Kills processes that take too long.

        Args:
            now_ms: The time now.
        """
        for index in range(len(self.slots)):
            if self.slots[index].process:
                _check(self.slots[index].process.value(), now_ms, "to start")
            if self.slots[index].next:
                _check(self.slots[index].next.value(), now_ms, "to start")
        for index in range(len(self.leaving)):
            _check(self.leaving[index], now_ms, "to finish")

    def next_deadline_ms(self, restarts: Bool) -> Int:
        """Tells when a process is to be made or killed.

        Args:
            restarts: False if none is made any more.

        Returns:
            The earliest time, or `NEVER_MS`.
        """
        var deadline = NEVER_MS
        for index in range(len(self.slots)):
            ref slot = self.slots[index]
            if slot.process:
                deadline = min(deadline, slot.process.value().kill_ms)
            elif index < self.worker_count and restarts:
                deadline = min(deadline, slot.restart_ms)
            if slot.next:
                deadline = min(deadline, slot.next.value().kill_ms)
        for index in range(len(self.leaving)):
            deadline = min(deadline, self.leaving[index].kill_ms)
        return deadline


def _check(mut process: WorkerProcess, now_ms: Int, what: StringSpan):
    if now_ms < process.kill_ms:
        return
    process.kill_ms = NEVER_MS
    log_line(
        String(
            "process ",
            process.process_id,
            " took too long ",
            what,
            " and is killed",
        )
    )
    signal_process(process.process_id, SIGKILL)
