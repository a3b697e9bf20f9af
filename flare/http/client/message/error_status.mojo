"""The error of a response whose status says that the request failed."""

from flare.bytes.ascii import write_escaped
from flare.bytes.checked import *
from flare.http.client.connect.auth import challenge_schemes
from flare.http.client.connect.error import ClientError, ErrorStatus, Phase
from flare.http.message.header_map import HeaderMap
from flare.http.message.media_type import MediaType
from flare.http.message.status import Status
from flare.json.error import JsonKind
from flare.json.value import JsonView, parse

comptime PROBLEM_LEN_MAX = 16_384
"""Longest content that is parsed for what it says, in bytes: what tells of an
error is short."""


def status_error(
    status: Status,
    reason: String,
    var url: String,
    headers: HeaderMap,
    attempts: String,
    content: Span[UInt8, _],
) -> ClientError:
    """Makes the error, of the kind `ErrorStatus`, for a response with a status
    of 400 or more. The URL is the one that answers, without user name and
    password.

    `attempts` says how often the request was sent, and why not again; empty if
    there is nothing to tell. The content is decoded; empty if it is not known.
    """
    var text = String("the server answered ", status, " ", reason)
    if attempts.byte_length() > 0:
        text.write(" ", attempts)
    var schemes = _accepted_schemes(status, headers)
    if schemes.byte_length() > 0:
        text.write("; it accepts ", schemes)
        text.write("; this client has BasicAuth, BearerAuth, DigestAuth")
    var said = what_is_said(headers, content)
    if said.byte_length() > 0:
        text.write("; it says: ", said)
    var error = ClientError(Phase.RESPONSE, ErrorStatus, text^)
    error.status = status
    error.url = url^
    return error^


def _accepted_schemes(status: Status, headers: HeaderMap) -> String:
    var schemes = String()
    if status != 401 and status != 407:
        return schemes^
    var name = "www-authenticate" if status == 401 else "proxy-authenticate"
    var index = headers.find(name)
    while index >= 0:
        if schemes.byte_length() > 0:
            schemes.write(", ")
        schemes.write(challenge_schemes(headers.value(index)))
        index = headers.find(name, index + 1)
    return schemes^


def what_is_said(headers: HeaderMap, content: Span[UInt8, _]) -> String:
    """Finds what the content of a refusal tells a person: escaped, and at most
    some 500 octets; empty for content of other types, such as pages.

    Of JSON that is `title` and `detail` (RFC 9457), else the first of
    `error_description`, `message` and `error` that is a text, or the `message`
    of an `error` that is an object, else the text as it is; of plain text its
    beginning.
    """
    var octets = _trimmed(content.as_imm())
    var type = headers.find("content-type")
    if len(octets) == 0 or type < 0:
        return String()
    var essence: String
    try:
        essence = MediaType.parse(headers.value(type)).essence
    except:
        return String()
    var is_json = essence == "application/json" or essence.endswith("+json")
    if not is_json and essence != "text/plain":
        return String()
    var said = String()
    if is_json and len(octets) <= PROBLEM_LEN_MAX:
        try:
            var document = parse(octets)
            said = _said_in(document.view())
        except:
            # What is no JSON is shown as it is.
            said = String()
    if said.byte_length() == 0:
        write_escaped(octets, said)
    return said^


def _said_in(value: JsonView) -> String:
    var said = String()
    for name in [StaticString("title"), "detail"]:
        var text = _text_at(value, name)
        if text.byte_length() > 0:
            if said.byte_length() > 0:
                said.write(": ")
            said.write(text)
    if said.byte_length() > 0:
        return said^
    for name in [StaticString("error_description"), "message", "error"]:
        said = _text_at(value, name)
        if said.byte_length() > 0:
            return said^
    if value.contains("error"):
        return _text_at(value.at(value.find("error")), "message")
    return said^


def _text_at(value: JsonView, name: StaticString) -> String:
    """Reads a member that is a text; empty if there is none."""
    var text = String()
    if not value.contains(name):
        return text^
    var member = value.at(value.find(name))
    if member.kind() == JsonKind.STRING:
        write_escaped(member.text().as_bytes(), text)
    return text^


def _trimmed[o: ImmOrigin](octets: Span[UInt8, o]) -> Span[UInt8, o]:
    var start = 0
    var end = len(octets)
    while start < end and octets.at(start) <= 32:
        start += 1
    while end > start and octets.at(end - 1) <= 32:
        end -= 1
    return octets.between(start, end)
