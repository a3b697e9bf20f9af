"""OpenAPI documents."""

from flare.http.message.status import Status
from flare.http.routing.operation import (
    ContentDescription,
    Operation,
    ParameterDescription,
)
from flare.http.routing.route_tree import SEGMENT_STATIC, parse_pattern
from flare.json.error import JsonError
from flare.json.value import parse
from flare.json.writer import JsonWriter

comptime OPENAPI_VERSION = StaticString("3.1.0")
"""The version of the OpenAPI Specification that documents follow."""

comptime _BAD_INPUT = StaticString(
    '{"type":"object","properties":{"title":{"type":"string"},'
    '"status":{"type":"integer"},"in":{"type":"string"},'
    '"name":{"type":"string"},"detail":{"type":"string"}}}'
)


@fieldwise_init
struct ApiInfo(Copyable, Movable):
    """What a document says of the whole API."""

    var title: String
    """Its name."""
    var version: String
    """Its own version."""


def openapi_document(
    operations: List[Operation], info: ApiInfo
) raises -> String:
    """Writes an OpenAPI document, the same for the same routes.

    Paths stand in the order in which they were registered. Of a route whose
    handler says nothing of itself, path parameters are known, as text. A route
    for all methods stands with GET, POST, PUT, PATCH and DELETE.

    Args:
        operations: What `Router.operations` gives.
        info: What is said of the whole API.

    Returns:
        JSON text.

    Raises:
        Error: If a text is not UTF-8.
    """
    var writer = JsonWriter(4_096)
    writer.begin_object()
    writer.key("openapi")
    writer.value(OPENAPI_VERSION)
    writer.key("info")
    writer.begin_object()
    writer.key("title")
    writer.value(info.title)
    writer.key("version")
    writer.value(info.version)
    writer.end_object()
    writer.key("paths")
    writer.begin_object()
    var named = _with_own_ids(operations)
    for index in range(len(named)):
        var path = template(named[index].pattern)
        if _stands_before(named, index, path):
            continue
        writer.key(path)
        _write_path(writer, named, index, path)
    writer.end_object()
    _write_guards(writer, operations)
    writer.end_object()
    return writer^.finish()


def template(pattern: String) raises -> String:
    """Writes a pattern as OpenAPI does: `/users/{id}` for `/users/:id`.

    Args:
        pattern: A route's pattern.

    Returns:
        The template; what a `*name` stands for may hold slashes there.

    Raises:
        Error: If the pattern is malformed.
    """
    var path = String()
    for segment in parse_pattern(pattern):
        if segment.kind == SEGMENT_STATIC:
            path.write("/", segment.text)
        else:
            path.write("/{", segment.text, "}")
    return path^


def _with_own_ids(operations: List[Operation]) -> List[Operation]:
    """Numbers ids that stand more than once, for they must be unique."""
    var named = operations.copy()
    for index in range(len(named)):
        var count = 1
        for before in range(index):
            if operations[before].id == operations[index].id:
                count += 1
        if count > 1 and named[index].id.byte_length() > 0:
            named[index].id.write("_", count)
    return named^


def _stands_before(
    operations: List[Operation], end: Int, path: String
) raises -> Bool:
    for index in range(end):
        if template(operations[index].pattern) == path:
            return True
    return False


def _write_path(
    mut writer: JsonWriter,
    operations: List[Operation],
    start: Int,
    path: String,
) raises:
    """Writes all operations of a path, each method once."""
    var written = List[String]()
    writer.begin_object()
    for index in range(start, len(operations)):
        ref operation = operations[index]
        if template(operation.pattern) != path or operation.method == "*":
            continue
        # The Path Item Object has no room for methods beside these.
        var method = operation.method.lower()
        if method in [
            "get",
            "put",
            "post",
            "delete",
            "options",
            "head",
            "patch",
            "trace",
        ]:
            written.append(method)
            _write_operation(writer, method, operation)
    for index in range(start, len(operations)):
        ref operation = operations[index]
        if template(operation.pattern) != path or operation.method != "*":
            continue
        for method in ["get", "post", "put", "patch", "delete"]:
            if String(method) not in written:
                _write_operation(writer, method, operation)
    writer.end_object()


