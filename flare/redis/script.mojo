"""Scripts in Lua that run on the server."""

from flare.bytes.ascii import hex_digit_text
from flare.bytes.hash import sha1
from flare.redis.commands import RedisCommands
from flare.redis.core.command import Command, RedisArg
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply


struct RedisScript(Copyable, Movable):
    """A script, known to servers by its digest."""

    var source: String
    """The script in Lua."""
    var digest: String
    """Its SHA-1 in hex."""

    def __init__(out self, var source: String):
        """Takes a script.

        Args:
            source: The script; keys are `KEYS[1]`, arguments `ARGV[1]`.
        """
        self.digest = String()
        for octet in sha1(source.as_bytes()):
            self.digest += hex_digit_text(Int(octet >> 4))
            self.digest += hex_digit_text(Int(octet & 15))
        self.source = source^


trait ScriptCommands(RedisCommands):
    """Running scripts. Each command raises `RedisError` if it fails, or the server
    refuses."""

    def eval[
        o: MutOrigin
    ](
        ref[o] self,
        script: RedisScript,
        keys: List[String],
        *arguments: RedisArg,
    ) raises RedisError -> Reply[ImmOrigin(o)]:
        """Runs a script: by its digest, and with its source if the server does
        not know it (EVALSHA, EVAL).

        Args:
            script: The script.
            keys: The keys that it uses; in a cluster all of one slot.
            arguments: What else it is given.

        Returns:
            What it returns, lent until the next command.
        """
        var given = List[String](capacity=len(arguments))
        for index in range(len(arguments)):
            given.append(arguments[index].text)
        try:
            ref room = self._next()
            room.begin["EVALSHA"](2 + len(keys) + len(given))
            room.add(script.digest)
            _add_arguments(room, keys, given)
            return self._run().unsafe_lent_by[ImmOrigin(o)]()
        except error:
            if error.kind != RedisErrorKind.NO_SCRIPT:
                raise error.copy()
        ref room = self._next()
        room.begin["EVAL"](2 + len(keys) + len(given))
        room.add(script.source)
        _add_arguments(room, keys, given)
        return self._run().unsafe_lent_by[ImmOrigin(o)]()


def _add_arguments(
    mut room: Command, keys: List[String], arguments: List[String]
):
    room.add_number(len(keys))
    for index in range(len(keys)):
        room.key(keys[index])
    for index in range(len(arguments)):
        room.add(arguments[index])
