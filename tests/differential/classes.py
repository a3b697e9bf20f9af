"""The classes of differences between flare and the judges: which difference is
of which class, the rule it is about, who follows it, and why flare differs.

A difference is written as the driver finds it: `flare's verdict / the other's`,
where a verdict is `take`, `interim`, `partial` (octets are missing), `end`
(nothing is left) or `refuse:` and a reason (flare's is the number of a rule), or
`differ:` and the parts that both took and read in two ways.
"""

import re
from dataclasses import dataclass

ANY = ("Go", "Node", "Python")
FLARE = "flare"
BOTH = "both may"


@dataclass(frozen=True)
class Class:
    subjects: tuple[str, ...]
    name: str
    # A regular expression for the whole difference.
    what: str
    # The RFC and its section, or the standard, that the class is about.
    source: str
    # Who follows it; "both may" where it leaves the choice.
    right: str
    why: str
    judges: tuple[str, ...] = ANY
    # A regular expression that the input must hold, too.
    input: bytes = b""


REQUEST = ("request",)
LENIENT = ("response",)
RESPONSE = ("response", "response-strict")
HTTP1 = REQUEST + RESPONSE


# Numbers of rules in flare/http/h1/error.mojo.
OF_REQUESTS = {1, 2, 3, 13, 14, 15, 22, 27, 37}
OF_RESPONSES = {28, 29, 31, 32}


def refused(number: int, name: str, source: str, right: str, why: str) -> Class:
    """A class of what flare refuses by a rule, whatever others do with it."""
    subjects = HTTP1
    if number in OF_REQUESTS:
        subjects = REQUEST
    elif number in OF_RESPONSES:
        subjects = RESPONSE
    return Class(subjects, name, f"refuse:{number} / .*", source, right, why)


REFUSED = [
    refused(1, "more than 8 empty lines before a request", "9112 2.2", BOTH,
            "at least one must be skipped; without a bound they are a flood"),
    refused(2, "a method that is no token, or without its one space", "9112 3", FLARE,
            "splitting at other whitespace is what 9112 3 warns of; Node waits for more octets where a method may still become a known one"),
    refused(3, "a target of none of the four forms", "9112 3.2", FLARE,
            "`*` is for OPTIONS; no form has a fragment, userinfo or octets above 0x7f; other schemes are not served; the others check less"),
    refused(5, "no version, or one that is not written as HTTP/1.1", "9112 2.3", FLARE,
            "case and digits count; Node takes HTTP/0.9 requests and waits for a line end"),
    refused(6, "a major version other than 1", "9110 15.6.6", FLARE,
            "505, as soon as the version is there; in a response nobody can say what it means"),
    refused(7, "a bare LF or CR in place of CRLF", "9112 2.2", BOTH,
            "a parser in front that does not take it sees another message; a client takes a bare LF in a head, if not strict"),
    refused(8, "a control octet in a field value or reason", "9110 5.5", FLARE,
            "NUL, CR and LF must be refused or replaced; the others let some of the rest pass"),
    refused(9, "a field name that is no token, or whitespace before its colon", "9112 5.1", FLARE,
            "a server must refuse whitespace there; a client does, too, as it may not guess"),
    refused(10, "a folded line, or whitespace before the first line", "9112 5.2", BOTH,
            "must be refused or replaced, and refusing cannot be misread; a client replaces, if not strict"),
    refused(13, "no Host in HTTP/1.1", "9112 3.2", FLARE,
            "Node's server and Go's check it behind their parsers, and Go takes CONNECT without"),
    refused(14, "more than one Host", "9112 3.2", FLARE,
            "in any version; llhttp leaves it to its user, and h11 checks HTTP/1.1 alone"),
    refused(15, "a Host that is no host with an optional port", "9110 4.2.1, 7.2", FLARE,
            "an http URI has no empty host, and 3986 3.2.2 says which octets one has; the others check less or nothing"),
    refused(16, "a Content-Length that is no decimal number of 18 digits at most", "9110 8.6", FLARE,
            "a count must fit; the RFC sets no bound, and the others take zeros before it without end, Go an empty one"),
    refused(17, "Content-Length repeated", "9112 6.3", BOTH,
            "equal ones may be taken as one, as Go and h11 do, and as a client of flare does if not strict"),
    refused(18, "Content-Length beside Transfer-Encoding", "9112 6.1, 6.3", BOTH,
            "may be refused, and is how smuggling starts; Go and h11 read the chunks"),
    refused(19, "a coding that is not known here", "9112 6.1", FLARE,
            "501; llhttp hands on content with codings it does not decode"),
    refused(20, "chunked that is not the last coding, or not once", "9112 6.3", FLARE,
            "nobody knows where such a request ends; a response may end with its connection, as Node reads it, but a client could not decode it"),
    refused(21, "Transfer-Encoding in HTTP/1.0", "9112 6.1", FLARE,
            "the framing is to be treated as faulty; all others read chunks or, in Go's client, ignore the field"),
    refused(22, "an Expect that is not 100-continue", "9110 10.1.1", BOTH,
            "417; the others leave it to their server or their user"),
    refused(23, "a chunk-size that is not one to 15 hex digits", "9112 7.1", FLARE,
            "large numbers must not overflow: the others take zeros without end, and wait for chunks of 2^63 octets; whitespace belongs to an extension"),
    refused(24, "chunk extensions that break the grammar", "9112 7.1.1", FLARE,
            "a parser that pairs quotes must see the same line end as one that does not"),
    refused(25, "other octets than CRLF behind a chunk's data", "9112 7.1", FLARE,
            "the count must fit the data"),
    refused(26, "content above the limit of this run", "9110 15.5.14", BOTH,
            "the judges wait for it; 1 MiB is the run's limit, not a default"),
    refused(27, "a method of more than 32 octets", "9110 9.1", BOTH,
            "501: none is so long, and it would be kept"),
    refused(28, "a status line that is not as HTTP/1.1 200 OK", "9112 4", FLARE,
            "the others take other whitespace in it, or digits missing"),
    refused(29, "a status below 100", "9110 15", FLARE, "there is no such class of status codes"),
    refused(31, "more than 16 interim responses", "9110 15.2", BOTH,
            "without a bound a server could keep a client reading for ever"),
    refused(32, "101 that was not asked for", "9110 15.2.2", FLARE,
            "a server must not change the protocol unasked"),
    refused(37, "CONNECT", "9110 9.3.6", BOTH,
            "501: an origin server makes no tunnels, and what follows may be anything"),
]


