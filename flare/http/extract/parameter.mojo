"""Inputs from the head of a request."""

from flare.bytes.ascii import trim_whitespace
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.from_text import TextError
from flare.json.text_value import (
    may_be_absent,
    read_text,
    read_texts,
    texts_schema,
)
from flare.http.message.request import Request
from flare.http.handler.operation import (
    Input,
    InputError,
    Operation,
    ParameterDescription,
)
from flare.net.socket_addr import SocketAddr
from std.reflection import reflect


@fieldwise_init
struct Parameter[
    T: Movable & Deinitable, name: StaticString, place: StaticString
](Input):
    """A parameter, in OpenAPI's sense: a named text of the head.

    Parameters:
        T: What it is read as; see `read_texts`.
        name: Its name; that of a header field in any case.
        place: Where it stands: "path", "query", "header" or "cookie".
    """

    var value: Self.T
    """What was read."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Reads the parameter.

        Raises:
            InputError: 400 if it is missing or bad, 500 if the route's pattern
                has none of this name.
        """
        comptime if Self.place == "path":
            # One text, where the others may be missing or repeated.
            var text = _path_text(req, Self.name)
            return Self(_read_one[Self.T](text, Self.place, Self.name))
        else:
            var texts = _texts[Self.place](req, Self.name)
            comptime if (
                Self.place == "header" and reflect[Self.T].base_name() == "List"
            ):
                texts = _elements_of(texts)
            return Self(_read[Self.T](texts, Self.place, Self.name))

    @staticmethod
    def describe(mut operation: Operation):
        """Says what is taken."""
        _add_parameter(
            operation,
            Self.place,
            Self.name,
            may_be_absent[Self.T](),
            texts_schema[Self.T](),
        )


comptime PathParam[T: Movable & Deinitable, name: StaticString] = Parameter[
    T, name, "path"
]
"""A parameter of the route's pattern.

Parameters:
    T: What it is read as; see `read_text`.
    name: Its name in the pattern.
"""
comptime QueryParam[T: Movable & Deinitable, name: StaticString] = Parameter[
    T, name, "query"
]
"""A parameter of the query.

Parameters:
    T: What it is read as; see `read_texts`.
    name: Its name.
"""
comptime HeaderParam[T: Movable & Deinitable, name: StaticString] = Parameter[
    T, name, "header"
]
"""A header field. A `List` has the elements of all its lines, parted by commas
(RFC 9110 section 5.6.1).

Parameters:
    T: What it is read as; see `read_texts`.
    name: Its name, in any case.
"""
comptime CookieParam[T: Movable & Deinitable, name: StaticString] = Parameter[
    T, name, "cookie"
]
"""A cookie.

Parameters:
    T: What it is read as; see `read_texts`.
    name: Its name.
"""


@fieldwise_init
struct Peer(Input):
    """Where the request came from."""

    var address: SocketAddr
    """The address; behind a `TrustedProxies` that of the client."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Takes the address.

        Raises:
            InputError: Never.
        """
        return Self(req.peer)

    @staticmethod
    def describe(mut operation: Operation):
        """Says nothing, since the client does not send it."""
        _ = operation


def _path_text(req: Request, name: StaticString) raises InputError -> String:
    ref params = req.route_params()[]
    if params.find(name) < 0:
        raise InputError(
            500, "path", String(name), "is not in the route's pattern"
        )
    return String(req.param(name))


def _texts[
    place: StaticString
](req: Request, name: StaticString) raises InputError -> List[String]:
    comptime if place == "query":
        return _query_texts(req, name)
    elif place == "header":
        return _field_texts(req, name)
    else:
        comptime assert place == "cookie", "path, query, header or cookie"
        return _cookie_texts(req, name)


def _query_texts(
    req: Request, name: StaticString
) raises InputError -> List[String]:
    try:
        return req.query_params().get_all(name)
    except error:
        raise InputError(400, "query", String(), String(error))


