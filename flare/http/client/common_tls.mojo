"""TLS contexts that several states of one client have in common."""

from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.tls.config import TlsConfig
from flare.tls.context import TlsClientContext
from flare.tls.error import TlsError


struct CommonTls(ImplicitlyCopyable):
    """Contexts that are made once, whoever asks first; copies are the same.

    A context reads the files of its configuration, and holds the tickets that
    sessions go on from.
    """

    # Without and with HTTP/2.
    var _made: Mutex[_Contexts]

    def __init__(out self) raises OsError:
        """Makes none yet. Raises if the system has no more locks."""
        self._made = Mutex(_Contexts())

    def context(
        self, config: TlsConfig, offers_http2: Bool
    ) raises TlsError -> TlsClientContext:
        """Lends one of the two contexts; others wait while the first one is
        made. All who ask have the same configuration; raises if none can be
        made from it."""
        var guard = self._made.lock()
        if offers_http2:
            if not guard[].http2:
                guard[].http2 = TlsClientContext(config)
            return guard[].http2.value()
        if not guard[].http1:
            guard[].http1 = TlsClientContext(config)
        return guard[].http1.value()


struct _Contexts(Defaultable, Movable):
    var http1: Optional[TlsClientContext]
    var http2: Optional[TlsClientContext]