HTTP1_CLASSES = [
    Class(LENIENT, "a bare LF or a folded line in a head, which Node refuses", "(take|interim|partial) / refuse:HPE_(CR_EXPECTED|LF_EXPECTED|INVALID_HEADER_TOKEN|INVALID_STATUS|INVALID_VERSION|UNEXPECTED_SPACE)",
          "9112 2.2, 5.2", BOTH, "a user agent reads both, and flare's client does not use such a connection again", ("Node",), rb"[^\r]\n|\n[ \t]"),
    Class(LENIENT, "how a folded line is put together", "differ:(keep\\+)?fields", "9112 5.2", FLARE,
          "each fold is one space, and none is left at the end; Go leaves one there, h11 all before the fold", ("Go", "Python"), rb"\n[ \t]"),
    Class(LENIENT, "equal Content-Lengths in a list, or written in two ways",
          "(take|interim|partial) / refuse:(HPE_UNEXPECTED_CONTENT_LENGTH|HPE_INVALID_CONTENT_LENGTH|http:_message_cannot_contain.*|conflicting_Content-Length.*|bad_Content-Length)",
          "9110 8.6, 9112 6.3", BOTH, "the same number says the same thing; the connection is not used again. Others compare octets, or take no list", ANY, rb"(?is)content-length:[^\n]*,|content-length.*content-length"),
    Class(HTTP1, "a message cut short, judged as if it were whole",
          "partial / refuse:(malformed_.*|http:_.*|invalid_.*|unsupported_.*|too_many_.*|bad_.*|parse.*)",
          "9112 8", BOTH, "Go reads a line that the connection's end cuts as a whole one", ("Go",)),
    Class(HTTP1, "a line judged before its end is there", "partial / refuse:HPE_.*", "9112 8", BOTH,
          "llhttp goes octet by octet; flare judges a line when it is whole, and then refuses the same", ("Node",)),
    Class(HTTP1, "a head judged while its content is missing",
          "partial / refuse:(Only_Transfer-Encoding.*|illegal_.*|conflicting_.*|no_request_line.*|can|bad_.*|multiple_.*|Too_many.*)",
          "9112 8", BOTH, "the rows below, met before the message is whole", ("Python",)),
    Class(REQUEST, "an empty line before a request", "(take|end|partial) / refuse:(malformed_HTTP_request|no_request_line_received|illegal_request_line)",
          "9112 2.2", FLARE, "a server should skip at least one, and flare skips 8; Go and h11 refuse it", ("Go", "Python"), rb"(?s)^[\r\n]|\r\n\r\n.*[\r\n]"),
    Class(REQUEST, "a method that is not registered", "take / refuse:HPE_INVALID_METHOD", "9110 9.1", FLARE,
          "methods are open: any token; llhttp knows a list", ("Node",)),
    Class(HTTP1, "HTTP/1.2 and later", "(take|interim) / refuse:HPE_INVALID_VERSION", "9110 2.5", FLARE,
          "a minor version that is higher is read as HTTP/1.1; llhttp knows a list, and of `PRI` only HTTP/2's preface", ("Node",)),
    Class(REQUEST, "a target that Go's URL parser refuses", "take / refuse:parse", "9112 3.2, 3986 2.1", BOTH,
          "`%zz` and the like are left to who decodes the target", ("Go",)),
    Class(HTTP1, "whitespace behind a Content-Length", "(take|interim) / refuse:HPE_INVALID_CONTENT_LENGTH", "9110 5.5", FLARE,
          "HTAB around a value is no part of it; llhttp takes SP alone, and refuses the field in trailers, too", ("Node",)),
    Class(HTTP1, "Transfer-Encoding in trailers, or with empty elements or HTAB",
          "(take|interim) / refuse:(HPE_INVALID_TRANSFER_ENCODING|Only_Transfer-Encoding.*|unsupported_transfer_encoding|multiple_Transfer-Encoding.*)",
          "9110 5.6.1, 6.5.1", FLARE, "empty elements are ignored, whitespace is no part of a value, and fields of trailers have no say in framing"),
    Class(RESPONSE, "Transfer-Encoding with an empty element or HTAB at its end, taken for another coding",
          r"(differ:(keep\+)?content(\+trailers)?|partial / (take|partial))", "9110 5.5, 5.6.1", FLARE,
          "llhttp does not see chunked there, and reads to the end of the connection", ("Node",), rb"(?i)transfer-encoding:[^\r\n]*chunked[^\r\n]*[\t, ]\r?\n"),
    Class(HTTP1, "Content-Length in trailers", "(take|interim) / refuse:(bad_Content-Length|conflicting_.*|HPE_UNEXPECTED_CONTENT_LENGTH)", "9110 6.5.1", FLARE,
          "kept apart, without effect", ANY, rb"(?s)\r\n\r\n(.*\r\n)?0+(;[^\r\n]*)?\r\n.*(?i:content-length)"),
    Class(HTTP1, "whitespace around `;` and `=` of chunk extensions",
          "take / refuse:(HPE_STRICT|HPE_INVALID_CHUNK_SIZE|invalid_byte_in_chunk_length|illegal_chunk_header.*)", "9112 7.1.1", FLARE,
          "bad whitespace must be read; the others refuse it"),
    Class(REQUEST, "Connection in trailers", "take / (end|refuse:HPE_CLOSED_CONNECTION)", "9110 6.5.1", FLARE,
          "it says nothing there; llhttp lets it close the connection", ("Node",), rb"(?is)\r\n\r\n(.*\r\n)?0+(;[^\r\n]*)?\r\n.*connection:"),
    Class(REQUEST, "an Upgrade that Node stops at", "(take|partial) / (end|partial)", "9110 7.8", BOTH,
          "flare reads on until it answers 101; what follows is HTTP until then", ("Node",), rb"(?i)upgrade"),
    Class(RESPONSE, "`close` in an interim response, or one of HTTP/1.0", "(take|interim|partial) / refuse:HPE_CLOSED_CONNECTION", "9110 15.2, 9112 9.6", BOTH,
          "the final response is still to come, so flare reads on; llhttp does not", ("Node",)),
    Class(HTTP1, "`keep-alive` in HTTP/1.0, or beside `close`", "differ:keep", "9112 9.3", BOTH,
          "`close` wins, as 9112 9.3 has it; h11 keeps no connection of HTTP/1.0, and llhttp lets keep-alive win there", ("Node", "Python")),
]

