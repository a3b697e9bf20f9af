"""The program that asks a file's router, and what it answers."""

import keyword
import re
import secrets
import subprocess
from pathlib import Path

from mojo_flare import building, project, toolchain
from mojo_flare.building import Program
from mojo_flare.outcome import CommandError, ExitCode

_CONVENTION = re.compile(r"^def\s+routes\(\s*\)\s*(?:raises\s*)?->\s*Router\s*:", re.MULTILINE)
_IMPORT = re.compile(
    r"^from\s+[\w.]+\s+import\s+(?:\([^)]*\broutes\b[^)]*\)|[^\n(]*\broutes\b)",
    re.MULTILINE,
)
_ANY_ROUTES = re.compile(r"^(?:def\s+routes\b.*)$", re.MULTILINE)
_EXAMPLE = """\
put the routes into a function of their own, and serve what it gives:

    def routes() raises -> Router:
        var router = Router()
        router.get("/", hello)
        return router^

    def main() raises:
        HttpServer.bind(SocketAddr.localhost(8080)).serve(routes())"""

_MAIN = '''\
"""Asks the router of a program; made by flare."""
# Inputs: {inputs}

from {module} import routes
from flare.http import ApiInfo, Handler, Operation, Request, Response, Router
from flare.http import openapi_document
from flare.json import json_text
from flare.testing import TestClient
from std.sys import argv, exit, stderr


@fieldwise_init
struct FlareRoute(Copyable, Movable):
    var method: String
    var pattern: String
    var name: String
    var summary: String


@fieldwise_init
struct FlareDocuments(Handler):
    """Answers with documents alone, for which no state needs to be lent, as
    routes by themselves would be refused without."""

    var routes: Router

    def serve(self, req: Request) raises -> Response:
        return self.routes.serve(req)


def flare_routes(operations: List[Operation]) raises:
    var rows = List[FlareRoute]()
    for operation in operations:
        rows.append(
            FlareRoute(
                operation.method,
                operation.pattern,
                operation.id,
                operation.summary,
            )
        )
    print(json_text(rows))


def flare_openapi(
    operations: List[Operation], path: String, info: ApiInfo
) raises -> String:
    for operation in operations:
        if operation.method == "GET" and operation.pattern == path:
            var client = TestClient(FlareDocuments(routes()))
            return client.get(path).text()
    return openapi_document(operations, info)


def flare_answer() raises:
    var operations = routes().operations()
    if argv()[1] == "routes":
        flare_routes(operations)
        return
    var info = ApiInfo(String(argv()[3]), String(argv()[4]))
    print(flare_openapi(operations, String(argv()[2]), info))


def main():
    try:
        flare_answer()
    except error:
        # Mojo would put words about stack traces around it.
        print(error, file=stderr)
        exit(1)
'''


def check_convention(source: Path) -> None:
    """Refuses a file that neither has the function nor imports it, or whose name
    cannot be imported."""
    if not source.stem.isidentifier() or keyword.iskeyword(source.stem):
        raise CommandError(
            f"{source} cannot be imported: '{source.stem}' is no identifier",
            f"rename it, such as {re.sub(r'[^0-9A-Za-z_]', '_', source.stem)}.mojo",
        )
    text = source.read_text(errors="replace")
    if _CONVENTION.search(text) or _IMPORT.search(text):
        return
    found = _ANY_ROUTES.search(text)
    what = (
        f"{source} has `{found[0].rstrip(':')}`, which is not"
        if found
        else f"{source} has no function"
    )
    raise CommandError(f"{what} `def routes() raises -> Router`", _EXAMPLE)


def ask(source: Path, includes: tuple[Path, ...], *question: str) -> str:
    """Builds the program that asks, unless it is built, and gives its answer.

    Args:
        source: Has the routes.
        includes: Folders of packages that it imports, too.
        question: Arguments of the program that asks.
    """
    check_convention(source)
    found = toolchain.find()
    home = source.resolve().parent
    folder = project.work_folder(home) / "describe"
    folder.mkdir(exist_ok=True)
    generated = folder / f"ask_{source.stem}.mojo"
    # The generated text names what it was made of, so a change builds it anew;
    # where there is too much to look at, each call does.
    inputs = project.fingerprint([home, *includes]) or secrets.token_hex()
    generated.write_text(_MAIN.format(module=source.stem, inputs=inputs))
    own = ("-I", str(home))
    program = Program(generated, folder / generated.stem, own, includes=includes)
    building.build_if_changed(found, program, f"the routes of {source}")
    result = subprocess.run(
        [program.output, *question],
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        said = (result.stderr or result.stdout).strip()
        raise CommandError(
            f"`routes()` of {source} failed: {said}", "", ExitCode.FAILED
        )
    return result.stdout
