"""OpenAPI documents."""

from flare.bytes.checked import *
from flare.http.message.status import Status
from flare.http.handler.operation import (
    ContentDescription,
    Operation,
    ParameterDescription,
    SecurityScheme,
)
from flare.http.routing.route_tree import (
    SEGMENT_PARAM,
    SEGMENT_STATIC,
    parse_pattern,
)
from flare.json.writer import JsonComposer
from flare.json.schema import NamedSchema, SCHEMA_PLACE

comptime OPENAPI_VERSION = StaticString("3.1.0")
"""The version of the OpenAPI Specification that documents follow."""

comptime _PROBLEM_ID = StaticString("flare.http.Problem")
comptime _PROBLEM_REF = StaticString(
    '{"$ref":"#/components/schemas/flare.http.Problem"}'
)
comptime _PROBLEM = StaticString(
    '{"type":"object","description":"What is wrong with a request (RFC 9457)","properties":{'
    '"title":{"type":"string"},"status":{"type":"integer"},'
    '"in":{"type":"string"},"name":{"type":"string"},'
    '"detail":{"type":"string"},"errors":{"type":"array","items":{'
    '"type":"object","properties":{"in":{"type":"string","enum":["path",'
    '"query","header","cookie","body"]},"name":{"type":"string"},'
    '"pointer":{"type":"string","description":"JSON Pointer of the member"},'
    '"detail":{"type":"string"}},"required":["in","name","detail"]}}},'
    '"required":["title","status","in","name","detail","errors"]}'
)
# RFC 9110 section 15.5.14: what the server says before the handler is asked.
comptime _TOO_LARGE = 413


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

    Paths stand in the order in which they were registered. A struct stands once
    among the components, under its name; of several with one name each has its
    module in front. Of a route whose
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
    var components = components_of(operations)
    var named = with_names(
        with_all_responses(with_one_template(_with_own_ids(operations))),
        components,
    )
    var writer = JsonComposer()
    writer.text("openapi", OPENAPI_VERSION)
    writer.begin_object("info")
    writer.text("title", info.title)
    writer.text("version", info.version)
    writer.end_object()
    writer.begin_object("paths")
    var paths = Dict[String, List[Int]]()
    for index in range(len(named)):
        paths.setdefault(template(named.at(index).pattern), []).append(index)
    for path in paths.items():
        writer.begin_object(path.key)
        _write_path(writer, named, path.value)
        writer.end_object()
    writer.end_object()
    _write_components(writer, operations, components)
    return writer^.finish()


def template(pattern: String, *, has_names: Bool = True) raises -> String:
    """Writes a pattern as OpenAPI does: `/users/{id}` for `/users/:id`; what a
    `*name` stands for may hold slashes there. Without names it is `/users/{}`."""
    var path = String()
    for segment in parse_pattern(pattern):
        if segment.kind == SEGMENT_STATIC:
            path.write("/", segment.text)
        else:
            path.write("/{", segment.text if has_names else "", "}")
    return path^


def with_one_template(
    var operations: List[Operation],
) raises -> List[Operation]:
    """Gives routes of `Router.operations` that differ in nothing but the names
    of their parameters the names of the first: OpenAPI has one template for all
    methods of a path, and knows no difference between `:name` and `*name`."""
    var first_patterns = Dict[String, String]()
    for ref operation in operations:
        var shape = template(operation.pattern, has_names=False)
        var first = first_patterns.setdefault(shape^, operation.pattern)
        if first != operation.pattern:
            _rename(operation, first)
    return operations^


def _rename(mut operation: Operation, pattern: String) raises:
    """Gives an operation the names of a pattern of the same shape."""
    var old = parse_pattern(operation.pattern)
    var new = parse_pattern(pattern)
    for ref parameter in operation.parameters:
        if parameter.place != "path":
            continue
        for index in range(len(old)):
            if (
                old.at(index).kind != SEGMENT_STATIC
                and old.at(index).text == parameter.name
            ):
                parameter.name = new.at(index).text
                break
    operation.pattern = String()
    for index in range(len(old)):
        var mark = ""
        if old.at(index).kind != SEGMENT_STATIC:
            mark = ":" if old.at(index).kind == SEGMENT_PARAM else "*"
        operation.pattern.write("/", mark, new.at(index).text)


