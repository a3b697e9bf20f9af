"""Commands whose name and arguments are known when they are sent."""

from flare.bytes.checked import *
from flare.redis.core.command import (
    Command,
    KeyPlace,
    RedisArg,
    WaitPlace,
    begins_messages,
    key_place,
)
from flare.redis.core.error import RedisError, RedisErrorKind

comptime _SPACE = UInt8(0x20)


@fieldwise_init
struct GivenKey(Copyable, Movable):
    """Where the caller says that a command of a pipeline has its key."""

    var command: Int
    """The command's place in the pipeline, from 0."""
    var index: Int
    """Which argument the key is, from 0; -1 if there is none."""


@fieldwise_init
struct ArgumentPlaces(TrivialRegisterPassable):
    """Which arguments of a command mean something here."""

    var key: KeyPlace
    var wait: WaitPlace


def append_command[
    T: Copyable & Deinitable
](
    mut room: Command,
    name: StringSpan,
    arguments: List[T],
    key_index: Optional[Int],
) raises RedisError:
    """Appends a command with arguments that are texts, octets (`List[UInt8]`),
    or of any kind (`RedisArg`); `key_index` is the argument that is the key,
    None where the name tells. Raises if the name or the index cannot be right
    (`BAD_ARGUMENT`); nothing is appended then."""
    var places = begin_command(room, name, len(arguments), key_index)
    for index in range(len(arguments)):
        ref argument = arguments.at(index)
        comptime if T == String:
            var octets = rebind[String](argument).as_bytes()
            append_argument(room, places, index, octets)
        elif T == RedisArg:
            var octets = rebind[RedisArg](argument).text.as_bytes()
            append_argument(room, places, index, octets)
        else:
            var octets = Span(rebind[List[UInt8]](argument))
            append_argument(room, places, index, octets)


def begin_command(
    mut room: Command,
    name: StringSpan,
    argument_count: Int,
    key_index: Optional[Int] = None,
) raises RedisError -> ArgumentPlaces:
    """Begins a command that makes sense, for `append_argument`; the rest is as
    for `append_command`."""
    check_name(name)
    if key_index and not -1 <= key_index.value() < argument_count:
        raise RedisError(
            RedisErrorKind.BAD_ARGUMENT,
            String(
                "key_index of ",
                name,
                " is ",
                key_index.value(),
                ", and the command has ",
                argument_count,
                " arguments; count them from 0, or write -1 for no key",
            ),
        )
    room.begin_any(name.as_bytes(), argument_count)
    return ArgumentPlaces(
        KeyPlace(key_index.value() if key_index else key_place(name)),
        WaitPlace.of(name.as_bytes(), argument_count),
    )


def append_argument(
    mut room: Command,
    mut places: ArgumentPlaces,
    index: Int,
    octets: Span[UInt8, _],
):
    """Appends the next argument of a command that has begun, as its key if it is
    that, and notes how long the server waits on purpose if it says so."""
    room.extra_ms += places.wait.wait_ms(index, octets)
    if places.key.is_key(index, octets):
        room.key(octets)
    else:
        room.add(octets)


def check_name(name: StringSpan) raises RedisError:
    """Checks that the name of a command is one word, and of one that has a reply
    (`BAD_ARGUMENT`)."""
    if name.byte_length() == 0:
        raise RedisError(
            RedisErrorKind.BAD_ARGUMENT,
            String("a command has no name; write one, such as GET"),
        )
    for octet in name.as_bytes():
        if octet <= _SPACE or octet == 0x7F:
            raise RedisError(
                RedisErrorKind.BAD_ARGUMENT,
                String(
                    "the name of a command is '",
                    name,
                    "'; it must be one word, and what follows it goes into"
                    " the arguments",
                ),
            )
    # All of these names end so.
    var last = name.as_bytes().at(name.byte_length() - 1) | 32
    if last == 0x65 or last == 0x72 or last == 0x63:
        if begins_messages(name.as_bytes()):
            raise RedisError(
                RedisErrorKind.BAD_ARGUMENT,
                String(
                    name,
                    (
                        " is answered by messages, for which nobody would wait"
                        " here; a RedisSubscriber listens to channels"
                    ),
                ),
            )
