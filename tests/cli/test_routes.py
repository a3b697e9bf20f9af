"""`flare routes` and `flare openapi`, for a project of the tests' own."""

import json
from pathlib import Path

import pytest
from commands import FOLDER, ROOT, flare
from mojo_flare.describe.asking import check_convention
from mojo_flare.describe.handlers import handler_of, registrations
from mojo_flare.outcome import CommandError

PETS = """
from flare.http import Endpoint, Extracted, Json, Operation, PathInt, Request
from flare.http import Response, Router, created, ok


@fieldwise_init
struct Pet(Copyable, Movable):
    var name: String


@fieldwise_init
struct AddPet(Endpoint):
    var pet: Json[Pet]

    def serve(self) raises -> Response:
        return created()

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "addPet"
        operation.summary = "Add a pet"


def show(req: Request) -> Response:
    return ok("pet")


def pet_routes() raises -> Router:
    var router = Router()
    router.get("/:id", show)
    router.post("/", Extracted[AddPet]())
    return router^
"""

MAIN = """
from flare.http import ApiInfo, HttpServer, Request, Response, Router, add_api_docs, ok
from flare.net import SocketAddr
from pets import pet_routes


def home(req: Request) -> Response:
    return ok("home")


def routes() raises -> Router:
    var router = Router()
    router.get("/", home)
    router.mount("/pets", pet_routes())
    # DOCS
    return router^


def main() raises:
    HttpServer.bind(SocketAddr.localhost(0)).serve(routes())
"""

COUNTED = """
from flare.http import Endpoint, Response, State, ok


@fieldwise_init
struct Count(Copyable, Movable):
    var number: Int


@fieldwise_init
struct ShowCount(Endpoint):
    var count: State[Count]

    def serve(self) raises -> Response:
        return ok(String(self.count.lock()[].number))
"""


