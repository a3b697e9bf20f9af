"""Why a form with files was not taken."""

from flare.http.message.body_reader import BodyError
from flare.http.multipart.parser import MultipartError
from flare.sys.errno import OsError


struct UploadError(Copyable, Movable, Writable):
    """A form with files was not taken."""

    var reason: String
    """Why."""
    var status: Int
    """What to answer with: 400 or 413 if the form is at fault, 500 if no
    temporary file could be written, or that of a `BodyError`."""

    @implicit
    def __init__(out self, error: MultipartError):
        """Takes over what the parser found.

        Args:
            error: The rule or limit.
        """
        self.reason = String(error)
        self.status = error.status()

    @implicit
    def __init__(out self, error: BodyError):
        """Takes over what ended the content.

        Args:
            error: Why it cannot be read on.
        """
        self.reason = String(error)
        self.status = error.status

    @implicit
    def __init__(out self, error: OsError):
        """Takes over what the system said.

        Args:
            error: The call that failed.
        """
        self.reason = String("temporary file of an upload: ", error)
        self.status = 500

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: Where to.
        """
        writer.write(self.reason)
