"""The page about an API, and what serves it."""

from flare.bytes.checked import *
from flare.http.message.request import Request
from flare.http.message.response import Response, ok_html, ok_json
from flare.http.message.status import Status
from flare.http.openapi.document import (
    ApiInfo,
    components_of,
    openapi_document,
    parameters_of,
    schemes_of,
    template,
    with_all_responses,
    with_names,
    with_one_template,
)
from flare.http.openapi.html import write_escaped_html
from flare.http.openapi.page_schema import write_schema
from flare.http.openapi.page_script import PAGE_SCRIPT, PAGE_SCRIPT_DIGEST
from flare.http.openapi.page_style import PAGE_STYLE
from flare.http.handler.handler import Handler, RequestPolicy
from flare.http.handler.operation import Operation, SecurityScheme
from flare.http.routing.router import Router

comptime _CONTENTS_LEN_MIN = 5
# So many operations are seen without a list of them.


def openapi_page(
    operations: List[Operation], info: ApiInfo, document_path: StringSpan
) raises -> String:
    """Gives a page about an API, as HTML, the same for the same routes. It
    shows all without its script, which adds forms to send requests with.

    Args:
        operations: What `Router.operations` gives.
        info: What is said of the whole API.
        document_path: Where the OpenAPI document is.

    Raises:
        Error: If a pattern is malformed.
    """
    var page = String("<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n")
    page.write('<meta name=viewport content="width=device-width">\n')
    page.write('<meta name=color-scheme content="light dark">\n<title>')
    write_escaped_html(info.title, page)
    page.write("</title>\n<style>", PAGE_STYLE, "</style>\n<h1>")
    write_escaped_html(info.title, page)
    page.write(" <small>")
    write_escaped_html(info.version, page)
    page.write('</small></h1>\n<p><a href="')
    write_escaped_html(document_path, page)
    page.write('">OpenAPI document</a>\n')
    var components = components_of(operations)
    var named = with_names(
        with_all_responses(with_one_template(operations.copy())), components
    )
    _write_contents(named, page)
    for index in range(len(named)):
        _write_operation(named.at(index), index, page)
    _write_credentials(schemes_of(operations), page)
    if len(components) > 0:
        page.write("<h2>Schemas</h2>\n")
    for ref component in components:
        page.write('<section class="schema" id="schema-')
        write_escaped_html(component.name, page)
        page.write('">\n<h3>')
        write_escaped_html(component.name, page)
        page.write("</h3>\n")
        write_schema(component.schema, page)
        page.write("</section>\n")
    page.write('<script data-document="')
    write_escaped_html(document_path, page)
    page.write('">', PAGE_SCRIPT, "</script>\n</html>\n")
    return page^


def _write_contents(operations: List[Operation], mut page: String) raises:
    """Writes links to all operations, if they do not fit on a screen."""
    if len(operations) <= _CONTENTS_LEN_MIN:
        return
    page.write("<nav>\n<table>\n")
    for index in range(len(operations)):
        ref operation = operations.at(index)
        page.write("<tr><td>")
        _write_method(operation, page)
        page.write('<td><a href="#operation-', index, '"><code>')
        write_escaped_html(template(operation.pattern), page)
        page.write("</code></a><td>")
        write_escaped_html(operation.summary, page)
        page.write("\n")
    page.write("</table>\n</nav>\n")


def _write_method(operation: Operation, mut page: String):
    page.write("<b>")
    write_escaped_html(
        "any" if operation.method == "*" else operation.method, page
    )
    page.write("</b>")


def _write_operation(operation: Operation, index: Int, mut page: String) raises:
    page.write('<section id="operation-', index, '" data-method="')
    write_escaped_html(operation.method.lower(), page)
    page.write('" data-path="')
    write_escaped_html(template(operation.pattern), page)
    page.write('" data-pattern="')
    write_escaped_html(operation.pattern, page)
    page.write('">\n<h2>')
    _write_method(operation, page)
    page.write(" <code>")
    write_escaped_html(template(operation.pattern), page)
    page.write("</code>")
    if operation.id.byte_length() > 0:
        page.write(" <small>")
        write_escaped_html(operation.id, page)
        page.write("</small>")
    page.write("</h2>\n")
    if operation.summary.byte_length() > 0:
        page.write("<p>")
        write_escaped_html(operation.summary, page)
        page.write("\n")
    for ref guard in operation.guards:
        page.write('<p>Needs credentials: <a href="#credentials-')
        write_escaped_html(guard.id, page)
        page.write('">')
        write_escaped_html(guard.id, page)
        page.write("</a>\n")
    _write_inputs(operation, page)
    _write_answers(operation, page)
    page.write("</section>\n")


