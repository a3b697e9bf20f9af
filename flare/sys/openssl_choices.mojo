"""What a server chooses in a handshake: a certificate and a protocol."""

from flare.sys.openssl import OpenSsl, c_octets, c_text
from flare.sys.openssl_context import SslContext
from std.memory import ArcPointer

comptime _CHOSEN = Int32(0)
comptime _ALERT_FATAL = Int32(2)
comptime _NOT_CHOSEN = Int32(3)


struct ServerChoices(Movable):
    """The certificates of a server by name, and its protocols.

    It must stay in its place while a session lives that asks it, so it lives
    behind an `ArcPointer` that the sessions share.
    """

    var _library: ArcPointer[OpenSsl]
    var _contexts: List[SslContext]
    var _exact: Dict[String, Int]
    var _wildcard: Dict[String, Int]
    var _protocols: List[UInt8]

    def __init__(
        out self, library: ArcPointer[OpenSsl], var protocols: List[UInt8]
    ):
        """Makes choices without a certificate.

        Args:
            library: OpenSSL.
            protocols: Names, best first, each with a length octet before it.
        """
        self._library = library
        self._contexts = []
        self._exact = {}
        self._wildcard = {}
        self._protocols = protocols^

    def add(mut self, var context: SslContext):
        """Adds a certificate, for the names that are written in it.

        Args:
            context: What holds it. The first one serves all other names; of
                two for the same name, the first one serves it.
        """
        var index = len(self._contexts)
        var facts = context.certificate_facts()
        for name in facts.names:
            if name.startswith("*."):
                var suffix = String(name.removeprefix("*"))
                _ = self._wildcard.setdefault(suffix^, index)
            else:
                _ = self._exact.setdefault(name, index)
        self._contexts.append(context^)

    def watch(mut self):
        """Answers the questions of the contexts from now on.

        Called once, when all certificates are there and the value is where it
        will stay.
        """
        var address = Int(Pointer(to=self))
        for index in range(len(self._contexts)):
            ref context = self._contexts[index]
            context.choose_name_with(_choose_name, address)
            if len(self._protocols) > 0:
                context.choose_protocol_with(_choose_protocol, address)

    def context(ref self) -> ref[self._contexts[0]] SslContext:
        """Lends the context that sessions start with.

        Returns:
            That of the first certificate; there must be one.
        """
        return self._contexts[0]

    def index_for(self, name: String) -> Int:
        """Finds a certificate for a name.

        Args:
            name: What the client has sent.

        Returns:
            Its index, or -1. A certificate with the very name goes before one
            with a wildcard, which stands for one label (RFC 9525 section
            6.3).
        """
        var lower = String(name.lower().removesuffix("."))
        var exact = self._exact.get(lower)
        if exact:
            return exact.value()
        var dot = lower.find(".")
        if dot < 1:
            return -1
        var suffix = String(StringSpan(unsafe_from_utf8=lower.as_bytes()[dot:]))
        return self._wildcard.get(suffix).or_else(-1)

    def _switch(self, session: Int) -> Int32:
        ref symbols = self._library[].session
        var index = self.index_for(c_text(symbols.get_servername(session, 0)))
        if index < 0:
            return _NOT_CHOSEN
        if index > 0:
            _ = symbols.set_ssl_ctx(session, self._contexts[index].handle())
        return _CHOSEN

    def _agree(self, offer: Span[UInt8, _]) -> Tuple[Int, Int]:
        """Finds the best own protocol in an offer: offset and length there."""
        var own = Span(self._protocols)
        var at = 0
        while at < len(own):
            var length = Int(own[at])
            var there = 0
            while there < len(offer):
                var end = there + 1 + Int(offer[there])
                if end > len(offer):
                    break
                if offer[there:end] == own[at : at + 1 + length]:
                    return (there + 1, length)
                there = end
            at += 1 + length
        return (0, 0)


comptime _Choices = Pointer[ServerChoices, MutUntrackedOrigin]


def _choose_name(
    session: Int, alert_place: Int, argument: Int
) abi("C") -> Int32:
    return _Choices(unsafe_from_address=argument)[]._switch(session)


def _choose_protocol(
    session: Int,
    chosen_place: Int,
    length_place: Int,
    offer: Int,
    offer_len: UInt32,
    argument: Int,
) abi("C") -> Int32:
    var found = _Choices(unsafe_from_address=argument)[]._agree(
        c_octets(offer, Int(offer_len))
    )
    if found[1] == 0:
        return _ALERT_FATAL
    Pointer[Int, MutUntrackedOrigin](unsafe_from_address=chosen_place)[] = (
        offer + found[0]
    )
    Pointer[UInt8, MutUntrackedOrigin](
        unsafe_from_address=length_place
    )[] = UInt8(found[1])
    return _CHOSEN