def _with_own_ids(operations: List[Operation]) -> List[Operation]:
    """Numbers ids that stand more than once, for they must be unique."""
    var named = operations.copy()
    var counts = Dict[String, Int]()
    for ref operation in named:
        ref count = counts.setdefault(operation.id, 0)
        count += 1
        if count > 1 and operation.id.byte_length() > 0:
            operation.id.write("_", count)
    return named^


def _write_path(
    mut writer: JsonComposer, operations: List[Operation], indices: List[Int]
) raises:
    """Writes the operations of a path, each method once."""
    var written = List[String]()
    for index in indices:
        ref operation = operations.at(index)
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
            # `:name` and `*name` make one template, so a method can come twice.
            if method in written:
                continue
            written.append(method)
            _write_operation(writer, method, operation)
    for index in indices:
        ref operation = operations.at(index)
        if operation.method != "*":
            continue
        for method in ["get", "post", "put", "patch", "delete"]:
            if String(method) not in written:
                _write_operation(writer, method, operation)


def _write_operation(
    mut writer: JsonComposer, method: StringSpan, operation: Operation
) raises:
    writer.begin_object(method)
    if operation.id.byte_length() > 0:
        var id = operation.id
        if operation.method == "*":
            id = String(method, operation.id)
        writer.text("operationId", id)
    if operation.summary.byte_length() > 0:
        writer.text("summary", operation.summary)
    var parameters = parameters_of(operation)
    if len(parameters) > 0:
        writer.begin_array("parameters")
        for ref parameter in parameters:
            _write_parameter(writer, parameter)
        writer.end_array()
    for ref content in operation.contents:
        if content.status == 0:
            writer.begin_object("requestBody")
            writer.flag("required", True)
            _write_content(writer, content)
            writer.end_object()
            break
    _write_responses(writer, operation)
    if len(operation.guards) > 0:
        writer.begin_array("security")
        writer.begin_object()
        for ref guard in operation.guards:
            writer.begin_array(guard.id)
            writer.end_array()
        writer.end_object()
        writer.end_array()
    writer.end_object()


def parameters_of(
    operation: Operation,
) raises -> List[ParameterDescription]:
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


def _write_parameter(mut writer: JsonComposer, parameter: ParameterDescription):
    writer.begin_object()
    writer.text("name", parameter.name)
    writer.text("in", parameter.place)
    writer.flag("required", parameter.is_required)
    writer.json("schema", parameter.schema)
    writer.end_object()


def _write_responses(mut writer: JsonComposer, operation: Operation):
    writer.begin_object("responses")
    for ref content in operation.contents:
        if content.status == 0:
            continue
        writer.begin_object(String(content.status))
        writer.text("description", Status(content.status).reason())
        if content.media_type.byte_length() > 0:
            _write_content(writer, content)
        writer.end_object()
    writer.end_object()


def with_all_responses(var operations: List[Operation]) -> List[Operation]:
    """Adds the responses that handlers say nothing of: 200 if they say nothing
    at all, and those to bad inputs."""
    for ref operation in operations:
        var takes_content = False
        var told = List[Int]()
        for ref content in operation.contents:
            if content.status == 0:
                takes_content = True
            else:
                told.append(content.status)
        if len(told) == 0:
            operation.answers(200)
        for status in _refusals(operation, takes_content):
            if status in told:
                continue
            if status == 401 or (
                status == _TOO_LARGE and not _takes_parts(operation)
            ):
                operation.answers(status)
            else:
                operation.contents.append(
                    ContentDescription(
                        status, "application/problem+json", String(_PROBLEM_REF)
                    )
                )
    return operations^


def _refusals(operation: Operation, takes_content: Bool) -> List[Int]:
    """Lists the statuses that come of inputs and guards."""
    var statuses = List[Int]()
    if _tells_of_inputs(operation):
        statuses.append(400)
    if takes_content:
        statuses.append(_TOO_LARGE)
        statuses.append(415)
        statuses.append(422)
    if len(operation.guards) > 0:
        statuses.append(401)
    return statuses^


