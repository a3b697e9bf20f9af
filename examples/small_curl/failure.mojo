"""Why a transfer fails, with the exit codes of curl."""

from flare.http import ClientError

comptime EXIT_CODES = "BadUrl=3 BadRequest=3 DnsError=6 ConnectionRefused=7 Unreachable=7 AddressNotAvailable=7 MalformedResponse=8 TruncatedResponse=18 SinkFailed=23 Timeout=28 ConnectionTimeout=28 TlsFailed=35 TooManyRedirects=47 NoResponse=52 BrokenPipe=55 ConnectionReset=56 ProxyRefused=56 BadContent=61 ResponseTooLarge=63 RedirectRefused=1"
"""Exit codes of curl for the kinds of `ClientError`."""

comptime CERTIFICATE_KINDS = "CertificateExpired CertificateNotYetValid WrongHost SelfSigned UnknownIssuer IncompleteChain CertificateRevoked RevocationUnknown CertificateRejected"


@fieldwise_init
struct Failure(Copyable, Movable):
    """Why a transfer fails, and with which exit code."""

    var code: Int
    var text: String

    @implicit
    def __init__(out self, error: ClientError):
        self.code = 1
        self.text = String(error)
        var name = error.kind.name
        if name == "TlsFailed" and error.tls_kind:
            var tls = error.tls_kind.value().name
            if tls == "BadTlsConfig":
                self.code = 77
                return
            if tls in CERTIFICATE_KINDS:
                self.code = 60
                return
        self.code = _code_of(name)

    @implicit
    def __init__(out self, error: Error):
        self.code = 2
        self.text = String(error)


def value_of(table: StaticString, name: StringSpan) -> String:
    """Finds the value of a name in text such as `a=1 b=2`."""
    for pair in table.split(" "):
        if pair.startswith(String(name, "=")):
            return String(pair[byte = name.byte_length() + 1 :])
    return ""


def _code_of(name: StringSpan) -> Int:
    try:
        return Int(value_of(EXIT_CODES, name))
    except:
        return 1
