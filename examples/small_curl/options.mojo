"""The command line of the small curl."""

from examples.small_curl.failure import Failure, value_of
from flare.sys.descriptor import read_into

comptime LONG_NAMES = "--location=L --head=I --fail=f --get=G --http1.0=0 --compressed=z --request=X --header=H --data=d --user-agent=A --referer=e --cookie=b --user=u --max-redirs=r --max-time=m --silent=s --show-error=S"
"""Long options, and the letters that stand for them here."""

comptime LETTERS = "LIfG0XHdAebumsS"
comptime WITH_VALUE = "XHdAeburm"


struct Options(Movable):
    """What the command line says."""

    var urls: List[String]
    var flags: String
    var method: Optional[String]
    var fields: List[String]
    var data: Optional[List[UInt8]]
    var cookies: String
    var cookie_files: List[String]
    var user: Optional[String]
    var max_redirects: Int
    var time_ms: Int

    def __init__(out self, words: List[String]) raises Failure:
        self.urls = []
        self.flags = ""
        self.method = None
        self.fields = []
        self.data = None
        self.cookies = ""
        self.cookie_files = []
        self.user = None
        self.max_redirects = 50
        self.time_ms = -1
        var index = 0
        while index < len(words):
            index = self._take_word(words, index)
        if len(self.urls) == 0:
            raise Failure(2, "no URL specified")
        if self.has("I") and self.data and not self.has("G"):
            raise Failure(2, "-I asks without content: -d needs -G beside it")

    def has(self, letter: StringSpan) -> Bool:
        return letter in self.flags

    def _take_word(
        mut self, words: List[String], start: Int
    ) raises Failure -> Int:
        """Reads a word, and the values of its options; tells the next one."""
        var word = words[start]
        var index = start + 1
        if not word.startswith("-") or word == "-":
            self.urls.append(word)
            return index
        var letters = String(word[byte=1:])
        if word.startswith("--"):
            letters = value_of(LONG_NAMES, word)
            if letters == "":
                raise Failure(2, String("option ", word, ": is unknown"))
        var at = 0
        while at < letters.byte_length():
            var letter = String(from_utf8_lossy=letters.as_bytes()[at : at + 1])
            at += 1
            if not word.startswith("--") and letter not in LETTERS:
                raise Failure(2, String("option -", letter, ": is unknown"))
            if letter not in WITH_VALUE:
                self.flags += letter
                continue
            var value = String(from_utf8_lossy=letters.as_bytes()[at:])
            if value == "":
                if index == len(words):
                    raise Failure(2, String("option ", word, ": needs a value"))
                value = words[index]
                index += 1
            self._take_value(letter, value)
            break
        return index

    def _take_value(mut self, letter: String, value: String) raises Failure:
        if letter == "X":
            self.method = value
        elif letter == "H":
            self.fields.append(value)
        elif letter == "d":
            var all = List[UInt8]()
            if self.data:
                all = self.data.take()
                all.append(UInt8(ord("&")))
            all.extend(_content(value))
            self.data = all^
        elif letter == "A":
            self.fields.append(_field("User-Agent", value))
        elif letter == "e":
            self.fields.append(_field("Referer", value))
        elif letter == "b" and "=" in value:
            self.cookies += "; " if self.cookies != "" else ""
            self.cookies += value
        elif letter == "b":
            self.cookie_files.append(value)
        elif letter == "u":
            self.user = value
        elif letter == "r":
            self.max_redirects = Int(_decimal(value))
        else:
            self.time_ms = Int(_decimal(value) * 1000)


def _field(name: StaticString, value: String) -> String:
    return String(name, ": " if value != "" else ":", value)


def _decimal(text: String) raises Failure -> Float64:
    try:
        return Float64(text)
    except:
        raise Failure(2, String("'", text, "' is no number"))


def _content(value: String) raises Failure -> List[UInt8]:
    """Gives the content of `-d`, which may be in a file and need be no text."""
    if not value.startswith("@"):
        return List[UInt8](value.as_bytes())
    var octets: List[UInt8]
    try:
        octets = read_file(String(value[byte=1:]))
    except error:
        raise Failure(26, String(error))
    var kept = List[UInt8](capacity=len(octets))
    for octet in octets:
        # As curl: without line ends, so that a file reads like an argument.
        if octet != 10 and octet != 13 and octet != 0:
            kept.append(octet)
    return kept^


def read_file(path: String) raises -> List[UInt8]:
    if path != "-":
        with open(path, "r") as file:
            return file.read_bytes()
    var octets = List[UInt8]()
    var room = List[UInt8](length=65_536, fill=0)
    while True:
        var count = read_into(0, room)
        if count <= 0:
            return octets^
        octets.extend(Span(room)[0:count])