def project(name: str, main: str) -> Path:
    """Writes a project; what was built of the same text before is used again."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.mojo").write_text(main)
    (folder / "pets.mojo").write_text(PETS)
    return folder


@pytest.fixture(scope="module")
def plain() -> Path:
    return project("plain", MAIN)


@pytest.fixture(scope="module")
def documented() -> Path:
    call = 'add_api_docs(router, ApiInfo("Pets", "3.2"))'
    return project("documented", MAIN.replace("# DOCS", call))


def test_routes_of_the_built_program(plain):
    result = flare("routes", cwd=plain)
    assert result.returncode == 0, result.stderr
    home = MAIN.split("\n").index('    router.get("/", home)') + 1
    show = PETS.split("\n").index('    router.get("/:id", show)') + 1
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["GET", "/", "home", f"main.mojo:{home}", ""],
        ["GET", "/pets/:id", "show", f"pets.mojo:{show}", ""],
        ["POST", "/pets", "addPet", f"pets.mojo:{show + 1}", "Add a pet"],
    ]


def test_routes_as_json(plain):
    rows = json.loads(flare("routes", "main.mojo", "--json", cwd=plain).stdout)
    assert rows[2]["method"] == "POST" and rows[2]["name"] == "addPet"
    assert rows[2]["handler"] == "AddPet" and rows[2]["place"].startswith("pets.mojo:")


def test_a_document_is_made_of_the_routes(plain, tmp_path):
    output = tmp_path / "openapi.json"
    result = flare(
        "openapi", "-o", output, "--title", "Shop", "--api-version", "2.0", cwd=plain
    )
    assert result.returncode == 0, result.stderr
    document = json.loads(output.read_text())
    assert document["info"] == {"title": "Shop", "version": "2.0"}
    assert document["paths"]["/pets"]["post"]["operationId"] == "addPet"


def test_the_document_that_is_served_is_written(documented):
    result = flare("openapi", "--title", "not this one", cwd=documented)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["info"] == {"title": "Pets", "version": "3.2"}
    assert "/pets/{id}" in document["paths"]


def test_a_state_that_the_service_lends_is_not_missed():
    """The service puts an App around its routes, and a document needs none."""
    docs = 'add_api_docs(router, ApiInfo("Pets", "3.2"))'
    count = 'router.get("/count", Extracted[ShowCount]())\n    '
    main = MAIN.replace("# DOCS", count + docs).replace(
        "from pets import", "from counted import ShowCount\nfrom pets import"
    )
    folder = project("lent", main.replace("import ApiInfo,", "import ApiInfo, Extracted,"))
    (folder / "counted.mojo").write_text(COUNTED)
    result = flare("openapi", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "/count" in json.loads(result.stdout)["paths"]


def test_the_page_is_no_document(documented):
    result = flare("openapi", "--path", "/docs", cwd=documented)
    assert result.returncode == 1 and "is no JSON" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("main", "def main():\n    pass\n", "has no function `def routes()"),
        ("main", "from app import main_routes\n", "has no function `def routes()"),
        ("main", "# def routes() -> Router:\n", "has no function `def routes()"),
        ("main", "def routes(port: Int) -> Router:\n", "which is not `def routes()"),
        ("main", "def routes() raises -> AnyHandler:\n", "which is not `def routes()"),
        ("my-app", "def routes() -> Router:\n", "rename it, such as my_app.mojo"),
        ("2main", "def routes() -> Router:\n", "is no identifier"),
    ],
)
def test_a_file_without_the_convention_is_told_what_to_do(tmp_path, name, text, said):
    (tmp_path / f"{name}.mojo").write_text(text)
    for command in ("routes", "openapi"):
        result = flare(command, f"{name}.mojo", cwd=tmp_path)
        assert result.returncode == 2 and said in result.stderr, result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "def routes() raises -> Router:\n    return Router()\n",
        "def routes() -> Router:\n    return Router()\n",
        "def routes( )->Router :\n    return Router()\n",
        "from app.service import routes\n",
        "from app.service import routes, service\n",
        "from app.service import (\n    service,\n    routes,\n)\n",
    ],
)
def test_what_the_convention_takes(tmp_path, text):
    path = tmp_path / "app.mojo"
    path.write_text(text)
    check_convention(path)


@pytest.mark.parametrize("template", ["hello", "api", "realtime", "gateway", "grpc"])
def test_templates_keep_to_the_convention(template):
    check_convention(ROOT / "cli" / "mojo_flare" / "templates" / template / "main.mojo")


def test_a_file_that_is_not_there(tmp_path):
    result = flare("routes", "none.mojo", cwd=tmp_path)
    assert result.returncode == 2 and "there is no file none.mojo" in result.stderr


def test_handlers_are_found_in_the_sources(tmp_path):
    source = tmp_path / "a.mojo"
    source.write_text(
        'router.get("/a", first)\n# router.get("/a", commented)\n'
        'router.post(\n    "/a",\n    Extracted[Second]()\n)\nrouter.ws("/live", Room())\n'
        'users.get("/", list_users)\nitems.get("/", list_items)\nrouter.all("/all", every)\n'
        'router.mount("/items", items^)\nitems.put("/", replace)\n'
    )
    known = registrations([source], tmp_path)

    def named(method: str, pattern: str) -> str:
        found = handler_of(method, pattern, known)
        return found.handler if found else ""

    assert named("GET", "/a") == "first" and named("POST", "/v1/a") == "Second"
    assert named("GET", "/live") == "Room" and named("DELETE", "/all") == "every"
    # Two could be meant: neither is named.
    assert named("GET", "/users/") == "" and named("PUT", "/a") == ""
    assert named("GET", "/items") == "" and named("PUT", "/items") == "replace"
    assert handler_of("POST", "/a", known).place == "a.mojo:3"


@pytest.mark.parametrize("name", ["tests/client.mojo", "app/test_notes.mojo"])
def test_requests_of_tests_register_nothing(tmp_path, name):
    source = tmp_path / "main.mojo"
    source.write_text('router.post("/notes", Extracted[AddNote]())\n')
    test = tmp_path / name
    test.parent.mkdir()
    test.write_text('client.post("/notes", String("{}"))\n')
    known = registrations([source, test], tmp_path)
    assert [each.handler for each in known] == ["AddNote"]


def test_arguments_with_names_are_no_handlers(tmp_path):
    source = tmp_path / "main.mojo"
    source.write_text(
        'client.get("/notes", params={"page": 2})\n'
        'client.post("/login", json = login)\nrouter.get("/notes", list_notes)\n'
    )
    known = registrations([source], tmp_path)
    assert [each.handler for each in known] == ["list_notes"]


def test_an_error_of_the_function_is_shown():
    text = MAIN.replace("# DOCS", 'router.get("/", home)')
    result = flare("routes", cwd=project("failing", text))
    assert result.returncode == 1 and "`routes()` of main.mojo failed" in result.stderr
    assert "stack trace" not in result.stderr


def test_refusals_name_the_convention(tmp_path):
    path = tmp_path / "app.mojo"
    path.write_text("")
    with pytest.raises(CommandError) as caught:
        check_convention(path)
    assert "var router = Router()" in caught.value.remedy