def _tells_of_inputs(operation: Operation) -> Bool:
    """Tells whether a problem may be answered."""
    for ref content in operation.contents:
        if content.status == 0:
            return True
    return len(operation.parameters) > 0


def _takes_parts(operation: Operation) -> Bool:
    """Tells whether the handler itself bounds the content."""
    for ref content in operation.contents:
        if content.status == 0 and content.media_type.startswith("multipart/"):
            return True
    return False


def _write_content(mut writer: JsonComposer, content: ContentDescription):
    writer.begin_object("content")
    writer.begin_object(content.media_type)
    writer.json("schema", content.schema)
    writer.end_object()
    writer.end_object()


def _write_components(
    mut writer: JsonComposer,
    operations: List[Operation],
    components: List[NamedSchema],
):
    """Writes structs and the schemes of guards, if there are any."""
    var schemes = schemes_of(operations)
    if len(components) + len(schemes) == 0:
        return
    writer.begin_object("components")
    if len(components) > 0:
        writer.begin_object("schemas")
        for ref component in components:
            writer.json(component.name, component.schema)
        writer.end_object()
    if len(schemes) > 0:
        writer.begin_object("securitySchemes")
        for ref scheme in schemes:
            _write_scheme(writer, scheme)
        writer.end_object()
    writer.end_object()


def _write_scheme(mut writer: JsonComposer, scheme: SecurityScheme):
    writer.begin_object(scheme.id)
    writer.text("type", scheme.kind)
    if scheme.kind == "http":
        writer.text("scheme", scheme.place)
    else:
        writer.text("in", scheme.place)
        writer.text("name", scheme.name)
    if scheme.about.byte_length() > 0:
        writer.text("description", scheme.about)
    writer.end_object()


def schemes_of(operations: List[Operation]) -> List[SecurityScheme]:
    """Lists what the guards of all operations want to be shown, each once."""
    var schemes = List[SecurityScheme]()
    for ref operation in operations:
        for ref guard in operation.guards:
            var is_known = False
            for ref known in schemes:
                is_known = is_known or known.id == guard.id
            if not is_known:
                schemes.append(guard.copy())
    return schemes^


def components_of(operations: List[Operation]) -> List[NamedSchema]:
    """Lists the structs of all operations, each once, under the names that they
    have in a document, and the problem that bad inputs are answered with."""
    var schemas = List[NamedSchema]()
    var tells_of_inputs = False
    for ref operation in operations:
        tells_of_inputs = tells_of_inputs or _tells_of_inputs(operation)
        for ref schema in operation.book.schemas:
            var is_known = False
            for ref known in schemas:
                is_known = is_known or known.id == schema.id
            if not is_known:
                schemas.append(schema.copy())
    if tells_of_inputs:
        schemas.append(
            NamedSchema(String(_PROBLEM_ID), "Problem", String(_PROBLEM))
        )
    var names = component_names(schemas)
    for index in range(len(schemas)):
        schemas.at(index).name = names.at(index)
    for ref schema in schemas:
        schema.schema = _renamed(schema.schema, schemas)
    return schemas^


def with_names(
    var operations: List[Operation], components: List[NamedSchema]
) -> List[Operation]:
    """Lets operations name structs as `components_of` does."""
    for ref operation in operations:
        for ref content in operation.contents:
            content.schema = _renamed(content.schema, components)
    return operations^


def component_names(schemas: List[NamedSchema]) -> List[String]:
    """Chooses the names of schemas in a document: that of each one's struct, or
    its id if another one has that name."""
    var names = List[String](capacity=len(schemas))
    for ref schema in schemas:
        var count = 0
        for ref other in schemas:
            if other.name == schema.name or other.id == schema.name:
                count += 1
        names.append(schema.name if count == 1 else schema.id)
    return names^


def _renamed(var text: String, components: List[NamedSchema]) -> String:
    """Replaces the ids in references by names."""
    for ref component in components:
        text = text.replace(
            String('"', SCHEMA_PLACE, component.id, '"'),
            String('"', SCHEMA_PLACE, component.name, '"'),
        )
    return text^
