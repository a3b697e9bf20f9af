"""Services of gRPC, gRPC-Web and Connect."""

from flare.grpc.core.codec import MessageCodec
from flare.grpc.core.metadata import Metadata, MetadataError
from flare.grpc.core.protocol import CallProtocol, ProtocolFamily
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.blocking import Blocking, BlockingCall, Conversation
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.config import GrpcConfig
from flare.grpc.server.interceptor import GrpcInterceptor
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.services import GrpcServices
from flare.grpc.server.stream import GrpcStream, Replies