def _write_operation(
    mut writer: JsonWriter, method: StringSpan, operation: Operation
) raises:
    writer.key(method)
    writer.begin_object()
    if operation.id.byte_length() > 0:
        writer.key("operationId")
        writer.value(
            operation.id if operation.method
            != "*" else String(method, operation.id)
        )
    if operation.summary.byte_length() > 0:
        writer.key("summary")
        writer.value(operation.summary)
    var parameters = _parameters(operation)
    if len(parameters) > 0:
        writer.key("parameters")
        writer.begin_array()
        for ref parameter in parameters:
            _write_parameter(writer, parameter)
        writer.end_array()
    for ref content in operation.contents:
        if content.status == 0:
            writer.key("requestBody")
            writer.begin_object()
            writer.key("required")
            writer.value(True)
            _write_content(writer, content)
            writer.end_object()
            break
    _write_responses(writer, operation)
    if len(operation.guards) > 0:
        writer.key("security")
        writer.begin_array()
        writer.begin_object()
        for guard in operation.guards:
            writer.key(guard)
            writer.begin_array()
            writer.end_array()
        writer.end_object()
        writer.end_array()
    writer.end_object()


def _parameters(operation: Operation) raises -> List[ParameterDescription]:
    """Lists the parameters; those of the pattern that no input tells of are
    text."""
    var parameters = operation.parameters.copy()
    for segment in parse_pattern(operation.pattern):
        if segment.kind == SEGMENT_STATIC:
            continue
        var is_known = False
        for ref parameter in operation.parameters:
            if parameter.place == "path" and parameter.name == segment.text:
                is_known = True
        if not is_known:
            parameters.append(
                ParameterDescription(
                    "path", segment.text, True, '{"type":"string"}'
                )
            )
    return parameters^


def _write_parameter(
    mut writer: JsonWriter, parameter: ParameterDescription
) raises:
    writer.begin_object()
    writer.key("name")
    writer.value(parameter.name)
    writer.key("in")
    writer.value(parameter.place)
    writer.key("required")
    writer.value(parameter.is_required)
    writer.key("schema")
    _write_text(writer, parameter.schema)
    writer.end_object()


def _write_responses(mut writer: JsonWriter, operation: Operation) raises:
    """Writes the responses: 200 if nothing is said, and those to bad inputs."""
    var takes_content = False
    var told = List[Int]()
    writer.key("responses")
    writer.begin_object()
    for ref content in operation.contents:
        if content.status == 0:
            takes_content = True
            continue
        told.append(content.status)
        _begin_response(writer, content.status)
        if content.media_type.byte_length() > 0:
            _write_content(writer, content)
        writer.end_object()
    if len(told) == 0:
        _begin_response(writer, 200)
        writer.end_object()
    for status in _refusals(operation, takes_content):
        if status in told:
            continue
        _begin_response(writer, status)
        if status != 401:
            _write_content(
                writer,
                ContentDescription(
                    status, "application/problem+json", String(_BAD_INPUT)
                ),
            )
        writer.end_object()
    writer.end_object()


def _refusals(operation: Operation, takes_content: Bool) -> List[Int]:
    """Lists the statuses that come of inputs and guards."""
    var statuses = List[Int]()
    if takes_content or len(operation.parameters) > 0:
        statuses.append(400)
    if takes_content:
        statuses.append(415)
        statuses.append(422)
    if len(operation.guards) > 0:
        statuses.append(401)
    return statuses^


def _begin_response(mut writer: JsonWriter, status: Int) raises:
    writer.key(String(status))
    writer.begin_object()
    writer.key("description")
    writer.value(Status(status).reason())


def _write_content(mut writer: JsonWriter, content: ContentDescription) raises:
    writer.key("content")
    writer.begin_object()
    writer.key(content.media_type)
    writer.begin_object()
    writer.key("schema")
    _write_text(writer, content.schema)
    writer.end_object()
    writer.end_object()


def _write_guards(mut writer: JsonWriter, operations: List[Operation]) raises:
    """Writes the schemes of guards, if there are any."""
    var basic = False
    var bearer = False
    for ref operation in operations:
        for guard in operation.guards:
            basic = basic or guard == "basic"
            bearer = bearer or guard == "bearer"
    if not basic and not bearer:
        return
    writer.key("components")
    writer.begin_object()
    writer.key("securitySchemes")
    writer.begin_object()
    for scheme in ["basic", "bearer"]:
        if (scheme == "basic" and basic) or (scheme == "bearer" and bearer):
            writer.key(scheme)
            writer.begin_object()
            writer.key("type")
            writer.value("http")
            writer.key("scheme")
            writer.value(scheme)
            writer.end_object()
    writer.end_object()
    writer.end_object()


def _write_text(mut writer: JsonWriter, text: String) raises:
    """Writes JSON text as a value."""
    var value = parse(text)
    writer.value(value.view())