HTTP2 = ("http2",)
H2 = ("Python",)
EVENT = r"(headers|data|trailers|reset|reset-it|goaway|end)\.?"


def http2(name: str, what: str, source: str, right: str, why: str) -> Class:
    return Class(HTTP2, name, what, source, right, why, H2)


def refused_frame(numbers: str, name: str, source: str, right: str, why: str) -> Class:
    """A class of what flare ends the connection for, by rules of h2/error.mojo."""
    return http2(name, f"refuse:[A-Z_]+:({numbers}) / {EVENT}", source, right, why)


HTTP2_CLASSES = [
    http2("a fault of one stream", r"reset-it / refuse:.*", "9113 5.4.2, 8.1.1", FLARE,
          "malformed requests, a dependency on itself and the like end the stream alone; h2 ends the connection, which 9113 5.4.2 allows"),
    http2("content of a frame that is not whole", r"data / end", "9113 6.1", BOTH,
          "flare tells of what has come; h2 waits for the rest of the frame"),
    http2("after GOAWAY of the client", rf"{EVENT} / refuse:.*in_state_ConnectionState.CLOSED", "9113 6.8", FLARE,
          "who says that it is going away may still send on streams of its own; h2 takes the connection for closed"),
    http2("frames of extensions that hyperframe reads", rf"{EVENT} / refuse:FRAME_SIZE_ERROR:FrameDataMissingError.*", "9113 5.5", FLARE,
          "frames of types that are not known are ignored, whatever they hold (ALTSVC, from a client)"),
    http2("WINDOW_UPDATE with its reserved bit set", rf"{EVENT} / refuse:PROTOCOL_ERROR:ProtocolError:Received_frame_with_non-compliant_data", "9113 6.9", FLARE,
          "the bit is ignored; an increment of 0 ends the stream in flare, the connection in h2"),
    http2("padding that fills the payload exactly", rf"{EVENT} / refuse:PROTOCOL_ERROR:ProtocolError:Received_frame_with_invalid_padding.", "9113 6.1", FLARE,
          "only padding as long as the payload, the octet of its length included, is too long; hyperframe refuses one octet earlier"),
    http2("an empty crumb of a cookie", rf"{EVENT} / refuse:PROTOCOL_ERROR:ProtocolError:Received_header_value_surrounded_by_whitespace", "9113 8.2.3", BOTH,
          "crumbs are joined by `; `, so that an empty last one leaves a space at the end; h2 joins first and then refuses it"),
    http2("a malformed request that h2 takes", rf"reset-it / {EVENT}", "9113 8.2.1, 8.3.1", FLARE,
          "h2 does not look into `:scheme`, `:path` and `:authority`, nor at all control octets and names"),
    http2("a frame judged by its head", r"end / refuse:.*", "9113 4.1", BOTH,
          "h2 judges the stream of a frame before its payload has come; flare judges whole frames"),
    http2("fields behind a stream's end", rf"{EVENT} / refuse:PROTOCOL_ERROR:ProtocolError:(Cannot_set_END_STREAM.*|Invalid_input_StreamInputs.*|.*informational.*)", "9113 5.1", FLARE,
          "flare has reset the stream, and ignores what follows; h2 looks into the fields first"),
    http2("Host in the place of `:authority`", "differ:detail", "9113 8.3.1", BOTH,
          "flare gives the one where the other is missing; h2 gives what was sent"),
    refused_frame("40", "more settings in a frame than there are", "9113 10.5", BOTH, "work of which nothing comes; h2 waits for the whole frame"),
    refused_frame("2", "no SETTINGS first", "9113 3.4", FLARE, "the preface is followed by SETTINGS; h2 does not ask for them"),
    refused_frame("3", "a frame above 16,384 octets", "9113 4.2", FLARE, "its head says so; h2 waits for the payload, and then refuses it"),
    refused_frame("4", "a length that the type of frame does not allow", "9113 6", FLARE,
                  "checked before the stream; PRIORITY_UPDATE (9218 7.1) is not known to h2"),
    refused_frame("7", "a stream number that may not be opened", "9113 5.1.1", FLARE, "odd and growing; flare refuses before the payload has come"),
    refused_frame("8", "a frame on an idle stream", "9113 5.1", FLARE, "h2 ignores RST_STREAM and waits for whole frames"),
    Class(HTTP2, "content before a frame on an idle stream", r"data / data\.", "9113 5.1", FLARE,
          "as above; what h2 then reads ends the stream", H2, rb"\x00\x00\x04[\x03\x08]\x00"),
    refused_frame("9", "a frame on a closed stream", "9113 5.1", BOTH,
                  "9113 5.1 allows a connection error; h2 resets or ignores"),
    refused_frame("5|6|11|12|13|14|17|18|19|20|21|22", "a frame judged before its payload is there", "9113 4.1, 6", FLARE,
                  "its head suffices: wrong stream, wrong order; h2 waits for the payload"),
    refused_frame("45|47", "PRIORITY_UPDATE and SETTINGS_NO_RFC7540_PRIORITIES", "9218 2.1, 7.1", FLARE, "h2 does not know RFC 9218"),
]

