"""The tasks, and who is told when one changes."""

from examples.task_list.task import Task, TaskChange, TaskPage
from flare.http import EventHub, ServerSentEvent
from flare.json import json_text

comptime TASKS_MAX = 1_000
"""Most tasks in the list, so that nobody fills the memory."""


struct TaskList(Movable):
    """The tasks in the order in which they were added.

    Each change has a number, the revision. It is published while the list is
    locked, so events come in the order of their revisions.
    """

    var revision: Int
    var _tasks: List[Task]
    var _hub: EventHub

    def __init__(out self, hub: EventHub):
        self.revision = 0
        self._tasks = []
        self._hub = hub.copy()

    def page(self, done: Optional[Bool] = None) -> TaskPage:
        """Copies all tasks, or those that are done or are not."""
        var found = List[Task]()
        for task in self._tasks:
            if not done or task.done == done.value():
                found.append(task.copy())
        return TaskPage(self.revision, found^)

    def find(self, id: Int) -> Optional[Task]:
        """Copies a task."""
        var index = self._index(id)
        if index < 0:
            return None
        return self._tasks[index].copy()

    def add(mut self, title: String) raises -> Optional[Task]:
        """Adds a task; nothing if the list is full."""
        if len(self._tasks) >= TASKS_MAX:
            return None
        # An id is a revision, too: it never comes back.
        var task = Task(self.revision + 1, title, False)
        self._tasks.append(task.copy())
        self._publish("changed", task)
        return task^

    def change(mut self, id: Int, change: TaskChange) raises -> Optional[Task]:
        """Changes a task; nothing if there is none of this id."""
        var index = self._index(id)
        if index < 0:
            return None
        ref task = self._tasks[index]
        if change.title:
            task.title = change.title.value()
        if change.done:
            task.done = change.done.value()
        var changed = task.copy()
        self._publish("changed", changed)
        return changed^

    def remove(mut self, id: Int) raises -> Bool:
        """Removes a task; False if there is none of this id."""
        var index = self._index(id)
        if index < 0:
            return False
        self._publish("removed", self._tasks.pop(index))
        return True

    def _index(self, id: Int) -> Int:
        for index in range(len(self._tasks)):
            if self._tasks[index].id == id:
                return index
        return -1

    def _publish(mut self, name: StaticString, task: Task) raises:
        self.revision += 1
        self._hub.publish(
            ServerSentEvent(
                json_text(task), name=String(name), id=String(self.revision)
            )
        )
