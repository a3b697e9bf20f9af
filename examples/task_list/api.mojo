"""The JSON API: an endpoint for each thing that clients can do."""

from examples.task_list.task import NewTask, Task, TaskChange, TaskPage
from examples.task_list.task_list import TASKS_MAX, TaskList
from flare.http import Endpoint, EventHub, Extracted, Handler, Json, Request
from flare.http import Response, Router, State, no_content, ok_json
from flare.http.extract import InputError, Operation, PathInt, QueryParam


def api_routes(hub: EventHub) raises -> Router:
    """Makes the routes, to be mounted at a path."""
    var router = Router()
    router.get("/tasks", Extracted[ListTasks]())
    router.post("/tasks", Extracted[AddTask]())
    router.get("/tasks/:id", Extracted[ShowTask]())
    router.patch("/tasks/:id", Extracted[ChangeTask]())
    router.delete("/tasks/:id", Extracted[RemoveTask]())
    router.get("/events", Events(hub.copy()))
    return router^


@fieldwise_init
struct ListTasks(Endpoint):
    var done: QueryParam[Optional[Bool], "done"]
    var tasks: State[TaskList]

    def serve(self) raises -> Response:
        return ok_json(self.tasks.lock()[].page(self.done.value))

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "listTasks"
        operation.summary = "List all tasks, or those that are done or not"
        operation.gives[TaskPage]()


@fieldwise_init
struct AddTask(Endpoint):
    var task: Json[NewTask]
    var tasks: State[TaskList]

    def serve(self) raises -> Response:
        var added = self.tasks.lock()[].add(self.task.value.title)
        if not added:
            var reason = String("there are ", TASKS_MAX, "; remove one first")
            return InputError(409, "body", "", reason).response()
        var response = ok_json(added.value())
        response.status = 201
        response.headers.set(
            "Location", String("/api/tasks/", added.value().id)
        )
        return response^

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "addTask"
        operation.summary = "Add a task"
        operation.gives[Task](201)
        operation.answers(409)


@fieldwise_init
struct ShowTask(Endpoint):
    var id: PathInt["id"]
    var tasks: State[TaskList]

    def serve(self) raises -> Response:
        return _task_or_404(self.tasks.lock()[].find(self.id.value))

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "showTask"
        operation.summary = "Show a task"
        operation.gives[Task]()
        operation.answers(404)


@fieldwise_init
struct ChangeTask(Endpoint):
    var id: PathInt["id"]
    var change: Json[TaskChange]
    var tasks: State[TaskList]

    def serve(self) raises -> Response:
        return _task_or_404(
            self.tasks.lock()[].change(self.id.value, self.change.value)
        )

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "changeTask"
        operation.summary = "Change a task's title, or whether it is done"
        operation.gives[Task]()
        operation.answers(404)


@fieldwise_init
struct RemoveTask(Endpoint):
    var id: PathInt["id"]
    var tasks: State[TaskList]

    def serve(self) raises -> Response:
        if self.tasks.lock()[].remove(self.id.value):
            return no_content()
        return _no_such_task()

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "removeTask"
        operation.summary = "Remove a task"
        operation.answers(204)
        operation.answers(404)


@fieldwise_init
struct Events(Handler):
    """Tells of every change, for as long as the client listens."""

    var hub: EventHub

    def serve(self, req: Request) raises -> Response:
        return self.hub.subscribe(req)

    def describe(self, mut operation: Operation):
        operation.id = "events"
        operation.summary = "Listen to changes (text/event-stream)"


def _task_or_404(task: Optional[Task]) raises -> Response:
    if not task:
        return _no_such_task()
    return ok_json(task.value())


def _no_such_task() -> Response:
    return InputError(404, "path", "id", "there is no such task").response()
