"""Forms with files, read and written (RFC 7578); pure."""

from flare.http.multipart.parser import (
    multipart_boundary,
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartParser,
    PartHead,
)
from flare.http.multipart.writer import FilePart, MultipartWriter
