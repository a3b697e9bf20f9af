"""Descriptions of an API (OpenAPI 3.1)."""

from flare.http.openapi.page import add_api_docs
from flare.http.openapi.document import ApiInfo, openapi_document
from flare.http.handler.operation import Operation, SecurityScheme