URL = ("url",)
ADA = ("Node",)

URL_CLASSES = [
    Class(URL, "`file` URLs", "refuse:file_is_no_scheme_of_the_network / take", "URL 4.4", BOTH,
          "`Url` is for what a request can be sent to", ADA),
    Class(URL, "a fragment at a base with an opaque path", "refuse:.* / take", "URL 4.4, no scheme state", FLARE,
          "a reference of a fragment alone is all that such a base takes; ada 2.9 takes others, too, if there is a fragment", ADA,
          rb"(?s)^[^\0/]+:(?!/)[^\0]*\0.*#"),
    Class(URL, "`.` and `..` where the scheme is not special", "differ:href\\+pathname", "URL 4.4, path state", FLARE,
          "`x:/..` is `x:/`, and `x:/.a/.` is `x:/.a/`; ada 2.9 leaves the path empty, or the dot", ADA, rb"(?i)\.|%2e"),
    Class(URL, "labels from right to left, and `xn--` labels that encode ASCII", "refuse:a_label_.* / take", "UTS 46 4.1, 5893 2", FLARE,
          "ada 2.9 does not check numbers of Arabic script, nor that an encoded label needs to be one", ADA, rb"[^\x00-\x7f]|(?i:xn--|%[89a-f])"),
    Class(URL, "characters of newer versions of Unicode", "take / refuse:ERR_INVALID_URL", "UTS 46", FLARE,
          "ada 2.9 has the tables of an older Unicode", ADA, rb"[^\x00-\x7f]|(?i:xn--|%[c-f])"),
]

