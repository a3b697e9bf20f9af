"""A value that was copied out of a reply."""

from flare.bytes.copy import list_of, text_of
from flare.bytes.utf8 import is_valid_utf8
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply


struct RedisValue(Copyable, Movable):
    """A value of any octets, copied out of its connection.

    What Redis has no more when it has given it comes as one: it must not be
    lost for being no text.
    """

    var octets: List[UInt8]
    """The octets."""

    def __init__(out self, reply: Reply[_]) raises RedisError:
        """Copies a value.

        Args:
            reply: The value as it came.

        Raises:
            RedisError: If it is an error, or no value.
        """
        var octets = reply.octets()
        self.octets = list_of(octets)

    def text(self) raises RedisError -> String:
        """Copies the value as text.

        Raises:
            RedisError: If it is no UTF-8 (`NOT_TEXT`); `octets` has it then.
        """
        if not is_valid_utf8(self.octets):
            raise RedisError(
                RedisErrorKind.NOT_TEXT, String("the value is no UTF-8")
            )
        return text_of(self.octets)


def value_or_none(reply: Reply[_]) raises RedisError -> Optional[RedisValue]:
    """Copies a value; None for null. Raises if it is an error, or no value."""
    if reply.is_null():
        return None
    return RedisValue(reply)
