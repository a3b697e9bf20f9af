"""Inputs from the content of a request."""

from flare.bytes.ascii import write_escaped
from flare.http.extract.text_value import Checked, read_texts
from flare.http.message.form import FormData
from flare.http.message.media_type import MediaType
from flare.http.message.request import Request
from flare.http.routing.operation import Input, InputError, Operation
from flare.json.error import JsonError
from flare.json.struct_reader import FieldSource, make_fieldwise, read_json
from flare.json.value import JsonValue, parse
from std.reflection import reflect

comptime _FORM = StaticString("application/x-www-form-urlencoded")
comptime _JSON = StaticString("application/json")


struct Json[T: Movable & Deinitable](Input):
    """Content in JSON, read into a plain struct.

    Parameters:
        T: What it is read into; see `read_json`. If it is `Checked`, it is
            also asked.
    """

    var value: Self.T
    """What was read."""

    def __init__(out self, var value: Self.T):
        """Makes an input, for tests of an endpoint.

        Args:
            value: What was read.
        """
        self.value = value^

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Reads the content.

        Args:
            req: The request.

        Returns:
            The input.

        Raises:
            InputError: 415 if it is not said to be JSON, 400 if it is not
                JSON, 422 if it does not fit; the name is the member's path.
                What a `Checked` raises.
        """
        var essence = essence_of(req)
        if essence != _JSON and not essence.endswith("+json"):
            raise wrong_type(_JSON)
        return Self(_checked(_read_json[Self.T](_parse(req))))

    @staticmethod
    def describe(mut operation: Operation):
        """Says what is taken.

        Args:
            operation: What is known of the route.
        """
        operation.takes[Self.T](String(_JSON))


struct Form[T: Movable & Deinitable](Input):
    """A form (`application/x-www-form-urlencoded`), read into a plain struct.

    Each field of the struct is read from the form's fields of its name, as
    `read_texts` does; form fields without one are left out of account.

    Parameters:
        T: What it is read into. If it is `Checked`, it is also asked.
    """

    var value: Self.T
    """What was read."""

    def __init__(out self, var value: Self.T):
        """Makes an input, for tests of an endpoint.

        Args:
            value: What was read.
        """
        self.value = value^

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Reads the content.

        Args:
            req: The request.

        Returns:
            The input.

        Raises:
            InputError: 415 if it is not said to be such a form, 400 if it has
                too many fields, 422 if a field is missing or bad. What a
                `Checked` raises.
        """
        if essence_of(req) != _FORM:
            raise wrong_type(_FORM)
        var form: FormData
        try:
            form = req.form()
        except error:
            raise InputError(400, "body", String(), String(error))
        var source = _FormFields(form^)
        return Self(_checked(make_fieldwise[Self.T](source)))

    @staticmethod
    def describe(mut operation: Operation):
        """Says what is taken.

        Args:
            operation: What is known of the route.
        """
        operation.takes[Self.T](String(_FORM))


struct _FormFields(FieldSource):
    """A form whose fields are those of a struct."""

    comptime FieldError = InputError
    var form: FormData

    def __init__(out self, var form: FormData):
        self.form = form^

    def field[
        T: AnyType, index: Int, F: Movable & Deinitable
    ](mut self) raises InputError -> F:
        comptime NAME = reflect[T].field_names()[index]
        var name = materialize[NAME]()
        try:
            return read_texts[F](self.form.get_all(name))
        except error:
            raise InputError.of_content(String(name), String(error.reason))


def essence_of(req: Request) -> String:
    """Reads type and subtype of the content.

    Args:
        req: The request.

    Returns:
        Both in lower case; empty if there is no Content-Type.
    """
    var value = req.headers.get("content-type")
    if not value:
        return String()
    try:
        return MediaType.parse(value.value()).essence
    except:
        return String()


def wrong_type(wanted: StaticString) -> InputError:
    """Makes the refusal of content of another type.

    Args:
        wanted: The media type to send.

    Returns:
        The error, with status 415.
    """
    return InputError(
        415, "body", String(), String("send it with Content-Type: ", wanted)
    )


def _parse(req: Request) raises InputError -> JsonValue:
    try:
        return parse(req.body)
    except error:
        raise InputError(400, "body", String(), String(error))


def _read_json[
    T: Movable & Deinitable
](value: JsonValue) raises InputError -> T:
    try:
        return read_json[T](value.view())
    except error:
        raise InputError.of_content(
            _dotted(error.path),
            String("found ", error.found, ", expected ", error.expected),
        )


def _checked[T: Movable & Deinitable](var value: T) raises InputError -> T:
    comptime if conforms_to(T, Checked):
        value.check()
    return value^


def _dotted(path: String) -> String:
    """Writes a path as people do: `items[2].price` for
    `$["items"][2]["price"]`."""
    var text = path.removeprefix("$").replace('["', ".").replace('"]', "")
    return String(text.removeprefix("."))
