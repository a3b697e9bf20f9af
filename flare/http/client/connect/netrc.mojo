"""Logins by host from a file in the form of `.netrc`."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.http.client.connect.auth import BasicAuth, Credentials
from flare.http.client.connect.error import ClientError, bad_request
from flare.sys.file import File, FileStatus
from flare.url.url import Url

comptime FILE_LEN_MAX = 1 << 20
"""Longest file that is read, in bytes."""

# Who else than its owner may read or write a file.
comptime _OTHERS = 0o077


@fieldwise_init
struct _Entry(Copyable, Movable):
    # Empty for `default`.
    var host: String
    var user: String
    var password: String


struct Netrc(Copyable, Defaultable, Movable):
    """User names and passwords by host, for requests that bring none.

        var habits = ClientConfig()
        habits.netrc = Netrc("secrets/netrc")

    They are sent as Basic credentials, unless a request, its URL or the client
    has others. Where a redirection leads to another origin, the entry of that
    host counts, but never `default`, nor any on a way from https to http.
    """

    var _entries: List[_Entry]

    def __init__(out self):
        """Knows nobody."""
        self._entries = []

    @implicit
    def __init__(out self, path: StringSpan) raises ClientError:
        """Reads a file, once.

        Args:
            path: Its path; the library looks for none by itself.

        Raises:
            ClientError: If it cannot be read, others than its owner may read
                or write it, or it is malformed. The error holds nothing of its
                content.
        """
        self = Self.parse(_read(path), path)

    @staticmethod
    def parse(text: StringSpan, name: StringSpan) raises ClientError -> Self:
        """Reads the text of a file.

        `machine` and `default` begin an entry; `login`, `password` and
        `account` follow, in any order. A word in double quotes may hold spaces;
        in it a backslash stands before a quote or a backslash, or makes a line
        end (`\\n`, `\\r`) or a tab (`\\t`). `#` begins a comment. What `macdef`
        defines, up to an empty line, is passed over.

        Args:
            text: The text.
            name: What errors call it.

        Returns:
            The logins.

        Raises:
            ClientError: If it is malformed; the error says in which line, and
                holds nothing of the text.
        """
        var logins = Self()
        var words = _Words(text, name)
        while words.next():
            if words.is_keyword("machine"):
                var host = words.value()
                if host.byte_length() == 0:
                    raise words.error("a machine without a name")
                logins._entries.append(_Entry(host^, "", ""))
            elif words.is_keyword("default"):
                logins._entries.append(_Entry("", "", ""))
            elif words.is_keyword("macdef"):
                words.skip_macro()
            elif len(logins._entries) == 0:
                raise words.error("'machine' or 'default' must stand first")
            elif words.is_keyword("login"):
                logins._entries.at(
                    len(logins._entries) - 1
                ).user = words.value()
            elif words.is_keyword("password"):
                var place = len(logins._entries) - 1
                logins._entries.at(place).password = words.value()
            elif words.is_keyword("account"):
                _ = words.value()
            else:
                raise words.error(
                    "machine, default, login, password, account or macdef is"
                    " wanted; put words with spaces in double quotes"
                )
        return logins^

    def is_empty(self) -> Bool:
        """Tells whether there are no logins."""
        return len(self._entries) == 0

    def find(
        self, host: StringSpan, user: StringSpan = "", *, takes_default: Bool
    ) -> Optional[BasicAuth]:
        """Finds the login of a host.

        Args:
            host: Its name, or an address without brackets.
            user: Whose entry it has to be; empty for anybody's.
            takes_default: True if `default` counts, too.

        Returns:
            The first entry for the host, or `default` if that comes first;
            nothing without either, or if it has neither name nor password.
        """
        for ref entry in self._entries:
            var is_default = entry.host.byte_length() == 0
            if user.byte_length() > 0 and not (entry.user == user):
                continue
            if is_default and not takes_default:
                continue
            if is_default or equals_ignore_case(
                entry.host.as_bytes(), host.as_bytes()
            ):
                if entry.user.byte_length() + entry.password.byte_length() == 0:
                    return None
                return BasicAuth(entry.user, entry.password)
        return None

    def find_for(
        self, url: Url, user: StringSpan = "", *, takes_default: Bool = True
    ) -> Credentials:
        """Finds the login for a URL.

        Args:
            url: The URL.

        Returns:
            Basic credentials, or none; a Unix socket has none.
        """
        var protocol = url.protocol()
        if not (protocol == "http:" or protocol == "https:"):
            return Credentials()
        var host = url.hostname().removeprefix("[").removesuffix("]")
        var login = self.find(host, user, takes_default=takes_default)
        return Credentials(login.value()) if login else Credentials()


struct _Words(Movable):
    """The words of a file, one after the other."""

    var _octets: List[UInt8]
    var _name: String
    var _at: Int
    var _line: Int
    var _word: List[UInt8]
    var _is_quoted: Bool

    def __init__(out self, text: StringSpan, name: StringSpan):
        self._octets = List[UInt8](text.as_bytes())
        self._name = String(name)
        self._at = 0
        self._line = 1
        self._word = []
        self._is_quoted = False

    def error(self, reason: StringSpan) -> ClientError:
        """Makes the error about the word that was read last."""
        return bad_request(
            String("netrc ", self._name, ", line ", self._line, ": ", reason)
        )

    def is_keyword(self, keyword: StaticString) -> Bool:
        """Compares the word that was read last."""
        return not self._is_quoted and equals_ignore_case(
            Span(self._word), keyword.as_bytes()
        )

    def next(mut self) raises ClientError -> Bool:
        """Reads a keyword; False at the end."""
        while True:
            self._skip_space()
            if self._at == len(self._octets):
                return False
            if self._octets.at(self._at) != 35:
                self._read_word()
                return True
            self._skip_line()

    def value(mut self) raises ClientError -> String:
        """Reads what belongs to the keyword."""
        self._skip_space()
        if self._at == len(self._octets):
            raise self.error("the file ends where a value is wanted")
        if self._octets.at(self._at) == 35:
            # A comment to some, and to others the beginning of a password.
            raise self.error("put a value that begins with # in double quotes")
        self._read_word()
        return String(from_utf8_lossy=self._word)

    def skip_macro(mut self):
        """Passes over the rest of the line, and lines up to an empty one."""
        self._skip_line()
        while self._at < len(self._octets):
            var start = self._at
            self._skip_line()
            var is_empty = True
            for at in range(start, self._at):
                is_empty &= (
                    self._octets.at(at) == 10 or self._octets.at(at) == 13
                )
            if is_empty:
                return

    def _skip_line(mut self):
        while self._at < len(self._octets):
            self._at += 1
            if self._octets.at(self._at - 1) == 10:
                self._line += 1
                return

    def _skip_space(mut self):
        while self._at < len(self._octets):
            var octet = self._octets.at(self._at)
            if octet == 10:
                self._line += 1
            elif octet != 32 and octet != 9 and octet != 13:
                return
            self._at += 1

    def _read_word(mut self) raises ClientError:
        self._word.clear()
        self._is_quoted = self._octets.at(self._at) == 34
        if self._is_quoted:
            self._read_quoted()
            return
        while self._at < len(self._octets):
            var octet = self._octets.at(self._at)
            if octet == 32 or (octet >= 9 and octet <= 13):
                return
            self._word.append(octet)
            self._at += 1

    def _read_quoted(mut self) raises ClientError:
        self._at += 1
        while self._at < len(self._octets) and self._octets.at(self._at) != 10:
            var octet = self._octets.at(self._at)
            self._at += 1
            if octet == 34:
                return
            if (
                octet == 92
                and self._at < len(self._octets)
                and self._octets.at(self._at) != 10
            ):
                octet = _unescaped(self._octets.at(self._at))
                self._at += 1
            self._word.append(octet)
        raise self.error("a double quote is not closed in its line")


def _unescaped(octet: UInt8) -> UInt8:
    """Gives what a backslash makes of an octet after it."""
    if octet == 110:
        return 10
    if octet == 114:
        return 13
    return 9 if octet == 116 else octet


def _read(path: StringSpan) raises ClientError -> String:
    var problem: StaticString
    try:
        var file = File.open(path)
        var status = file.status()
        problem = _problem(status)
        if problem.byte_length() == 0:
            var octets = List[UInt8](length=status.size, fill=0)
            file.read_exactly_at(Span(octets), 0)
            var text = _text(octets)
            if text:
                return text.take()
            problem = "is not UTF-8, as which passwords are sent (RFC 7617)"
    except error:
        raise _bad_file(path, String("cannot be read (", error, ")"))
    raise _bad_file(path, problem)


def _text(octets: List[UInt8]) -> Optional[String]:
    """Reads UTF-8; another octet would become part of another password."""
    try:
        return String(from_utf8=octets)
    except:
        return None


def _problem(status: FileStatus) -> StaticString:
    """Says why a file is not read; empty if it may be."""
    if not status.is_regular:
        return "is no regular file"
    if status.mode & _OTHERS != 0:
        return (
            "may be read or written by others than its owner, which a file with"
            " passwords must not: chmod 600"
        )
    if status.size > FILE_LEN_MAX:
        return "is longer than 1 MiB"
    return ""


def _bad_file(path: StringSpan, reason: StringSpan) -> ClientError:
    return bad_request(String("netrc ", path, " ", reason))