def _write_inputs(operation: Operation, mut page: String) raises:
    """Writes parameters and content of requests as one table."""
    var table = String()
    for ref parameter in parameters_of(operation):
        table.write("<tr><td><code>")
        write_escaped_html(parameter.name, table)
        table.write("</code><td>", parameter.place, "<td>")
        table.write("required" if parameter.is_required else "optional")
        table.write("<td>")
        write_schema(parameter.schema, table)
        table.write("\n")
    for ref content in operation.contents:
        if content.status == 0:
            table.write("<tr><td>content<td>")
            write_escaped_html(content.media_type, table)
            table.write("<td>required<td>")
            write_schema(content.schema, table)
            table.write("\n")
    if table.byte_length() > 0:
        page.write("<h3>Takes</h3>\n<table>\n", table, "</table>\n")


def _write_answers(operation: Operation, mut page: String):
    page.write("<h3>Answers</h3>\n<table>\n")
    for ref content in operation.contents:
        if content.status == 0:
            continue
        page.write("<tr><td><code>", content.status, "</code><td>")
        page.write(Status(content.status).reason(), "<td>")
        write_escaped_html(content.media_type, page)
        page.write("<td>")
        if content.media_type.byte_length() > 0:
            write_schema(content.schema, page)
        page.write("\n")
    page.write("</table>\n")


def _write_credentials(schemes: List[SecurityScheme], mut page: String):
    if len(schemes) == 0:
        return
    page.write("<h2>Credentials</h2>\n<table>\n")
    for ref scheme in schemes:
        page.write('<tr id="credentials-')
        write_escaped_html(scheme.id, page)
        page.write('"><td><code>')
        write_escaped_html(scheme.id, page)
        page.write("</code><td>")
        if scheme.place == "basic":
            page.write("a name and a password, in <code>Authorization</code>")
        elif scheme.kind == "apiKey":
            page.write(scheme.place, " <code>")
            write_escaped_html(scheme.name, page)
            page.write("</code>")
        else:
            page.write("<code>Authorization</code>, ", scheme.place)
        page.write("<td>")
        write_escaped_html(scheme.about, page)
        page.write("\n")
    page.write("</table>\n")


@fieldwise_init
struct FixedText(Copyable, Handler):
    """Answers with the same text each time."""

    var text: String
    var is_html: Bool
    """True for a page, False for JSON."""

    def serve(self, req: Request) raises -> Response:
        """Gives the text; it is not copied.

        Raises:
            Error: If a field cannot be set, which does not happen.
        """
        if not self.is_html:
            return ok_json(self.text)
        var response = ok_html(self.text)
        # The page has its style and its script within it, and asks nobody but
        # this server.
        response.headers.set(
            "Content-Security-Policy",
            String(
                "default-src 'none'; style-src 'unsafe-inline'; script-src '",
                PAGE_SCRIPT_DIGEST,
                (
                    "'; connect-src 'self'; base-uri 'none'; form-action"
                    " 'none'; frame-ancestors 'none'"
                ),
            ),
        )
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Says that this takes no time."""
        return RequestPolicy.by_head()


def add_api_docs(
    mut router: Router,
    info: ApiInfo,
    *,
    document_path: StringSpan = "/openapi.json",
    page_path: StringSpan = "/docs",
) raises:
    """Adds an OpenAPI document of a router's routes, and a page that shows it and
    sends requests.

    Call it when all other routes are there: routes that come later are not in
    the document.

    Args:
        router: Gets two routes.
        info: What is said of the whole API.
        document_path: Where the document is.
        page_path: Where the page is.

    Raises:
        Error: If a path is taken or malformed.
    """
    var operations = router.operations()
    var document = openapi_document(operations, info)
    var page = openapi_page(operations, info, document_path)
    router.get(document_path, FixedText(document^, False))
    router.get(page_path, FixedText(page^, True))
