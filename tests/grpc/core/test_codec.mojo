"""Messages of calls, in the form that a call has."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.codec import MessageCodec, decode_as, encode_as
from flare.protobuf.known import StringValue
from tests.support.assertions import assert_equal


def test_the_bound_of_a_call_is_the_only_one() raises:
    """What may be read says who has received it (`GrpcConfig.receive_len_max`,
    `GrpcChannelConfig.max_receive_len`)."""
    var length = 64 * 1024 * 1024
    var long = StringValue(value=String("x") * length)
    for codec in [MessageCodec.PROTO, MessageCodec.JSON]:
        var octets = Buffer()
        encode_as(long, codec, None, octets)
        var read = decode_as[StringValue](octets.span(), codec, None)
        assert_equal(read.value.byte_length(), length)