JSON = ("json",)

JSON_CLASSES = [
    Class(JSON, "half of a surrogate pair", "refuse:4 / take", "8259 8.2", BOTH,
          "no text has it, and what others make of it is unpredictable: Go writes U+FFFD, Python keeps it", ("Go", "Python")),
    Class(JSON, "octets that are not UTF-8", "refuse:5 / take", "8259 8.1", FLARE, "Go writes U+FFFD", ("Go",)),
    Class(JSON, "a number beyond the range of a 64-bit float", "refuse:6 / take", "8259 6", BOTH,
          "a limit that the RFC allows; Python makes an infinity of it", ("Python",)),
    Class(JSON, "more than 128 levels", "refuse:7 / take", "8259 9", BOTH,
          "a limit that the RFC allows; Go has 10,000, Python its stack", ("Go", "Python")),
]

DATE = ("date",)
GO = ("Go",)

DATE_CLASSES = [
    Class(DATE, "digits, names or spaces that the grammar does not have", "refuse / take", "9110 5.6.7", FLARE,
          "Go takes hours of one digit, names in any case, days of one digit and spaces between", GO),
    Class(DATE, "years of two digits", "differ:seconds", "9110 5.6.7", FLARE,
          "at most 50 years ahead of now; Go cuts at 69, whatever the year", GO, rb"-\d\d "),
    Class(DATE, "a leap second", "take / refuse:parsing", "9110 5.6.7", FLARE,
          "`second` may be 60; Go refuses it", GO, rb":60"),
]

CACHE = ("cache",)
SEMANTICS = ("Node",)


FORM = ("multipart",)
SET_COOKIE = ("set-cookie",)


def form(name: str, what: str, source: str, right: str, why: str) -> Class:
    return Class(FORM, name, what, source, right, why, GO)


def set_cookie(name: str, what: str, source: str, right: str, why: str) -> Class:
    return Class(SET_COOKIE, name, what, source, right, why, GO)


FORM_CLASSES = [
    form("a part that is of no form, or malformed", "refuse / (take|partial|end)", "7578 4.2", FLARE,
         "each part has one Content-Disposition with a name, lines end with CRLF, and nothing stands before the first boundary; Go reads any multipart body, and takes bare LF"),
    form("what stands behind the last boundary", "end / (take|partial|refuse:.*)", "2046 5.1.1", BOTH,
         "does not count; Go wants a line end there, and reads on where it has none"),
    form("a body cut short", "partial / (end|take|refuse:.*)", "2046 5.1.1", FLARE,
         "it has no last boundary; Go takes a boundary line at its end for one, and judges half a line"),
    form("a content that Go does not decode", "differ:content|take / refuse:quotedprintable.*", "7578 4.7", BOTH,
         "flare decodes base64 and quoted-printable, as old senders use them; Go the latter alone, more strictly"),
    form("how names are written", "differ:name", "7578 4.2", BOTH,
         "flare reads them as browsers write them: `%22` is a quote, and quotes may stand in a token; Go reads by RFC 2183, and gives none of what is malformed"),
    form("how names of files are written", "differ:filename", "7578 4.2", BOTH,
         "as above; folders are left out, and `filename*` is passed over, which 7578 forbids"),
]

