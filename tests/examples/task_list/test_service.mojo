"""The task list of the examples, through a client without a socket."""

from examples.task_list.service import task_service
from examples.task_list.task import TITLE_LEN_MAX
from examples.task_list.task_list import TASKS_MAX
from flare.http import LogSink, State
from flare.testing import TestClient
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime TEA = StaticString('{"title":"buy tea"}')


@fieldwise_init
struct _Lines(LogSink):
    """Keeps the log."""

    var text: State[String]

    def write_line(self, line: StringSpan):
        self.text.lock()[].write(line)


@fieldwise_init
struct _Row(Copyable, Movable):
    var content: String
    var status: Int
    var name: String
    var detail: String


def _client() raises -> TestClient:
    return TestClient(
        task_service("examples/task_list/site", _Lines(State(String())))
    )


def test_the_life_of_a_task() raises:
    var client = _client()
    assert_equal(client.get("/api/tasks").text(), '{"revision":0,"tasks":[]}')
    var added = client.post("/api/tasks", TEA)
    assert_equal(added.status.code, 201)
    assert_equal(added.text(), '{"id":1,"title":"buy tea","done":false}')
    var place = String(added.headers["location"])
    assert_equal(place, "/api/tasks/1")
    assert_equal(client.get(place).text(), added.text())

    var ticked = client.patch(place, '{"done":true}')
    assert_equal(ticked.text(), '{"id":1,"title":"buy tea","done":true}')
    var renamed = client.patch(place, '{"title":"drink tea"}')
    assert_equal(renamed.text(), '{"id":1,"title":"drink tea","done":true}')
    assert_equal(
        client.get("/api/tasks").text(),
        '{"revision":3,"tasks":[' + renamed.text() + "]}",
    )

    assert_equal(client.delete(place).status.code, 204)
    for response in [
        client.get(place),
        client.delete(place),
        client.patch(place, "{}"),
    ]:
        assert_equal(response.status.code, 404)
        assert_equal(response.json()["name"].string_value(), "id")


def test_ids_do_not_come_back() raises:
    var client = _client()
    _ = client.post("/api/tasks", TEA)
    _ = client.delete("/api/tasks/1")
    var again = client.post("/api/tasks", TEA)
    assert_equal(again.json()["id"].int_value(), 3)


def test_bad_content_is_refused_by_name() raises:
    var client = _client()
    _ = client.post("/api/tasks", TEA)
    var long = "x" * (TITLE_LEN_MAX + 1)
    var rows: List[_Row] = [
        _Row('{"title":', 400, "", "end of the text"),
        _Row("[]", 422, "", "found an array, expected an object"),
        _Row('{"title":7}', 422, "title", "found an integer"),
        _Row('{"title":"\\t "}', 422, "title", "must not be blank"),
        _Row('{"title":"a\\nb"}', 422, "title", "one line"),
        _Row('{"title":"' + long + '"}', 422, "title", "at most 200"),
    ]
    for row in rows:
        for response in [
            client.post("/api/tasks", row.content),
            client.patch("/api/tasks/1", row.content),
        ]:
            assert_equal(response.status.code, row.status, row.content)
            var problem = response.json()
            assert_equal(problem["name"].string_value(), row.name)
            var detail = problem["detail"].string_value()
            assert_true(row.detail in detail, detail)
    assert_equal(
        client.get("/api/tasks/one").json()["in"].string_value(), "path"
    )
    var nothing = client.post("/api/tasks", "{}").json()
    assert_equal(nothing["detail"].string_value(), "is required")
    assert_equal(client.get("/api/tasks").json()["revision"].int_value(), 1)


def test_the_longest_title() raises:
    var client = _client()
    var title = "ö" * TITLE_LEN_MAX
    var added = client.post("/api/tasks", '{"title":"' + title + '"}')
    assert_equal(added.json()["title"].string_value(), title)


def test_a_full_list() raises:
    var client = _client()
    for _ in range(TASKS_MAX):
        _ = client.post("/api/tasks", TEA)
    var refused = client.post("/api/tasks", TEA)
    assert_equal(refused.status.code, 409)
    _ = client.delete("/api/tasks/7")
    assert_equal(client.post("/api/tasks", TEA).status.code, 201)


def test_tasks_by_what_is_done() raises:
    var client = _client()
    for _ in range(3):
        _ = client.post("/api/tasks", TEA)
    _ = client.patch("/api/tasks/2", '{"done":true}')
    var rows: List[_Row] = [
        _Row("/api/tasks", 3, "", ""),
        _Row("/api/tasks?done=true", 1, "", ""),
        _Row("/api/tasks?done=false", 2, "", ""),
    ]
    for row in rows:
        var page = client.get(row.content).json()
        assert_equal(len(page["tasks"]), row.status, row.content)
    assert_equal(client.get("/api/tasks?done=x").status.code, 400)


def test_page_and_documents() raises:
    var client = _client()
    var page = client.get("/")
    assert_equal(page.headers["content-type"], "text/html; charset=utf-8")
    # All that the page names is there, and from nowhere else.
    for path in ["page.js", "page.css", "icon.svg"]:
        assert_true("/static/" + path in page.text(), path)
        var part = client.get("/static/" + path)
        assert_equal(part.status.code, 200, path)
        assert_false("https://" in part.text(), path)
    var policy = String(page.headers["content-security-policy"])
    assert_true("default-src 'self'" in policy, policy)
    assert_equal(client.get("/static/../task.mojo").status.code, 404)

    var api = client.get("/openapi.json").json()
    var add = api["paths"]["/api/tasks"]["post"]
    assert_equal(add["operationId"].string_value(), "addTask")
    _ = add["responses"]["201"]["content"]["application/json"]["schema"]
    var remove = api["paths"]["/api/tasks/{id}"]["delete"]["responses"]
    assert_true(remove.contains("204") and not remove.contains("200"))
    assert_true("Remove a task" in client.get("/docs").text())


def test_operation() raises:
    var lines = State(String())
    var client = TestClient(
        task_service("examples/task_list/site", _Lines(lines))
    )
    assert_equal(client.get("/live").status.code, 200)
    assert_equal(client.get("/nowhere").status.code, 404)
    var figures = client.get("/metrics").text()
    assert_true('status="404",route="none"} 1' in figures, figures)
    var log = lines.snapshot()
    assert_true(" GET /live HTTP/1.1 200 " in log, log)
    assert_equal(log.count("\n"), 3)
