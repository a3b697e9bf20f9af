"""Endpoints that show what an API is."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok_html, ok_json
from flare.http.openapi.document import ApiInfo, openapi_document
from flare.http.openapi.page import openapi_page
from flare.http.openapi.page_script import PAGE_SCRIPT_DIGEST
from flare.http.routing.handler import Handler, RequestPolicy
from flare.http.routing.router import Router


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
