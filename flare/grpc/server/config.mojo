"""What a server of gRPC allows."""

from flare.grpc.core.message_reader import MESSAGE_LEN_MAX_DEFAULT
from flare.grpc.core.message_writer import WRITTEN_LEN_MAX


struct GrpcConfig(TrivialRegisterPassable):
    """Bounds of messages, and how replies are written."""

    var receive_len_max: Int
    """Longest message that is read, in bytes, as sent and decompressed. Default
    4 MiB."""
    var send_len_max: Int
    """Longest message that is sent, in bytes before it is compressed. Default
    4,294,967,295, all that a prefix can say."""
    var compresses: Bool
    """Whether replies are compressed for callers that read gzip; a method may
    say something else by `GrpcCall.compresses`. Default False."""

    var stream_threads: Int
    """Most threads for streams with blocking code (`Blocking`), for all workers
    of a process together; 0 for none, so that such calls are UNAVAILABLE.
    Default 64."""

    def __init__(
        out self,
        *,
        receive_len_max: Int = MESSAGE_LEN_MAX_DEFAULT,
        send_len_max: Int = WRITTEN_LEN_MAX,
        compresses: Bool = False,
        stream_threads: Int = 64,
    ):
        """Makes a configuration; what is not named has its default."""
        self.receive_len_max = receive_len_max
        self.send_len_max = send_len_max
        self.compresses = compresses
        self.stream_threads = stream_threads