def _field_texts(
    req: Request, name: StaticString
) raises InputError -> List[String]:
    var texts = List[String]()
    var index = req.headers.find(name)
    while index >= 0:
        var text = req.headers.value(index)
        # Octets that are no text are lent as an empty one.
        if len(req.headers.value_bytes(index)) > text.byte_length():
            raise InputError(400, "header", String(name), "send it in UTF-8")
        texts.append(String(text))
        index = req.headers.find(name, index + 1)
    return texts^


@no_inline
def _elements_of(lines: List[String]) -> List[String]:
    """Cuts the lines of a field, which make one list (RFC 9110 section 5.3), at
    its commas, but for those in quoted strings; empty elements are none."""
    var elements = List[String]()
    for ref line in lines:
        var octets = line.as_bytes()
        var start = 0
        var is_quoted = False
        var index = 0
        while index <= len(octets):
            if index == len(octets) or (
                octets.at(index) == 44 and not is_quoted
            ):
                var element = trim_whitespace(octets.between(start, index))
                if len(element) > 0:
                    elements.append(text_of(element))
                start = index + 1
            elif octets.at(index) == 34:
                is_quoted = not is_quoted
            elif octets.at(index) == 92 and is_quoted:
                index = min(index + 1, len(octets) - 1)
            index += 1
    return elements^


def _cookie_texts(req: Request, name: StaticString) -> List[String]:
    var texts = List[String]()
    for cookie in req.cookies():
        if cookie.name == name:
            texts.append(cookie.value)
    return texts^


def _read_one[
    T: Movable & Deinitable
](text: String, place: StaticString, name: StaticString) raises InputError -> T:
    try:
        return read_text[T](text)
    except error:
        raise _refused(place, name, error)


def _read[
    T: Movable & Deinitable
](
    texts: List[String], place: StaticString, name: StaticString
) raises InputError -> T:
    try:
        return read_texts[T](texts)
    except error:
        raise _refused(place, name, error)


@no_inline
def _refused(
    place: StaticString, name: StaticString, error: TextError
) -> InputError:
    return InputError(400, place, String(name), String(error.reason))


def _add_parameter(
    mut operation: Operation,
    place: StaticString,
    name: StaticString,
    may_be_absent: Bool,
    var schema: String,
):
    operation.parameters.append(
        ParameterDescription(place, String(name), not may_be_absent, schema^)
    )


comptime PathInt[name: StaticString] = PathParam[Int, name]
"""An integer of the route's pattern.

Parameters:
    name: Its name.
"""
comptime PathStr[name: StaticString] = PathParam[String, name]
"""Text of the route's pattern.

Parameters:
    name: Its name.
"""
comptime QueryInt[name: StaticString] = QueryParam[Int, name]
"""An integer of the query.

Parameters:
    name: Its name.
"""
comptime QueryStr[name: StaticString] = QueryParam[String, name]
"""Text of the query.

Parameters:
    name: Its name.
"""
comptime QueryBool[name: StaticString] = QueryParam[Bool, name]
"""A yes or no of the query.

Parameters:
    name: Its name.
"""
comptime OptQueryInt[name: StaticString] = QueryParam[Optional[Int], name]
"""An integer of the query that may be left out.

Parameters:
    name: Its name.
"""
comptime OptQueryStr[name: StaticString] = QueryParam[Optional[String], name]
"""Text of the query that may be left out.

Parameters:
    name: Its name.
"""
comptime HeaderStr[name: StaticString] = HeaderParam[String, name]
"""A header field.

Parameters:
    name: Its name.
"""
comptime OptHeaderStr[name: StaticString] = HeaderParam[Optional[String], name]
"""A header field that may be missing.

Parameters:
    name: Its name.
"""
comptime CookieStr[name: StaticString] = CookieParam[String, name]
"""A cookie.

Parameters:
    name: Its name.
"""
comptime OptCookieStr[name: StaticString] = CookieParam[Optional[String], name]
"""A cookie that may be missing.

Parameters:
    name: Its name.
"""
