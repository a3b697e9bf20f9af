"""Typed inputs of endpoints."""

from flare.bytes.from_text import FromText, TextError
from flare.http.extract.content import Checked, Form, Json
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.multipart import Multipart
from flare.http.extract.parameter import (
    CookieParam,
    CookieStr,
    HeaderParam,
    HeaderStr,
    OptCookieStr,
    OptHeaderStr,
    OptQueryInt,
    OptQueryStr,
    Parameter,
    PathInt,
    PathParam,
    PathStr,
    Peer,
    QueryBool,
    QueryInt,
    QueryParam,
    QueryStr,
)
from flare.http.extract.upload import (
    FormUpload,
    MultipartReader,
    UploadedPart,
    UploadError,
)
from flare.http.handler.operation import (
    Input,
    InputError,
    Operation,
    SecurityScheme,
)
from flare.json.rules import FieldRules
from flare.json.text_value import FromTexts
