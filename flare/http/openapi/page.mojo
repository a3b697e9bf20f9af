"""The page about an API, and what serves it."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok_html, ok_json
from flare.http.openapi.document import (
    ApiInfo,
    components_of,
    openapi_document,
    template,
    with_names,
    with_one_template,
)
from flare.http.openapi.page_script import PAGE_SCRIPT, PAGE_SCRIPT_DIGEST
from flare.http.handler.handler import Handler, RequestPolicy
from flare.http.handler.operation import Operation
from flare.http.routing.router import Router

comptime _STYLE = StaticString(
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;"
    "padding:0 1rem}code,pre{font:14px/1.4 ui-monospace,monospace}"
    "section{border-top:1px solid #ccc;padding:.5rem 0}"
    "h2{font-size:1rem;margin:.5rem 0}h2 b{display:inline-block;min-width:4rem}"
    "table{border-collapse:collapse}td,th{padding:.1rem .8rem .1rem 0;"
    "text-align:left;vertical-align:top}td:last-child{overflow-wrap:anywhere}"
    "pre{overflow:auto;margin:.2rem 0}"
    "label{display:block;margin:.4rem 0}input,textarea{width:100%;"
    "box-sizing:border-box;font:14px ui-monospace,monospace}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}"
    "a{color:#8bf}section{border-color:#444}}"
)


def openapi_page(
    operations: List[Operation], info: ApiInfo, document_path: StringSpan
) raises -> String:
    """Writes a page about an API. It shows all without its script, which adds
    forms to send requests with.

    Args:
        operations: What `Router.operations` gives.
        info: What is said of the whole API.
        document_path: Where the OpenAPI document is.

    Returns:
        HTML; the same for the same routes.

    Raises:
        Error: If a pattern is malformed.
    """
    var page = String("<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n")
    page.write('<meta name=viewport content="width=device-width">\n<title>')
    _escape(info.title, page)
    page.write("</title>\n<style>", _STYLE, "</style>\n<h1>")
    _escape(info.title, page)
    page.write(" <small>")
    _escape(info.version, page)
    page.write('</small></h1>\n<p><a href="')
    _escape(document_path, page)
    page.write('">OpenAPI document</a>\n')
    var components = components_of(operations)
    for ref operation in with_names(
        with_one_template(operations.copy()), components
    ):
        _write_operation(operation, page)
    for ref component in components:
        page.write("<h2>Schema ")
        _escape(component.name, page)
        page.write("</h2>\n<pre>")
        _escape(component.schema, page)
        page.write("</pre>\n")
    page.write('<script data-document="')
    _escape(document_path, page)
    page.write('">', PAGE_SCRIPT, "</script>\n</html>\n")
    return page^


def _write_operation(operation: Operation, mut page: String) raises:
    page.write('<section data-method="')
    _escape(operation.method.lower(), page)
    page.write('" data-path="')
    _escape(template(operation.pattern), page)
    page.write('" data-pattern="')
    _escape(operation.pattern, page)
    page.write('">\n<h2><b>')
    _escape("any" if operation.method == "*" else operation.method, page)
    page.write("</b> <code>")
    _escape(template(operation.pattern), page)
    page.write("</code>")
    if operation.id.byte_length() > 0:
        page.write(" ")
        _escape(operation.id, page)
    page.write("</h2>\n")
    if operation.summary.byte_length() > 0:
        page.write("<p>")
        _escape(operation.summary, page)
        page.write("\n")
    for guard in operation.guards:
        page.write("<p>Needs credentials: ", guard, "\n")
    if len(operation.parameters) > 0:
        page.write("<table>\n")
        for ref parameter in operation.parameters:
            page.write("<tr><td><code>")
            _escape(parameter.name, page)
            page.write("</code><td>", parameter.place, "<td>")
            page.write("required" if parameter.is_required else "optional")
            page.write("<td><code>")
            _escape(parameter.schema, page)
            page.write("</code>\n")
        page.write("</table>\n")
    for ref content in operation.contents:
        page.write("<p>")
        if content.status == 0:
            page.write("Takes ")
        else:
            page.write("Gives ", content.status, " ")
        if content.media_type.byte_length() == 0:
            page.write("without content\n")
            continue
        _escape(content.media_type, page)
        page.write("<pre>")
        _escape(content.schema, page)
        page.write("</pre>\n")
    page.write("</section>\n")


def _escape(text: StringSpan, mut page: String):
    """Writes text so that HTML takes it for text, also within quotes."""
    var start = 0
    var octets = text.as_bytes()
    for index in range(len(octets)):
        var octet = octets[index]
        var name = StaticString("")
        if octet == 38:
            name = "&amp;"
        elif octet == 60:
            name = "&lt;"
        elif octet == 62:
            name = "&gt;"
        elif octet == 34:
            name = "&quot;"
        elif octet == 39:
            name = "&#39;"
        if name.byte_length() > 0:
            page.write(StringSpan(unsafe_from_utf8=octets[start:index]), name)
            start = index + 1
    page.write(StringSpan(unsafe_from_utf8=octets[start:]))


@fieldwise_init
struct FixedText(Copyable, Handler):
    """Answers with the same text each time."""

    var text: String
    """The content."""
    var is_html: Bool
    """True for a page, False for JSON."""

    def serve(self, req: Request) raises -> Response:
        """Gives the text; it is not copied.

        Args:
            req: The request.

        Returns:
            The response.

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
        """Says that this takes no time.

        Args:
            req: The request.

        Returns:
            A policy of what needs no content.
        """
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
