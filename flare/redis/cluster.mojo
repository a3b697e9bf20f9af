"""A client of a cluster: the node of each key, and what nodes say of others."""

from flare.bytes.checked import *
from flare.redis.commands import RedisCommands
from flare.redis.config import REDIS_PORT, RedisConfig
from flare.redis.core.command import Command
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.hash_slot import (
    SlotMap,
    key_slot,
    node_name,
    read_redirection,
    read_slots,
)
from flare.redis.core.reply import Reply
from flare.redis.core.retry import may_repeat
from flare.redis.link import RedisLink, pause, set_address
from flare.redis.script import ScriptCommands
from flare.redis.streams import StreamCommands
from flare.sys.clock import Deadline
from flare.sys.random import random_word
from std.memory import OwnedPointer

comptime REDIRECTION_MAX = 16
"""How often one command is sent on; more means that the nodes disagree."""


struct _Node(Movable):
    """A node, and the way to it."""

    var name: String
    var link: RedisLink

    def __init__(out self, var name: String, var link: RedisLink):
        self.name = name^
        self.link = link^


struct RedisCluster(RedisCommands, ScriptCommands, StreamCommands):
    """A cluster of servers, for one thread: a connection to each node that is
    needed.

        var redis = RedisCluster(["10.0.0.1:6379", "10.0.0.2:6379"])
        redis.set("{user1}.name", "Ada")

    A command goes to the node of its key. All keys of one command must be in
    one slot: give them one hash tag. The map of slots is read again when a node
    says that it has changed, or does not answer.
    """

    var _config: RedisConfig
    var _seeds: List[String]
    var _slots: SlotMap
    var _nodes: List[OwnedPointer[_Node]]
    var _command: Command
    # The node that answered last: it lends the reply.
    var _last: Int
    var _redirection_count: Int

    def __init__(
        out self,
        var seeds: List[String],
        var config: RedisConfig = RedisConfig(),
    ) raises RedisError:
        """Makes a client; the first command connects.

        Args:
            seeds: Some nodes, as `host:port`; the others are found.
            config: As whom, how long; its host and port do not count.

        Raises:
            RedisError: If a value of it cannot work, or no node is named
                (`BAD_ARGUMENT`).
        """
        if len(seeds) == 0:
            raise RedisError(
                RedisErrorKind.BAD_ARGUMENT,
                String("a cluster needs a node to begin with, as host:port"),
            )
        if config.database != 0:
            raise RedisError(
                RedisErrorKind.BAD_ARGUMENT,
                String("a cluster has no databases; database must be 0"),
            )
        config.check()
        for index in range(len(seeds)):
            var checked = RedisConfig()
            set_address(checked, seeds[index], REDIS_PORT)
        self._seeds = seeds^
        self._config = config^
        self._slots = SlotMap()
        self._nodes = []
        self._command = Command()
        self._last = 0
        self._redirection_count = 0

    def _commands(ref self) -> ref[self] Command:
        # SAFETY: the field lives as long as what it is a field of.
        ref command = self._command
        return Pointer(to=command).unsafe_origin_cast[origin_of(self)]()[]

    def _run(mut self) raises RedisError -> Reply[ImmUntrackedOrigin]:
        var deadline = Deadline(self._config.timeout_ms)
        var slot = -1
        if self._command.has_key():
            slot = key_slot(self._command.first_key())
        var attempt = 0
        var is_asking = False
        var place = self._place_of(slot, deadline)
        for _ in range(REDIRECTION_MAX):
            var error: RedisError
            try:
                self._exchange(place, is_asking, deadline)
                var reply = self._nodes[place][].link.connection.first()
                if not reply.is_error():
                    self._last = place
                    return reply
                error = reply.error()
                error.server = self._nodes[place][].name
                error.was_sent = True
            except failure:
                error = failure.copy()
            is_asking = False
            if (
                error.kind == RedisErrorKind.MOVED
                or error.kind == RedisErrorKind.ASK
            ):
                self._redirection_count += 1
                is_asking = error.kind == RedisErrorKind.ASK
                place = self._follow(error, place)
                continue
            attempt += 1
            self._prepare_repetition(error, attempt, deadline)
            place = self._place_of(slot, deadline)
        raise RedisError(
            RedisErrorKind.CLUSTER_DOWN,
            String(
                "the nodes have sent a command on ", REDIRECTION_MAX, " times"
            ),
        )

    def _exchange(
        mut self, place: Int, is_asking: Bool, deadline: Deadline
    ) raises RedisError:
        ref link = self._nodes[place][].link
        link.open()
        if is_asking:
            # It is for the very next command of this connection alone.
            var asking = Command()
            asking.begin["ASKING"](0)
            link.connection.exchange(asking)
        link.connection.exchange(self._command)

    def _follow(
        mut self, error: RedisError, place: Int
    ) raises RedisError -> Int:
        """Goes where a node says that the key is."""
        var there = read_redirection(error.message)
        var host = there.host
        if host.byte_length() == 0:
            host = self._nodes[place][].link.config.host
        var name = node_name(host, there.port)
        if error.kind == RedisErrorKind.MOVED:
            # Many slots have moved, as a rule. The old map still serves if the
            # node that would tell does not answer.
            var target = self._place_of_node(name)
            self._try_to_refresh(target)
            self._slots.set_owner(there.slot, there.slot, name)
        return self._place_of_node(name)

    def _prepare_repetition(
        mut self, error: RedisError, attempt: Int, deadline: Deadline
    ) raises RedisError:
        """Waits, and learns where the slots are, or raises."""
        var is_safe = may_repeat(error, self._command.is_repeatable)
        # What was a master has become a replica.
        is_safe = is_safe or error.kind == RedisErrorKind.READ_ONLY
        if not is_safe:
            raise error.copy()
        var wait_ms = self._config.backoff.wait_ms(attempt, random_word())
        var left_ms = deadline.left_ms()
        if left_ms >= 0 and wait_ms >= left_ms:
            raise error.copy()
        pause(wait_ms)
        self._slots = SlotMap()

    def _place_of(
        mut self, slot: Int, deadline: Deadline
    ) raises RedisError -> Int:
        """Finds the node of a slot; any node if there is no key."""
        if slot < 0 and len(self._nodes) > 0:
            if self._nodes[self._last][].link.connection.is_open():
                return self._last
        var owner = self._slots.owner(max(slot, 0))
        if not owner:
            self._refresh()
            owner = self._slots.owner(max(slot, 0))
        if owner:
            return self._place_of_node(owner.held())
        if slot < 0 and len(self._slots.nodes) > 0:
            var first = self._slots.nodes[0]
            return self._place_of_node(first)
        raise RedisError(
            RedisErrorKind.CLUSTER_DOWN,
            String("no node of the cluster has slot ", slot),
        )

    def _place_of_node(mut self, name: String) raises RedisError -> Int:
        for index in range(len(self._nodes)):
            if self._nodes[index][].name == name:
                return index
        var config = self._config.copy()
        set_address(config, name, REDIS_PORT)
        self._nodes.append(OwnedPointer(_Node(name, RedisLink(config^))))
        return len(self._nodes) - 1

    def _refresh(mut self) raises RedisError:
        """Reads the map of slots from the first node that answers."""
        var cause = RedisError(
            RedisErrorKind.CLUSTER_DOWN, String("no node answers")
        )
        var names = List[String]()
        for index in range(len(self._nodes)):
            if self._nodes[index][].link.connection.is_open():
                names.append(self._nodes[index][].name)
        for index in range(len(self._nodes)):
            if self._nodes[index][].name not in names:
                names.append(self._nodes[index][].name)
        for index in range(len(self._seeds)):
            if self._seeds[index] not in names:
                names.append(self._seeds[index])
        for index in range(len(names)):
            try:
                self._read_map(self._place_of_node(names[index]))
                return
            except error:
                cause = error.copy()
        raise cause^

    def _try_to_refresh(mut self, place: Int):
        try:
            self._read_map(place)
        except:
            # The redirection alone says enough for this command.
            pass

    def _read_map(mut self, place: Int) raises RedisError:
        ref link = self._nodes[place][].link
        link.open()
        var command = Command()
        command.begin_read["CLUSTER"](1)
        command.add("SLOTS")
        link.connection.exchange(command)
        var slots = read_slots(link.connection.first(), link.config.host)
        if len(slots.nodes) == 0:
            raise RedisError(
                RedisErrorKind.CLUSTER_DOWN,
                String(self._nodes[place][].name, " knows of no slots"),
            )
        self._slots = slots^

    def node_count(self) -> Int:
        """Counts the masters that are known.

        Returns:
            How many; 0 before the first command.
        """
        return len(self._slots.nodes)

    def redirection_count(self) -> Int:
        """Counts the times that a node sent a command to another.

        Returns:
            How many.
        """
        return self._redirection_count

    def close(mut self):
        """Closes all connections; a next command makes others."""
        for index in range(len(self._nodes)):
            self._nodes[index][].link.close()
