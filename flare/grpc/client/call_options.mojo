"""What a caller says of one call."""

from flare.bytes.erased import Erased, ErasedBox
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import GrpcStatus
from flare.http.client.connect.cancel import CancelToken
from std.memory import ArcPointer

comptime CHANNELS_OWN = -2
"""A number that leaves the choice to the channel and its service config."""


trait CallCredentials(Deinitable, Movable):
    """Says who calls, anew for each attempt of a call: a token that is fetched
    when it is needed, or that ends.

    All threads of a channel call it at the same time: what it changes is under a
    lock.
    """

    def metadata(
        self, service_url: String, path: String
    ) raises GrpcStatus -> Metadata:
        """Makes what goes with a call, such as `authorization`.

        Args:
            service_url: The service that is called, such as
                `https://api.example.com/pkg.Service`: for whom a token is.
            path: The method, such as `/pkg.Service/Method`.

        Returns:
            Metadata, sent beside that of the call.

        Raises:
            GrpcStatus: If there is none; the call fails with it.
        """
        ...


def _metadata[
    C: CallCredentials
](
    credentials: Erased, service_url: String, path: String
) raises GrpcStatus -> Metadata:
    # SAFETY: `AnyCredentials` made the pointer from a C, and keeps it.
    return credentials.unsafe_bitcast[C]()[].metadata(service_url, path)


struct AnyCredentials(ImplicitlyCopyable):
    """Credentials of any type; copies are the same."""

    # SAFETY: the function was made for the type of the credentials.
    var _owned: ArcPointer[ErasedBox]
    var _call: def(Erased, String, String) thin raises GrpcStatus -> Metadata

    @implicit
    def __init__[C: CallCredentials](out self, var credentials: C):
        """Takes credentials.

        Parameters:
            C: Their type.

        Args:
            credentials: The credentials.
        """
        self._owned = ArcPointer(ErasedBox(credentials^))
        self._call = _metadata[C]

    def metadata(
        self, service_url: String, path: String
    ) raises GrpcStatus -> Metadata:
        """Calls the credentials; the rest is as for `CallCredentials.metadata`."""
        return self._call(self._owned[].at, service_url, path)


struct GrpcCallOptions(Copyable, Movable):
    """What a caller says of one call; what it does not say is the channel's.

    ```mojo
    var options = GrpcCallOptions(timeout_ms=500)
    options.metadata.add("x-request", "17")
    var call = channel.call("/demo.Log/Tail", GrpcKind.UNARY, options)
    ```
    """

    var metadata: Metadata
    """Goes with the call."""
    var timeout_ms: Int
    """How long the call may take, from its beginning to its status, in
    milliseconds; -1 for ever, `CHANNELS_OWN` for what the service config says,
    or else the channel."""
    var wait_for_ready: Optional[Bool]
    """True to wait for a server that cannot be reached, as long as there is
    time; False to fail at once with UNAVAILABLE. Nothing for what the service
    config says, or else False."""
    var coding: MessageCoding
    """How messages are compressed; the server has to know it."""
    var max_send_len: Int
    """Longest message that is sent, in bytes; or `CHANNELS_OWN`."""
    var max_receive_len: Int
    """Longest message that is read, in bytes; or `CHANNELS_OWN`."""
    var credentials: Optional[AnyCredentials]
    """Says who calls, beside the channel's. Sent over TLS alone."""
    var cancel: Optional[CancelToken]
    """Ends the call from outside, on any thread, with CANCELLED."""

    def __init__(
        out self,
        *,
        timeout_ms: Int = CHANNELS_OWN,
        wait_for_ready: Optional[Bool] = None,
        coding: MessageCoding = MessageCoding.IDENTITY,
    ):
        """Makes options."""
        self.metadata = Metadata()
        self.timeout_ms = timeout_ms
        self.wait_for_ready = wait_for_ready
        self.coding = coding
        self.max_send_len = CHANNELS_OWN
        self.max_receive_len = CHANNELS_OWN
        self.credentials = None
        self.cancel = None

    @no_inline
    def __deinit__(deinit self):
        return
