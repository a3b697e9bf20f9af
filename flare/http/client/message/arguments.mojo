"""What the keyword arguments of a request take: headers, params, json, form and
data, each from whatever a program has at hand."""

from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.bytes.float_text import float_text
from flare.http.client.message.multipart import MultipartForm
from flare.http.client.message.redirect import is_credential
from flare.http.client.message.request import RequestBody
from flare.http.message.body import Body
from flare.http.message.form import FormData
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import (
    APPLICATION_JSON,
    OCTET_STREAM,
    TEXT_PLAIN,
)
from flare.json.struct_writer import json_text
from flare.json.value import JsonValue
from flare.json.writer import dumps


struct PlainValue(Copyable, Movable):
    """A value of a header field, a query or a form: text, a number or a truth.

    client.get("/items", params={"page": 2, "q": "tea", "full": True})
    """

    var text: String
    """How it is sent, before any encoding."""

    @implicit
    def __init__(out self, var text: String):
        """Takes text."""
        self.text = text^

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes literal text."""
        self.text = String(text)

    @implicit
    def __init__(out self, text: StringSpan):
        """Copies text."""
        self.text = String(text)

    @implicit
    def __init__(out self, number: Int):
        """Writes a number.

        Args:
            number: The number.
        """
        self.text = String(number)

    @implicit
    def __init__(out self, number: Float64):
        """Writes a number."""
        self.text = float_text(number)

    @implicit
    def __init__(out self, truth: Bool):
        """Writes `true` or `false`.

        Args:
            truth: The value.
        """
        self.text = "true" if truth else "false"


struct RequestHeaders(Copyable, Defaultable, Movable):
    """Header fields of a request: a dictionary, or a `HeaderMap`."""

    var fields: HeaderMap
    """The fields."""
    var problem: String
    """What is wrong with one of them; empty if all can be sent."""

    def __init__(out self):
        """Gives no fields."""
        self.fields = HeaderMap()
        self.problem = String()

    @implicit
    def __init__(out self, var fields: HeaderMap):
        """Takes fields."""
        self.fields = fields^
        self.problem = String()

    def __init__(
        out self,
        var names: List[String],
        var values: List[PlainValue],
        __dict_literal__: NoneType,
    ):
        """Takes a dictionary as it is written.

        Args:
            names: Names, in the order in which they are written.
            values: Their values.
            __dict_literal__: Marks this as what a literal becomes.
        """
        self = Self()
        for index in range(len(names)):
            try:
                self.fields.set(names.at(index), values.at(index).text)
            except error:
                self.problem = String("headers: ", error)
                if is_credential(names.at(index)):
                    # The error would show the credentials.
                    self.problem = String(
                        "headers: ",
                        names.at(index),
                        " cannot be sent: a control octet, such as a line end,"
                        " or more than a block of fields holds",
                    )


struct QueryParams(Copyable, Defaultable, Movable):
    """Parameters of a query: a dictionary, or a `FormData`."""

    var pairs: FormData
    """Names and values, not encoded."""

    def __init__(out self):
        """Gives no parameters."""
        self.pairs = FormData()

    @implicit
    def __init__(out self, var pairs: FormData):
        """Takes parameters; a name may occur more than once."""
        self.pairs = pairs^

    def __init__(
        out self,
        var names: List[String],
        var values: List[PlainValue],
        __dict_literal__: NoneType,
    ):
        """Takes a dictionary as it is written; the rest is as for
        `RequestHeaders.__init__`."""
        self.pairs = _pairs(names, values)


struct FormContent(Copyable, Defaultable, Movable):
    """A form: a dictionary or a `FormData`, sent as a browser sends one without
    files; or a `MultipartForm`."""

    var body: RequestBody
    """The content."""

    def __init__(out self):
        """Gives no form."""
        self.body = RequestBody()

    @implicit
    def __init__(out self, form: FormData):
        """Takes a form without files.

        Args:
            form: The form.
        """
        self.body = RequestBody(form)

    @implicit
    def __init__(out self, var form: MultipartForm):
        """Takes a form with files."""
        self.body = RequestBody(form^)

    def __init__(
        out self,
        var names: List[String],
        var values: List[PlainValue],
        __dict_literal__: NoneType,
    ):
        """Takes a dictionary as it is written; the rest is as for
        `RequestHeaders.__init__`."""
        self.body = RequestBody(_pairs(names, values))


struct DataContent(Copyable, Defaultable, Movable):
    """Content of any kind: text is sent as plain text, octets as octets.

    A `Content-Type` among the request's headers wins.
    """

    var body: RequestBody
    """The content."""

    def __init__(out self):
        """Gives no content."""
        self.body = RequestBody()

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets.

        Args:
            octets: The octets.
        """
        self.body = RequestBody(Body(octets^), String(OCTET_STREAM))

    @implicit
    def __init__(out self, octets: Span[UInt8, _]):
        """Copies octets."""
        self.body = RequestBody(Body(list_of(octets)), String(OCTET_STREAM))

    @implicit
    def __init__(out self, var text: String):
        """Takes text.

        Args:
            text: The text.
        """
        self.body = RequestBody(Body(text^), String(TEXT_PLAIN))

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes literal text."""
        self.body = RequestBody(Body(text), String(TEXT_PLAIN))


struct JsonContent(Copyable, Defaultable, Movable):
    """JSON: text that is JSON already, a `JsonValue`, a dictionary of values, or
    whatever else can be written as JSON: a plain struct, a list, a number.

        client.post("/items", json=Item("tea", 3))
        client.post("/items", json={"name": "tea", "count": 3})
        client.post("/items", json='{"name": "tea"}')
    """

    var body: RequestBody
    """The content."""
    var problem: String
    """Why the value has no text in JSON; empty if it has."""

    def __init__(out self):
        """Gives no content."""
        self.body = RequestBody()
        self.problem = String()

    @implicit
    def __init__(out self, text: String):
        """Copies JSON text; it is not checked.

        Args:
            text: The text.
        """
        # Borrowed: else the overload for all other types would be chosen.
        self.body = RequestBody(text.copy())
        self.problem = String()

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes literal JSON text; it is not checked."""
        self.body = RequestBody(text)
        self.problem = String()

    @implicit
    def __init__(out self, text: StringSpan):
        """Copies JSON text; it is not checked."""
        self.body = RequestBody(text)
        self.problem = String()

    @implicit
    def __init__(out self, value: JsonValue):
        """Writes a JSON value.

        Args:
            value: The value.
        """
        self = Self()
        try:
            self.body = RequestBody.json(value)
        except error:
            self.problem = String("json: ", error)

    @implicit
    def __init__[T: AnyType](out self, value: T):
        """Writes a value, a struct with the names of its fields.

        Parameters:
            T: The value's type; one with fields that JSON has no form for does
                not compile.
        """
        self = Self()
        var item = JsonItem(value)
        self.problem = item.problem
        self.body = RequestBody(Body(item.text), String(APPLICATION_JSON))

    def __init__(
        out self,
        var names: List[String],
        var values: List[JsonItem],
        __dict_literal__: NoneType,
    ):
        """Takes a dictionary as it is written; the rest is as for
        `RequestHeaders.__init__`."""
        var item = JsonItem(names^, values^, None)
        self.problem = item.problem
        self.body = RequestBody(Body(item.text), String(APPLICATION_JSON))