SET_COOKIE_CLASSES = [
    set_cookie("a name that is no token", "take / refuse:http:_(invalid_cookie_name|blank_cookie)", "6265 5.2", FLARE,
               "user agents take any; Go checks the grammar of servers (6265 4.1)"),
    set_cookie("a value that has other octets than a server may write", "take / refuse:http:_invalid_cookie_value", "6265 5.2", FLARE, "as above"),
    set_cookie("no `=`", "take / refuse:http", "6265bis 5.6", FLARE, "it is a value without a name"),
    set_cookie("neither name nor value, or a control octet", "refuse / take", "6265bis 5.6, 5.7", FLARE, "such a cookie is ignored as a whole"),
    set_cookie("quotes and whitespace around a value", "differ:value", "6265 5.2", FLARE, "quotes are a part of the value, whitespace is not; Go takes quotes off, and leaves whitespace"),
    set_cookie("dates of Expires", "differ:expires", "6265 5.1.1", FLARE, "any order of time, day, month and year; Go reads two forms"),
    set_cookie("Max-Age with whitespace, a sign or zeros", "differ:max-age", "6265 5.2.2", FLARE, "digits, with `-` before; Go takes `+5` and refuses `010`"),
    set_cookie("Domain", "differ:domain", "6265 5.2.3", FLARE, "a dot at the start goes, and case is folded; Go checks the name"),
    set_cookie("Path", "differ:path", "6265 5.2.4", FLARE, "a value that does not start with `/` is the default path; Go gives it as it is"),
    set_cookie("flags with a value", "differ:(secure|http-only|same-site|partitioned)", "6265 5.2.5", FLARE, "the name alone counts, and whitespace does not; Go wants a value that a server may write"),
]

COOKIE_CLASSES = [
    Class(("cookie",), "pairs that are no cookies, and quotes", "differ:pairs", "6265 4.2, 5.4", BOTH,
          "flare gives names and values as they were sent, without whitespace around; Go leaves out names that are no token and values with other octets, takes quotes off, and gives a name without a value", GO,
          rb"(^|;)[^=;]*(;|$)|[^;=]*[^!#$%&'*+.0-9A-Z^_`a-z|~;=-][^;=]*=|=[^;]*[^!#-+./-:<-\[\]-~;-]|=\s|\s(;|$)"),
]


def cache(name: str, what: str, source: str, right: str, why: str, input: bytes = b"") -> Class:
    return Class(CACHE, name, what, source, right, why, SEMANTICS, input)


CACHE_CLASSES = [
    cache("what is stale from the start, without a validator", "no:8 / yes", "9111 3", BOTH, "nothing can be done with it"),
    cache("`Vary: *`", "no:7 / yes", "9111 4.1", BOTH, "no request matches it"),
    cache("names of directives in capitals", "(yes / no|differ:(lifetime|reuse)|no:[0-9] / yes)", "9111 5.2", FLARE, "names of directives are compared without regard to case", rb"MAX-AGE"),
    cache("statuses that are not understood", "yes / no", "9111 3", FLARE,
          "with `max-age` or Expires any final status may be kept, but for 206 and 304 here; `http-cache-semantics` has a list of statuses",
          rb'"status": (?!200|203|204|300|301|302|303|307|308|404|405|410|414|501)\d'),
    cache("`must-revalidate` and `proxy-revalidate` while it is fresh", "differ:(reuse|lifetime)", "9111 5.2.2.2", FLARE,
          "it counts once the response is stale", rb"-revalidate"),
    cache("fields that `private` names", "yes / no", "9111 5.2.2.7", BOTH,
          "they alone are left out; the other keeps nothing of such a response", rb"private="),
    cache("`must-understand` with `no-store`", "yes / no", "9111 5.2.2.3", FLARE, "who understands the status passes over `no-store`", rb"must-understand"),
    cache("Set-Cookie in a shared cache", "differ:(lifetime|reuse)", "9111 7.3", BOTH,
          "kept by a policy of this run; the other has it stale at once. By default flare keeps no such response", rb"set-cookie"),
    cache("seconds that are malformed, or said twice", "(differ:(lifetime|reuse)|yes / no)", "9111 4.2.1, 5.2", FLARE,
          "of two the first counts, and what is no number is passed over; the other takes the last, and `1.5`",
          rb"max-age=(-5|1\.5|x|.?\"60)|max-age(=\d+)?[ ,].*max-age|maxage.*maxage|max-age[\" ,]"),
    cache("`max-stale` after `s-maxage`, or without a number", "differ:reuse", "9111 5.2.1.2, 5.2.2.10", FLARE,
          "`s-maxage` forbids stale use", rb"max-stale"),
    cache("dates that are none", "differ:(lifetime|reuse|age)", "9111 5.3, 9110 5.6.7", FLARE,
          "the other reads what JavaScript takes for a date, such as `0`", rb'": "(0|x|-1)"'),
    cache("Pragma of a request", "differ:reuse", "9111 5.4", BOTH, "deprecated, and passed over", rb"pragma"),
    cache("more than 2^31 seconds", "differ:(age|lifetime|reuse)", "9111 1.2.2", FLARE, "counted as 2^31", rb"9{10,}"),
    cache("the age by Date", "differ:(age|reuse)", "9111 4.2.3", FLARE,
          "the apparent age is how long before its arrival a response was made; `http-cache-semantics` counts Age alone", rb'"date"|"expires"'),
    cache("the lifetime of what is always validated", "differ:lifetime", "9111 5.2.2.4", BOTH,
          "flare has the lifetime that is said, and does not use the response unasked; the other has 0", rb"no-cache"),
    cache("an Age that is no number, or a list", "differ:(age|reuse)", "9111 5.1", FLARE, "ignored, and of a list the first counts", rb'"age"'),
]

