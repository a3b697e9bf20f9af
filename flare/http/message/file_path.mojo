"""From the path of a request to that of a file, or not at all."""

from flare.url.percent import PERCENT, hex_pair_value

comptime FILE_NAME_LEN_MAX = 255
"""Longest name of a file in bytes, as all common file systems have it."""

comptime _SLASH: UInt8 = 47
comptime _DOT: UInt8 = 46


struct FilePath(Copyable, Movable):
    """A path below some folder, which it cannot leave."""

    var path: String
    """Names parted by single slashes, decoded, without one at either end;
    empty for the folder itself."""
    var is_folder: Bool
    """True if the request's path ended with a slash."""

    def __init__(out self, var path: String, is_folder: Bool):
        """Makes a path of checked names.

        Args:
            path: The names.
            is_folder: Whether a slash stood behind them.
        """
        self.path = path^
        self.is_folder = is_folder

    @staticmethod
    def parse(
        encoded: Span[UInt8, _], *, serves_hidden: Bool = False
    ) -> Optional[Self]:
        """Reads the path of a request target.

        A path is taken only if no reader could see another file in it: names
        are decoded once, and refused if they are empty, `.` or `..`, longer
        than `FILE_NAME_LEN_MAX`, no UTF-8, or have a slash, a backslash or a
        control octet in them, as they stand or encoded (RFC 3986 section
        3.3).

        Args:
            encoded: The path, percent-encoded, with its slash in front.
            serves_hidden: False to refuse names that begin with a dot, which
                are of no business to strangers, but for `.well-known`
                (RFC 8615).

        Returns:
            The path, or nothing: answer 404.
        """
        if len(encoded) == 0 or encoded[0] != _SLASH:
            return None
        var decoded = List[UInt8](capacity=len(encoded))
        var index = 1
        var name_start = 0
        while index < len(encoded):
            var octet = encoded[index]
            index += 1
            if octet == _SLASH:
                # The last name may be empty, the ones before may not.
                if not _is_name(decoded[name_start:], serves_hidden):
                    return None
                decoded.append(_SLASH)
                name_start = len(decoded)
                continue
            if octet == PERCENT:
                var value = hex_pair_value(encoded, index - 1)
                if value < 0:
                    return None
                octet = UInt8(value)
                index += 2
            if octet < 32 or octet == 127 or octet == _SLASH or octet == 92:
                return None
            decoded.append(octet)
        var is_folder = name_start == len(decoded)
        if is_folder:
            if len(decoded) > 0:
                _ = decoded.pop()
        elif not _is_name(decoded[name_start:], serves_hidden):
            return None
        try:
            return Self(String(from_utf8=decoded), is_folder)
        except:
            return None


def _is_name(name: Span[UInt8, _], serves_hidden: Bool) -> Bool:
    if len(name) == 0 or len(name) > FILE_NAME_LEN_MAX:
        return False
    if name[0] != _DOT:
        return True
    if len(name) == 1 or (len(name) == 2 and name[1] == _DOT):
        return False
    return serves_hidden or name == ".well-known".as_bytes()
