"""Fuzzes paths of files: none leads out of its folder."""

from flare.http.static.file_path import FILE_NAME_LEN_MAX, FilePath
from flare.url.percent import percent_decode
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct FilePathTarget(Target):
    """No name is empty, a dot or two, too long, or has control octets."""

    def seeds(self) -> List[String]:
        """Lists paths."""
        return ["/a/b.txt", "/%2e%2e/x", "/a%2fb/", "/.well-known/x", "/../x"]

    def tokens(self) -> List[String]:
        """Lists what paths are made of."""
        return ["/", "..", ".", "%2e", "%2F", "%5c", "\\", "%00", "%25", "//"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the path, and looks at each of its names."""
        for serves_hidden in [False, True]:
            var found = FilePath.parse(input, serves_hidden=serves_hidden)
            if not found:
                continue
            ref path = found.value().path
            var whole = percent_decode(input[1:])
            if whole != path and whole != path + "/":
                raise Error("not what was asked for: ", path)
            if path.byte_length() == 0:
                continue
            for name in path.split("/"):
                if name == "" or name == "." or name == "..":
                    raise Error("a name leads elsewhere: ", path)
                if name.byte_length() > FILE_NAME_LEN_MAX:
                    raise Error("a name is too long: ", path)
                for octet in name.as_bytes():
                    if octet < 32 or octet == 127 or octet == 92:
                        raise Error("octet ", octet, " in: ", path)


def main() raises:
    """Runs the target."""
    fuzz_main("file_path", FilePathTarget())