struct JsonItem(Copyable, Movable):
    """A value in a dictionary that becomes JSON: text is a JSON string here."""

    var text: String
    """It in JSON."""
    var problem: String
    """Why it has no text in JSON; empty if it has."""

    @implicit
    def __init__(out self, value: StringLiteral):
        """Takes literal text.

        Args:
            value: The value.
        """
        self = Self(String(value))

    @implicit
    def __init__[T: AnyType](out self, value: T):
        """Writes a value.

        Parameters:
            T: The value's type, as for `JsonContent`.
        """
        self.text = String()
        self.problem = String()
        try:
            self.text = json_text(value)
        except error:
            self.problem = String("json: ", error)

    @implicit
    def __init__(out self, value: JsonValue):
        """Writes a JSON value."""
        self.text = String()
        self.problem = String()
        try:
            self.text = dumps(value)
        except error:
            self.problem = String("json: ", error)

    def __init__(
        out self,
        var names: List[String],
        var values: List[Self],
        __dict_literal__: NoneType,
    ):
        """Takes a dictionary as it is written; the rest is as for
        `RequestHeaders.__init__`."""
        self.text = "{"
        self.problem = String()
        for index in range(len(names)):
            var name = Self(names.at(index))
            if index > 0:
                self.text.write(",")
            self.text.write(name.text, ":", values.at(index).text)
            if values.at(index).problem.byte_length() > 0:
                self.problem = values.at(index).problem
        self.text.write("}")


def _pairs(names: List[String], values: List[PlainValue]) -> FormData:
    var pairs = FormData()
    for index in range(len(names)):
        pairs.add(names.at(index), values.at(index).text)
    return pairs^
