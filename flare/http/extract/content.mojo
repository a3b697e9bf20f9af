"""Inputs from the content of a request."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.http.message.fields import ListElements
from flare.http.message.form import FormData
from flare.http.message.media_type import MediaType
from flare.http.message.request import Request
from flare.http.handler.operation import (
    INPUT_ERROR_COUNT_MAX,
    Input,
    InputError,
    Operation,
)
from flare.json.error import JsonError, JsonErrorKind, JsonErrors
from flare.json.rules import BrokenRule, Ruled, broken_rules
from flare.json.struct_reader import (
    Erased,
    FieldSource,
    erased,
    json_problem,
    make_fieldwise,
    read_into,
)
from flare.json.text_value import form_problem, read_texts
from flare.json.value import JsonValue, parse
from std.memory import unsafe_stack_allocation

comptime _FORM = StaticString("application/x-www-form-urlencoded")
comptime _JSON = StaticString("application/json")


@fieldwise_init
struct Json[T: Movable & Deinitable](Input):
    """Content in JSON, read into a plain struct.

    Parameters:
        T: What it is read into; see `read_json`. If it is `Checked`, it is
            also asked.
    """

    comptime TAKES_CONTENT = True
    """All of the content is one value."""

    var value: Self.T
    """What was read."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Reads the content.

        Raises:
            InputError: 415 if it is not said to be JSON, or to be in a coding,
                400 if it is not JSON, 422 if it does not fit: it tells of each
                member that is bad or missing, by its path. What a `Checked`
                raises.
        """
        # SAFETY: the value is taken out only if it was made.
        var document = _parsed(req)
        var errors = JsonErrors(_error_count_max(document))
        var place = unsafe_stack_allocation[1, Self.T]()
        if not read_into[Self.T](document.view(), errors, erased(place)):
            raise _misfits(errors)
        var value = place.unsafe_take_pointee()
        comptime if conforms_to(Self.T, Checked):
            try:
                check_content(value)
            except error:
                raise _pointed(error^)
        return Self(value^)

    @staticmethod
    def describe(mut operation: Operation):
        """Says what is taken."""
        operation.takes[Self.T](String(_JSON))

    @staticmethod
    def problem() -> String:
        """Says which field of the struct has no form in JSON.

        Returns:
            A sentence; empty if all have one.
        """
        return json_problem[Self.T]()


@fieldwise_init
struct Form[T: Movable & Deinitable](Input):
    """A form (`application/x-www-form-urlencoded`), read into a plain struct.

    Each field of the struct is read from the form's fields of its name, as
    `read_texts` does; form fields without one are left out of account.

    Parameters:
        T: What it is read into. If it is `Checked`, it is also asked.
    """

    comptime TAKES_CONTENT = True
    """All of the content is one value."""

    var value: Self.T
    """What was read."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Reads the content.

        Raises:
            InputError: 415 if it is not said to be such a form, or to be in a
                coding, 400 if it has too many fields, 422 if a field is missing
                or bad. What a `Checked` raises.
        """
        # SAFETY: the value is taken out only if it was made.
        var source = _FormFields(_form(req))
        var place = unsafe_stack_allocation[1, Self.T]()
        if not make_fieldwise(source, place):
            raise source.error.take()
        var value = place.unsafe_take_pointee()
        comptime if conforms_to(Self.T, Checked):
            check_content(value)
        return Self(value^)

    @staticmethod
    def describe(mut operation: Operation):
        """Says what is taken."""
        operation.takes[Self.T](String(_FORM))

    @staticmethod
    def problem() -> String:
        """Says which field of the struct cannot be read from a form.

        Returns:
            A sentence; empty if all can.
        """
        return form_problem[Self.T]()


struct _FormFields(FieldSource):
    """A form whose fields are those of a struct."""

    var form: FormData
    var error: Optional[InputError]

    def __init__(out self, var form: FormData):
        self.form = form^
        self.error = None

    @staticmethod
    def fill[
        F: Movable & Deinitable
    ](source: Erased, name: StaticString, place: Erased) -> Bool:
        # SAFETY: `make_fieldwise` gives the source that it was given, and
        # memory for an F.
        ref fields = source.unsafe_bitcast[_FormFields]()[]
        try:
            var texts = fields.form.get_all(name)
            place.unsafe_bitcast[F]().unsafe_write(read_texts[F](texts))
            return True
        except error:
            add_misfit(fields.error, name, error.reason)
            return False


@no_inline
def add_misfit(
    mut found: Optional[InputError], name: StaticString, reason: StringSpan
):
    """Adds what is wrong with a field of the content."""
    add_error(found, InputError.of_content(String(name), String(reason)))


@no_inline
def add_error(mut found: Optional[InputError], var error: InputError):
    """Adds an error to what was found before, if anything was."""
    if found:
        found.value().add(error^)
    else:
        found = error^


def essence_of(req: Request) -> String:
    """Reads type and subtype of the content in lower case; empty if there is no
    Content-Type."""
    var value = req.headers.get("content-type")
    if not value:
        return String()
    try:
        return MediaType.parse(value.value()).essence
    except:
        return String()


def wrong_type(wanted: StaticString) -> InputError:
    """Makes the refusal of content of another type, with status 415."""
    return InputError(
        415, "body", String(), String("send it with Content-Type: ", wanted)
    )


def check_not_coded(req: Request) raises InputError:
    """Refuses content in a coding (RFC 9110 section 15.5.16), which is taken
    for broken content else."""
    var line = req.headers.find("content-encoding")
    while line >= 0:
        for coding in ListElements(req.headers.value_bytes(line)):
            if len(coding) > 0 and not equals_ignore_case(
                coding, "identity".as_bytes()
            ):
                raise InputError(
                    415, "body", String(), "send it without a Content-Encoding"
                )
        line = req.headers.find("content-encoding", line + 1)


def _form(req: Request) raises InputError -> FormData:
    if essence_of(req) != _FORM:
        raise wrong_type(_FORM)
    check_not_coded(req)
    try:
        return req.form()
    except error:
        raise InputError(400, "body", String(), String(error))


def _parsed(req: Request) raises InputError -> JsonValue:
    var essence = essence_of(req)
    if essence != _JSON and not essence.endswith("+json"):
        raise wrong_type(_JSON)
    check_not_coded(req)
    try:
        return parse(req.body)
    except error:
        raise InputError(400, "body", String(), String(error))


def _error_count_max(document: JsonValue) -> Int:
    """Bounds the work for errors: each one's path costs a look at all values
    that stand after it."""
    comptime LOOKS_MAX = 4_000_000
    return min(
        max(LOOKS_MAX // document.view().document_len(), 1),
        INPUT_ERROR_COUNT_MAX,
    )


def _misfits(mut errors: JsonErrors) -> InputError:
    """Says what does not fit. There is at least one."""
    var error = _misfit(errors.list.at(0))
    for index in range(1, errors.count()):
        error.add(_misfit(errors.list.at(index)))
    return error^


def _misfit(error: JsonError) -> InputError:
    var reason: String
    if error.kind == JsonErrorKind.NO_MEMBER:
        reason = "is required"
    else:
        reason = String("found ", error.found, ", expected ", error.expected)
    var misfit = InputError.of_content(_dotted(error.path), reason^)
    misfit.pointer = _pointer(error.path)
    return misfit^


def _dotted(path: String) -> String:
    """Writes a path as people do: `items[2].price` for
    `$["items"][2]["price"]`."""
    var text = path.removeprefix("$").replace('["', ".").replace('"]', "")
    return String(text.removeprefix("."))


def _pointer(path: String) -> String:
    """Writes a path as RFC 6901 does: `/items/2/price` for
    `$["items"][2]["price"]`. Names in a path have no quotes."""
    var octets = List[UInt8]()
    var is_name = False
    for octet in path.as_bytes().after(1):
        if octet == 34:
            is_name = not is_name
        elif octet == 91 and not is_name:
            octets.append(47)
        elif octet == 93 and not is_name:
            continue
        elif octet == 126 or octet == 47:
            octets.append(126)
            octets.append(UInt8(48) if octet == 126 else UInt8(49))
        else:
            octets.append(octet)
    return String(from_utf8_lossy=octets)


def _pointed(var error: InputError) -> InputError:
    """Completes what a `Checked` has raised, which names members as people
    do."""
    if error.place == "body" and error.pointer.byte_length() == 0:
        error.pointer = _pointer_of_name(error.name)
    for ref other in error.others:
        if other.place == "body" and other.pointer.byte_length() == 0:
            other.pointer = _pointer_of_name(other.name)
    return error^


def _pointer_of_name(name: String) -> String:
    if name.byte_length() == 0:
        return String()
    var text = name.replace("~", "~0").replace("/", "~1")
    text = text.replace("]", "").replace("[", "/").replace(".", "/")
    return String("/", text)


def check_content[T: Checked](value: T) raises InputError:
    """Holds content to its rules; then it is asked itself."""
    var broken = broken_rules(value)
    if len(broken) > 0:
        raise _error_of_rules(broken)
    value.check()


@no_inline
def _error_of_rules(broken: List[BrokenRule]) -> InputError:
    var found = Optional[InputError](None)
    for ref rule in broken:
        add_misfit(found, rule.field, rule.reason)
    return found.take()


trait Checked(Deinitable, Movable, Ruled):
    """Is held to rules, once it was read as `Json`, `Form` or `Multipart`.

        @fieldwise_init
        struct NewTask(Checked):
            var title: String
            var hours: Int

            @staticmethod
            def rules(mut rules: FieldRules):
                rules.length("title", 1, 200)
                rules.between("hours", 1, 40)

            def check(self) raises InputError:
                if self.title.strip() == "":
                    raise InputError.of_content("title", "must not be blank")

    What `rules` says of fields is checked, and stands in the OpenAPI document;
    `check` says what else must hold. Either may be left out. An endpoint that
    is called has content that has passed both.
    """

    def check(self) raises InputError:
        """Checks what no rule says, such as fields that must fit together. It is
        asked only if all rules are kept. By default nothing is wrong.

        Raises:
            InputError: What is wrong, for the client to read.
        """
        return
