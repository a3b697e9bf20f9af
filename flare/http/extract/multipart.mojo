"""Forms with files as inputs of endpoints."""

from flare.bytes.checked import *
from flare.http.extract.content import (
    Checked,
    add_error,
    add_misfit,
    check_content,
    check_not_coded,
    essence_of,
    wrong_type,
)
from flare.json.text_value import read_texts
from flare.http.extract.upload import (
    FormUpload,
    PART_MEMORY_LEN_MAX,
    UploadedPart,
)
from flare.http.message.request import Request
from flare.http.multipart.parser import MultipartLimits
from flare.http.handler.operation import Input, InputError, Operation
from flare.json.struct_reader import Erased, FieldSource, make_fieldwise
from std.memory import unsafe_stack_allocation

comptime _MULTIPART = StaticString("multipart/form-data")

comptime ANY_PART_LEN = 1 << 60
"""Stands for no limit but that of the whole content."""


@fieldwise_init
struct Multipart[T: Movable & Deinitable, part_len_max: Int = ANY_PART_LEN](
    Input
):
    """A form with files (`multipart/form-data`), read into a plain struct.

        struct Photo(Movable):
            var title: String
            var tags: List[String]
            var image: UploadedPart
            var thumbnail: Optional[UploadedPart]

        @fieldwise_init
        struct Submit(Endpoint):
            var photo: Multipart[Photo]

            def serve(self) raises -> Response:
                return ok(self.photo.value.title)

    A field that is an `UploadedPart`, or an `Optional` or `List` of it, takes
    parts of its name as they are: small ones in memory, larger ones in one
    file without a name. Others are read as `read_texts` does from parts of 64 KiB at
    most. Parts without a field are left out of account, and so is the empty
    part that browsers send for a file that was not chosen.

    The endpoint takes the form while it arrives, as if it were `Streamed`. The
    route's `max_body_size` bounds the whole.

    Parameters:
        T: What it is read into. If it is `Checked`, it is also asked.
        part_len_max: Longest part in bytes.
    """

    comptime STREAMS_BODY = True
    """Read while it arrives."""
    var value: Self.T
    """What was read."""

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Reads the content.

        Raises:
            InputError: 415 if it is not said to be such a form, or to be in a
                coding, 400 if it is none, 413 if it passes a limit, 422 if a
                field is missing or bad; 500 if a file cannot be written. What a
                `Checked` raises.
        """
        if essence_of(req) != _MULTIPART:
            raise wrong_type(_MULTIPART)
        check_not_coded(req)
        var limits = MultipartLimits(ANY_PART_LEN)
        limits.part_len_max = Self.part_len_max
        # SAFETY: the value is taken out only if it was made.
        var source = _Parts(_received(req, limits))
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
        operation.takes[Self.T](String(_MULTIPART))


def _received(
    req: Request, limits: MultipartLimits
) raises InputError -> FormUpload:
    var form: FormUpload
    try:
        form = FormUpload(req.headers.get("content-type").value(), limits)
    except error:
        raise InputError(400, "body", String(), String(error))
    var body = req.body_reader()
    try:
        form.receive_all(body)
    except error:
        raise InputError(error.status, "body", form.open_part(), error.reason)
    return form^


struct _Parts(FieldSource):
    """A form whose parts are the fields of a struct."""

    var form: FormUpload
    var error: Optional[InputError]

    def __init__(out self, var form: FormUpload):
        self.form = form^
        self.error = None

    @staticmethod
    def fill[
        F: Movable & Deinitable
    ](source: Erased, name: StaticString, place: Erased) -> Bool:
        # SAFETY: `make_fieldwise` gives the source that it was given, and
        # memory for an F.
        ref parts = source.unsafe_bitcast[_Parts]()[]
        comptime if F == List[UploadedPart]:
            place.unsafe_bitcast[List[UploadedPart]]().unsafe_write(
                parts._take(name)
            )
            return True
        elif F == Optional[UploadedPart]:
            place.unsafe_bitcast[Optional[UploadedPart]]().unsafe_write(
                parts._take_first(name)
            )
            return True
        elif F == UploadedPart:
            var first = parts._take_first(name)
            if not first:
                add_misfit(parts.error, name, "is required")
                return False
            place.unsafe_bitcast[UploadedPart]().unsafe_write(first.take())
            return True
        else:
            var texts = List[String]()
            if not parts._take_texts(name, texts):
                return False
            try:
                place.unsafe_bitcast[F]().unsafe_write(read_texts[F](texts))
                return True
            except error:
                add_misfit(parts.error, name, error.reason)
                return False

    def _take(mut self, name: StringSpan) -> List[UploadedPart]:
        """Takes the parts of a name out, in order."""
        var parts = List[UploadedPart]()
        while True:
            var index = self.form.find(name)
            if index < 0:
                return parts^
            var part = self.form.take(index)
            if len(part) > 0 or part.head.filename.or_else("x") != "":
                parts.append(part^)

    def _take_first(mut self, name: StringSpan) -> Optional[UploadedPart]:
        var parts = self._take(name)
        if len(parts) == 0:
            return None
        return parts.pop(0)

    def _take_texts(
        mut self, name: StaticString, mut texts: List[String]
    ) -> Bool:
        var parts = self._take(name)
        for index in range(len(parts)):
            if len(parts.at(index)) > PART_MEMORY_LEN_MAX:
                var reason = String(
                    "is longer than ", PART_MEMORY_LEN_MAX, " bytes"
                )
                add_error(
                    self.error, InputError(413, "body", String(name), reason^)
                )
                return False
            try:
                texts.append(parts.at(index).text())
            except error:
                add_misfit(self.error, name, "is no text in UTF-8")
                return False
        return True
