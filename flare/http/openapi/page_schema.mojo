"""Schemas as the page about an API shows them: words, links and tables."""

from flare.http.openapi.html import write_escaped_html
from flare.json.error import JsonError, JsonKind
from flare.json.schema import SCHEMA_PLACE
from flare.json.value import JsonView, parse
from flare.json.writer import dumps


def write_schema(schema: String, mut page: String):
    """Writes what a JSON Schema says: `list of`, a link to a struct, a table of
    members. What is no JSON, as of a type that describes itself badly, stands
    there as it is.
    """
    var shown = String()
    try:
        var document = parse(schema)
        _write(document.view(), shown)
    except:
        shown = String("<code>")
        write_escaped_html(schema, shown)
        shown.write("</code>")
    page.write(shown)


def _write(schema: JsonView, mut page: String) raises JsonError:
    """Writes a schema, and those within."""
    _write_type(schema, page)
    if schema.kind() != JsonKind.OBJECT or schema.contains("properties"):
        return
    _write_bounds(schema, page)
    var about = schema.get("description")
    if about and about.value().kind() == JsonKind.STRING:
        page.write(", ")
        write_escaped_html(about.value().string_value(), page)


def _write_type(schema: JsonView, mut page: String) raises JsonError:
    if schema.kind() != JsonKind.OBJECT:
        # `true` and `false` are schemas (JSON Schema 2020-12, section 4.3.2).
        _write_code(schema, page)
    elif schema.contains("properties"):
        _write_members(schema, page)
    elif schema.contains("$ref"):
        _write_link(schema["$ref"].string_value(), page)
    elif schema.contains("anyOf"):
        var is_first = True
        for choice in schema["anyOf"].elements():
            page.write("" if is_first else " or ")
            _write_type(choice, page)
            is_first = False
    elif schema.contains("enum"):
        var is_first = True
        for value in schema["enum"].elements():
            page.write("" if is_first else " or ")
            _write_code(value, page)
            is_first = False
    elif schema.contains("items"):
        page.write("list of ")
        _write(schema["items"], page)
    elif schema.contains("additionalProperties"):
        page.write("object of any names, each ")
        _write(schema["additionalProperties"], page)
    elif schema.contains("type"):
        _write_plain(schema, page)
    elif len(schema) == 0:
        page.write("anything")
    else:
        _write_code(schema, page)


def _write_plain(schema: JsonView, mut page: String) raises JsonError:
    """Writes a boolean, a number or a text; a common format says nothing new."""
    if schema["type"].kind() != JsonKind.STRING:
        _write_code(schema["type"], page)
        return
    write_escaped_html(schema["type"].string_value(), page)
    if schema.contains("format"):
        var format = schema["format"].string_value()
        if format != "int64" and format != "double":
            page.write(" (")
            write_escaped_html(format, page)
            page.write(")")


def _write_link(place: String, mut page: String):
    """Writes where a schema stands on the page."""
    var name = place
    if place.startswith(SCHEMA_PLACE):
        name = String(place[byte = SCHEMA_PLACE.byte_length() :])
    page.write('<a href="#schema-')
    write_escaped_html(name, page)
    page.write('">')
    write_escaped_html(name, page)
    page.write("</a>")


def _write_code(value: JsonView, mut page: String) raises JsonError:
    page.write("<code>")
    write_escaped_html(dumps(value), page)
    page.write("</code>")


def _write_bounds(schema: JsonView, mut page: String) raises JsonError:
    """Writes the rules of a value (JSON Schema 2020-12, Validation), also those
    of the types that it may have: each says something of one alone."""
    if schema.contains("anyOf"):
        for choice in schema["anyOf"].elements():
            if choice.kind() == JsonKind.OBJECT:
                _write_bounds(choice, page)
    _write_range(schema, "minimum", "maximum", "", page)
    _write_range(schema, "minLength", "maxLength", " characters", page)
    _write_range(schema, "minItems", "maxItems", " elements", page)
    if schema.contains("pattern"):
        page.write(", matches <code>")
        write_escaped_html(schema["pattern"].string_value(), page)
        page.write("</code>")


def _write_range(
    schema: JsonView,
    least: StaticString,
    most: StaticString,
    unit: StaticString,
    mut page: String,
) raises JsonError:
    var has_least = schema.contains(least)
    var has_most = schema.contains(most)
    if not has_least and not has_most:
        return
    page.write(", ")
    if has_least and has_most:
        _write_number(schema[least], page)
        page.write(" to ")
        _write_number(schema[most], page)
    elif has_least:
        page.write("at least ")
        _write_number(schema[least], page)
    else:
        page.write("at most ")
        _write_number(schema[most], page)
    page.write(unit)


def _write_number(value: JsonView, mut page: String) raises JsonError:
    write_escaped_html(dumps(value), page)


def _write_members(schema: JsonView, mut page: String) raises JsonError:
    """Writes an object as a table: name, whether it must be there, schema."""
    if schema.contains("description"):
        page.write("<p>")
        write_escaped_html(schema["description"].string_value(), page)
        page.write("</p>\n")
    if len(schema["properties"]) == 0:
        page.write("object without members")
        return
    page.write("<table>\n")
    for member in schema["properties"].members():
        page.write("<tr><td><code>")
        write_escaped_html(member.name, page)
        page.write("</code><td>")
        page.write(
            "required" if _is_required(schema, member.name) else "optional"
        )
        page.write("<td>")
        _write(member.value, page)
        page.write("\n")
    page.write("</table>\n")


def _is_required(schema: JsonView, name: StringSpan) raises JsonError -> Bool:
    if not schema.contains("required"):
        return False
    for required in schema["required"].elements():
        if required.string_value() == name:
            return True
    return False
