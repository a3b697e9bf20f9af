"""Fuzzes forms with files: however a body is cut, the same parts are found."""

from flare.http.multipart.parser import MultipartLimits
from fuzz.engine import Target, cut_points, fuzz_main
from tests.support.multipart_log import MultipartLog


struct MultipartTarget(Target):
    """Split invariance, of rejections too."""

    def __init__(out self):
        pass

    def seeds(self) -> List[String]:
        """Lists bodies."""
        return [
            '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--',
            (
                "--b\r\nContent-Disposition: form-data; name=f;"
                ' filename="x"\r\nContent-Type: a/b\r\n\r\n\r\n--bx\r\n--b \r\n'
                "Content-Disposition: form-data; name=g\r\n"
                "Content-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n--b--"
            ),
            (
                "--b\r\nContent-Transfer-Encoding: quoted-printable\r\n"
                "Content-Disposition: form-data; name=g\r\n\r\na=3D=\r\n\r\n--b--"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists what bodies are made of."""
        return ["\r\n", "--b", "--", "\r\n--b--", '"', ";", "name=", "=", "%22"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the body whole and in pieces."""
        var whole = _read(input, [len(input)])
        if _read(input, cut_points(input)) != whole:
            raise Error("another result in pieces than: ", whole)


def _read(input: Span[UInt8, _], cuts: List[Int]) -> String:
    var log = MultipartLog("b", MultipartLimits(1 << 20))
    try:
        var start = 0
        for end in cuts:
            log.feed(input[start:end])
            start = end
        log.finish()
    except error:
        if error.offset < 0 or error.offset > len(input):
            return String("outside of the body: ", error, " in ", len(cuts))
        return String("refused")
    return log.text


def main() raises:
    """Runs the target."""
    fuzz_main("multipart", MultipartTarget())