OCTETS = ("protobuf",)
TEXTS = ("protobuf-json",)
MESSAGES = OCTETS + TEXTS
ENCODING = "encoding"
MAPPING = "ProtoJSON"
TAKES = r" / take"


def protobuf(
    subjects: tuple[str, ...], name: str, what: str, source: str, right: str, why: str, input: bytes = b""
) -> Class:
    return Class(subjects, name, what, source, right, why, ("Python",), input)


PROTOBUF_CLASSES = [
    protobuf(OCTETS, "a length in more than five octets", "take / refuse:Error_parsing_message_with_type", ENCODING, BOTH,
             "varints have ten octets at most; five are enough for any length", rb"[\x80-\xff]{5}"),
    protobuf(OCTETS, "an entry of a map with a field that it does not know", "differ:(octets[+])?entry", ENCODING, BOTH,
             "an entry, without that field; protobuf keeps the whole entry among the fields that are not known"),
    protobuf(OCTETS, "a number without a name in proto2", "differ:(octets[+])?(entry[+])?number", "enums", "protobuf",
             "all enumerations are open here: the number is the field's value, and goes into JSON; protobuf keeps it among the fields that are not known"),
    protobuf(OCTETS, "a string of proto2 that is not UTF-8", "refuse:5:.*" + TAKES, "proto2", FLARE,
             "a string is UTF-8; protobuf looks when it is read from the message", rb"^[LAK]"),
    protobuf(OCTETS, "the field number 0", "refuse:2:.*" + TAKES, ENCODING, FLARE,
             "numbers begin with 1; protobuf takes it in a message without fields, and for a group"),
    protobuf(OCTETS, "a path with capitals beyond ASCII", "take / refuse:json:Fail_to_print_FieldMask.*", "field_mask.proto", BOTH,
             "it is read back as it was; names of fields are ASCII", rb"[\x80-\xff]"),
    protobuf(OCTETS, "a required field that is missing in an `Any` or an entry", "refuse:8:.*" + TAKES, "proto2", FLARE,
             "such a message cannot be read again"),
    protobuf(OCTETS, "a `Value` without a value", "refuse:12:a_value" + TAKES, "struct.proto", FLARE,
             "that is an error there; protobuf writes `null`"),
    protobuf(MESSAGES, "a type without a slash in an `Any`", "refuse:13:.*" + TAKES, "any.proto", FLARE,
             "a type has at least one slash"),
    protobuf(MESSAGES, "depth", "(refuse:7:.*" + TAKES + "|take / refuse:Message_too_deep.*)", ENCODING, BOTH,
             "the outermost message counts, and groups do; no message has more than 100 around the innermost"),
    protobuf(TEXTS, "`\"\"` and `[]` for a message", "refuse:9:an_object" + TAKES, MAPPING, FLARE,
             "a message is an object; protobuf passes over what is empty"),
    protobuf(TEXTS, "integers that are none", "refuse:10:(an_integer|a_key_that).*" + TAKES, MAPPING, FLARE,
             "texts are as JSON has numbers; protobuf takes what Python's `int` does, such as `01`, `+1` and `1_0`, and loses a fraction beyond a float's digits"),
    protobuf(TEXTS, "an enumeration as a text of digits, or as another value", "refuse:10:a_(name|number_of_the_enumeration).*" + TAKES, MAPPING, FLARE,
             "a name or a number; protobuf takes `\"1\"`, `true` and `1.5`"),
    protobuf(TEXTS, "such a text where names that are not known are left out", "differ:octets", MAPPING, FLARE,
             "`\"1\"` is no name, so it is left out", rb'^[a-z].*"[^"]*[0-9]'),
    protobuf(TEXTS, "other values for numbers", "refuse:10:a_number" + TAKES, MAPPING, FLARE,
             "protobuf takes `true` as 1"),
    protobuf(TEXTS, "numbers beyond a double", "refuse:10:a_number_that.*" + TAKES, MAPPING, FLARE,
             "out of range is an error; protobuf reads infinity, and texts as Python's `float` does"),
    protobuf(TEXTS, "times and spans that are none", "refuse:10:a_time.*" + TAKES, MAPPING, FLARE,
             "protobuf takes `+1s` and `1.s`"),
    protobuf(TEXTS, "octets in no base64", "refuse:10:octets.*" + TAKES, MAPPING, FLARE,
             "protobuf passes over signs that are in no alphabet"),
    protobuf(TEXTS, "`null` in a list or map of `NullValue`", "take / refuse:(null_is_not_allowed.*|int|Null_is_not.*)", MAPPING, FLARE,
             "`null` is its form in JSON; protobuf does not read there what it writes", rb"null"),
    protobuf(TEXTS, "the largest float, with eight digits", "take / refuse:Float_value_too_(large|small)", MAPPING, FLARE,
             "`3.4028235e38` is read back as it was written", rb"3\.4028235"),
    protobuf(TEXTS, "a number without a name in proto2, in JSON", "take / refuse:Invalid_enum_value.*", "enums", "protobuf",
             "all enumerations are open here"),
    protobuf(TEXTS, "-0 in a `Value`", "differ:octets", "8259 6", FLARE,
             "a float; Python's `json` reads an integer", rb"-0"),
    protobuf(TEXTS, "integers with a point or an exponent", "take / refuse:Value_out_of_range", MAPPING, FLARE,
             "a whole number whose digits count; Python's float rounds it", rb"[.eE]"),
    protobuf(TEXTS, "integers beyond 2^53 with a point or an exponent", "differ:octets", MAPPING, FLARE,
             "no digit of a whole number is lost; Python's float has fifteen", rb"\d(\.?\d){15,}(\.0|[eE])"),
    protobuf(TEXTS, "a name twice in what is left out", "take / refuse:duplicate_key.*", "8259 4", BOTH,
             "names that are not known are passed over with all within, where the caller wants that", rb"^[a-z]"),
    protobuf(TEXTS, "half a surrogate pair in what is left out", "refuse:9:a_string.*" + TAKES, "8259 8.2", BOTH,
             "no text of UTF-8; protobuf does not look at what it leaves out", rb"^[a-z].*ud[89a-fA-F]"),
    protobuf(TEXTS, "a field by both its names", "refuse:11:one_member_for_each_field" + TAKES, MAPPING, FLARE,
             "a field has one member, by either name; the conformance suite has that refused"),
    protobuf(TEXTS, "more than `@type` and `value` in an `Any`", "refuse:11:@type_and_value_alone" + TAKES, MAPPING, FLARE,
             "names that are not known are an error, there too; protobuf passes over them", rb"@type"),
    protobuf(TEXTS, "a name with a NUL", "refuse:11:the_name.*" + TAKES, MAPPING, FLARE,
             "protobuf looks no further than the NUL", rb"\\u0000"),
]

CLASSES: list[Class] = [*HTTP1_CLASSES, *REFUSED, *HTTP2_CLASSES, *URL_CLASSES, *JSON_CLASSES, *DATE_CLASSES, *FORM_CLASSES, *SET_COOKIE_CLASSES, *COOKIE_CLASSES, *CACHE_CLASSES, *PROTOBUF_CLASSES]


def find(subject: str, judge: str, what: str, case: bytes) -> Class | None:
    """Finds the class of a difference: the first row that fits."""
    for row in CLASSES:
        if (
            subject in row.subjects
            and judge in row.judges
            and re.fullmatch(row.what, what)
            and (not row.input or re.search(row.input, case))
        ):
            return row
    return None


def of(subject: str) -> list[Class]:
    """Lists the classes of a subject."""
    return [row for row in CLASSES if subject in row.subjects]
