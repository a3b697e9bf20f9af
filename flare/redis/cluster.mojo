"""A client of a cluster: the node of each key, and what nodes say of others."""

from flare.bytes.checked import *
from flare.redis.commands import RedisCommands
from flare.redis.config import REDIS_PORT, RedisConfig
from flare.redis.core.command import Command
from flare.redis.core.error import RedisError, RedisErrorKind, failed_before
from flare.redis.core.hash_slot import (
    SlotMap,
    key_slot,
    node_name,
    read_redirection,
    read_slots,
)
from flare.redis.core.reply import Reply
from flare.redis.core.retry import may_repeat
from flare.redis.core.routing import (
    GatheredReplies,
    RoutedCommand,
    route_commands,
)
from flare.redis.link import (
    RedisLink,
    client_context,
    set_address,
    share_ms,
)
from flare.redis.pipeline import (
    Pipeline,
    append_transaction,
    nothing_to_send,
    transaction_replies,
)
from flare.redis.script import ScriptCommands
from flare.redis.streams import StreamCommands
from flare.sys.clock import Deadline
from flare.sys.poll import pause
from flare.sys.random import random_word
from flare.tls.context import TlsClientContext
from std.memory import OwnedPointer

comptime REDIRECTION_MAX = 16
"""How often one command is sent on; more means that the nodes disagree."""


struct _Node(Movable):

    var name: String
    var link: RedisLink
    # Its part of a pipeline, and which commands that are.
    var batch: Command
    var members: List[Int]

    def __init__(out self, var name: String, var link: RedisLink):
        self.name = name^
        self.link = link^
        self.batch = Command()
        self.members = []

    def start_batch(
        mut self, connect_deadline: Deadline, time_ms: Int
    ) raises RedisError:
        """Sends its part of a pipeline, whose replies have their own time."""
        var was_open = self.link.connection.is_open()
        self.link.open(connect_deadline)
        try:
            self.link.connection.start(self.batch, time_ms)
        except error:
            # A connection that was idle for too long had ended.
            if error.kind != RedisErrorKind.CONNECTION_LOST or not was_open:
                raise error.copy()
            self.link.open(connect_deadline)
            self.link.connection.start(self.batch, time_ms)


@fieldwise_init
struct _ErrandState(Equatable, TrivialRegisterPassable):
    """What comes next of a command of a pipeline.

    State       | reply | MOVED, ASK | to be repeated | other error
    ------------|-------|------------|----------------|------------
    DUE, ASKING | DONE  | REDIRECTED | DUE            | DONE

    What is REDIRECTED is followed before the next round: to DUE after MOVED,
    to ASKING after ASK.
    """

    var _number: UInt8

    comptime DUE = Self(0)
    """It goes to the node of its slot."""
    comptime ASKING = Self(1)
    """It goes to the node that was named, after ASKING."""
    comptime REDIRECTED = Self(2)
    """A node has named another, as its reply says."""
    comptime DONE = Self(3)
    """It has its reply."""

    @staticmethod
    def behind(error: RedisError, is_repeatable: Bool) -> Self:
        """Gives the state of a command that was sent, after an error."""
        if (
            error.kind == RedisErrorKind.MOVED
            or error.kind == RedisErrorKind.ASK
        ):
            return Self.REDIRECTED
        return Self.DUE if _may_wait(error, is_repeatable) else Self.DONE


def _may_wait(error: RedisError, is_repeatable: Bool) -> Bool:
    """Tells whether a command may be sent again after a wait."""
    # What was a master has become a replica.
    return error.kind == RedisErrorKind.READ_ONLY or (
        may_repeat(error, is_repeatable)
    )


@fieldwise_init
struct _Errand(Movable):
    """A command of a pipeline on its way."""

    var command: RoutedCommand
    # The node that was asked last, or is to be asked.
    var place: Int
    var state: _ErrandState


struct _Errands(Movable):
    """The commands of a pipeline, and their replies so far."""

    var list: List[_Errand]
    var replies: GatheredReplies

    def __init__(out self):
        self.list = []
        self.replies = GatheredReplies()

    def begin(mut self, pipe: Pipeline) raises RedisError:
        """Takes the commands of a pipeline; none is placed yet."""
        if len(pipe) == 0:
            raise nothing_to_send()
        var routed = route_commands(
            pipe.commands.octets.span(), pipe.given_keys
        )
        self.list.clear()
        for index in range(len(routed)):
            self.list.append(
                _Errand(routed[index].copy(), -1, _ErrandState.DUE)
            )
        self.replies.begin(len(routed))

    def take(mut self, index: Int, reply: Reply[_]):
        """Notes the reply of a command, which may be to repeat it."""
        self.replies.put(index, reply)
        if reply.is_error():
            self._take_error(index, reply.error())
        else:
            self.list[index].state = _ErrandState.DONE

    def fail(mut self, index: Int, error: RedisError):
        """Notes that a command has no reply."""
        self.replies.put_failure(index, error)
        self._take_error(index, error)

    def _take_error(mut self, index: Int, error: RedisError):
        ref errand = self.list[index]
        errand.state = _ErrandState.behind(error, errand.command.is_repeatable)

    def count(self, state: _ErrandState) -> Int:
        var count = 0
        for index in range(len(self.list)):
            count += Int(self.list[index].state == state)
        return count


struct _Way(Movable):
    """How far a command has come that one node is to carry out."""

    var slot: Int
    var place: Int
    # Whether the slot is only on its way to that node.
    var is_asking: Bool
    # Attempts that have failed, and those of them after which it has waited.
    var turn_count: Int
    var wait_count: Int
    var deadline: Deadline

    def __init__(out self, slot: Int, place: Int, deadline: Deadline):
        self.slot = slot
        self.place = place
        self.is_asking = False
        self.turn_count = 0
        self.wait_count = 0
        self.deadline = deadline


struct RedisCluster(RedisCommands, ScriptCommands, StreamCommands):
    """A cluster of servers, for one thread: a connection to each node that is
    needed.

        var redis = RedisCluster(["10.0.0.1:6379", "10.0.0.2:6379"])
        redis.set("{user1}.name", "Ada")

    A command goes to the node of its key. All keys of one command must be in
    one slot: give them one hash tag. `execute` takes commands of many slots,
    `transaction` those of one. The map of slots is read again when a node says
    that it has changed, or does not answer.
    """

    var _config: RedisConfig
    # What the connections to all nodes trust; with TLS alone.
    var _context: Optional[TlsClientContext]
    var _seeds: List[String]
    var _slots: SlotMap
    var _nodes: List[OwnedPointer[_Node]]
    # True if the map was read since nodes were looked at that it may not name.
    var _has_new_map: Bool
    var _command: Command
    # The node that answered last: it lends the reply.
    var _last: Int
    var _redirection_count: Int
    var _errands: _Errands

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
            set_address(checked, seeds.at(index), REDIS_PORT)
        self._seeds = seeds^
        self._context = client_context(config)
        self._config = config^
        self._slots = SlotMap()
        self._nodes = []
        self._has_new_map = False
        self._command = Command()
        self._last = 0
        self._redirection_count = 0
        self._errands = _Errands()

    @no_inline
    def __deinit__(deinit self):
        return

    def _commands(ref self) -> ref[self] Command:
        # SAFETY: the field lives as long as what it is a field of.
        ref command = self._command
        return Pointer(to=command).unsafe_origin_cast[origin_of(self)]()[]

    def _run(mut self) raises RedisError -> Reply[ImmUntrackedOrigin]:
        var slot = -1
        if self._command.has_key():
            slot = key_slot(self._command.first_key())
        var way = self._way_to(slot)
        while True:
            try:
                return self._ask(way)
            except error:
                self._go_on(way, error)

    def _ask(
        mut self, way: _Way
    ) raises RedisError -> Reply[ImmUntrackedOrigin]:
        """Has a node carry the command out."""
        ref link = self._nodes.at(way.place)[].link
        # The first attempt has what the socket itself gives up after.
        var time_ms = self._config.timeout_ms
        if way.turn_count > 0:
            time_ms = way.deadline.left_ms()
        if not link.connection.is_open():
            link.open(way.deadline)
        if way.is_asking:
            # It is for the very next command of this connection alone.
            var asking = Command()
            asking.begin["ASKING"](0)
            link.connection.exchange(asking, time_ms)
        link.connection.exchange(self._command, time_ms)
        var reply = link.connection.first()
        if reply.is_error():
            raise link.refusal(reply.error())
        self._last = way.place
        return reply

    def _way_to(mut self, slot: Int) raises RedisError -> _Way:
        """Begins with the node of a slot; with any node if there is no key."""
        self._forget_nodes()
        var deadline = Deadline(self._config.timeout_ms)
        return _Way(slot, self._place_of(slot, deadline), deadline)

    def _go_on(mut self, mut way: _Way, error: RedisError) raises RedisError:
        """Finds the node that is asked after a failure, and waits before; raises
        what may not be repeated."""
        way.turn_count += 1
        if way.turn_count == REDIRECTION_MAX:
            raise _never_done(error)
        way.is_asking = error.kind == RedisErrorKind.ASK
        if way.is_asking or error.kind == RedisErrorKind.MOVED:
            self._redirection_count += 1
            way.place = self._follow(error, way.place, True, way.deadline)
            return
        if not _may_wait(error, self._command.is_repeatable):
            raise error.copy()
        way.wait_count += 1
        if not self._wait(way.wait_count, way.deadline):
            raise error.copy()
        way.place = self._place_of(way.slot, way.deadline)

    def _follow(
        mut self,
        error: RedisError,
        place: Int,
        reads_map: Bool,
        deadline: Deadline,
    ) raises RedisError -> Int:
        """Goes where a node says that the key is."""
        var there = read_redirection(error.message)
        var host = there.host
        if host.byte_length() == 0:
            host = self._nodes.at(place)[].link.config.host
        var name = node_name(host, there.port)
        if error.kind == RedisErrorKind.MOVED:
            # Many slots have moved, as a rule. The old map still serves if the
            # node that would tell does not answer.
            if reads_map:
                self._try_to_refresh(self._place_of_node(name), deadline)
            self._slots.set_owner(there.slot, there.slot, name)
        return self._place_of_node(name)

    def execute(
        mut self, pipe: Pipeline
    ) raises RedisError -> Reply[ImmOrigin(origin_of(self))]:
        """Sends each command of a pipeline to the node of its key, to all
        nodes at once.

        Commands to one key are carried out in their order, unless its slot
        moves or its node fails meanwhile; then those that a node refused for
        that, and those alone, are repeated after the others.

        Args:
            pipe: The commands; each has a key, or publishes.

        Returns:
            Their replies in order, lent until the next command. Some may be
            errors, also of a connection that failed: `is_error` tells, and
            reading one raises it.

        Raises:
            RedisError: If a command has no key (`BAD_ARGUMENT`), or no node
                says where the slots are; nothing was sent then.
        """
        self._errands.begin(pipe)
        self._forget_nodes()
        var deadline = Deadline(self._config.timeout_ms)
        self._place_errands(pipe.commands, deadline)
        var attempt = 0
        # Each node has the whole time for its part at first; what is repeated
        # has what is left.
        var time_ms = self._config.timeout_ms
        for _ in range(REDIRECTION_MAX):
            self._run_batches(deadline, time_ms)
            var done_count = self._errands.count(_ErrandState.DONE)
            if done_count == len(self._errands.list):
                break
            if self._errands.count(_ErrandState.DUE) > 0:
                attempt += 1
                if not self._wait(attempt, deadline):
                    break
            try:
                self._follow_redirections(deadline)
                self._place_errands(pipe.commands, deadline)
            except:
                # Each command that is left has its last error as its reply.
                break
            time_ms = deadline.left_ms()
            if time_ms == 0:
                break
        self._errands.replies.arrange()
        return self._errands.replies.lend().unsafe_lent_by[
            ImmOrigin(origin_of(self))
        ]()

    def _place_errands(
        mut self, commands: Command, deadline: Deadline
    ) raises RedisError:
        """Sorts the commands that are left by node."""
        for index in range(len(self._nodes)):
            self._nodes[index][].batch.clear()
            self._nodes[index][].members.clear()
        for index in range(len(self._errands.list)):
            var state = self._errands.list[index].state
            if state == _ErrandState.DONE:
                continue
            if state == _ErrandState.DUE:
                var slot = self._errands.list[index].command.slot
                self._errands.list[index].place = self._place_of(slot, deadline)
            ref errand = self._errands.list[index]
            ref node = self._nodes[errand.place][]
            if state == _ErrandState.ASKING:
                node.batch.begin["ASKING"](0)
            node.batch.octets.append(
                commands.octets.span().between(
                    errand.command.start, errand.command.end
                )
            )
            node.batch.count += 1
            node.members.append(index)

    def _run_batches(mut self, deadline: Deadline, time_ms: Int):
        """Sends to all nodes, then receives from all."""
        var waiting = List[Int]()
        # Those that need no connection first: one that cannot be made keeps
        # nobody else waiting.
        for is_open in [True, False]:
            for place in range(len(self._nodes)):
                ref node = self._nodes[place][]
                if len(node.members) > 0 and (
                    node.link.connection.is_open() == is_open
                ):
                    waiting.append(place)
        var started = List[Int]()
        for index in range(len(waiting)):
            var place = waiting.at(index)
            ref node = self._nodes[place][]
            var share = Deadline(share_ms(deadline, len(waiting) - index))
            try:
                node.start_batch(share, time_ms)
                started.append(place)
            except error:
                for member in node.members:
                    self._errands.fail(member, error)
        for place in started:
            ref node = self._nodes[place][]
            try:
                node.link.connection.finish(time_ms)
            except error:
                for index in node.members:
                    self._errands.fail(index, error)
                continue
            var replies = node.link.connection.all().__iter__()
            for index in node.members:
                if self._errands.list[index].state == _ErrandState.ASKING:
                    _ = replies.next()
                self._errands.take(index, replies.next())

    def _follow_redirections(mut self, deadline: Deadline) raises RedisError:
        """Goes where nodes say that keys are; the map is read again once."""
        var has_read = False
        for index in range(len(self._errands.list)):
            if self._errands.list[index].state != _ErrandState.REDIRECTED:
                continue
            self._redirection_count += 1
            var error = self._errands.replies.error(index)
            var from_place = self._errands.list[index].place
            var is_moved = error.kind == RedisErrorKind.MOVED
            var place = self._follow(error, from_place, not has_read, deadline)
            has_read = has_read or is_moved
            self._errands.list[index].place = place
            self._errands.list[
                index
            ].state = _ErrandState.DUE if is_moved else _ErrandState.ASKING

    def _wait(mut self, attempt: Int, deadline: Deadline) -> Bool:
        """Waits before something is repeated, and forgets where the slots are;
        False if the time would be over."""
        var wait_ms = self._config.backoff.wait_ms(attempt, random_word())
        var left_ms = deadline.left_ms()
        if left_ms >= 0 and wait_ms >= left_ms:
            return False
        pause(wait_ms)
        self._slots = SlotMap()
        return True

    def transaction(
        mut self, pipe: Pipeline
    ) raises RedisError -> Optional[Reply[ImmOrigin(origin_of(self))]]:
        """Has all commands of a pipeline carried out with no other in between
        (MULTI, EXEC), by the node that has all their keys.

        Args:
            pipe: The commands; all their keys are in one slot.

        Returns:
            Their replies in order, lent until the next command.

        Raises:
            RedisError: If the keys are in several slots (`CROSS_SLOT`), the
                server refuses one of the commands, and so carries out none, or
                the connection fails; or for a user who may not say MULTI, as
                `RedisClient.transaction` has it.
        """
        self._errands.begin(pipe)
        var slot = self._errands.list[0].command.slot
        for index in range(len(self._errands.list)):
            if self._errands.list[index].command.slot != slot:
                raise _keys_apart(index + 1)
        var way = self._way_to(slot)
        while True:
            try:
                var reply = self._transact(way, pipe)
                if reply.is_null():
                    return None
                return reply.unsafe_lent_by[ImmOrigin(origin_of(self))]()
            except error:
                self._go_on(way, error)

    def _transact(
        mut self, way: _Way, pipe: Pipeline
    ) raises RedisError -> Reply[ImmUntrackedOrigin]:
        """Has a node carry a transaction out."""
        ref room = self._next()
        if way.is_asking:
            # It holds for all up to EXEC.
            room.begin["ASKING"](0)
        append_transaction(room, pipe)
        ref link = self._nodes[way.place][].link
        link.open(way.deadline)
        link.connection.exchange(self._command, way.deadline.left_ms())
        try:
            var replies = transaction_replies(link.connection.all())
            self._last = way.place
            return replies
        except error:
            raise link.refusal(error)

    def _place_of(
        mut self, slot: Int, deadline: Deadline
    ) raises RedisError -> Int:
        """Finds the node of a slot; any node if there is no key. Waits while no
        node tells where the slots are, as if the command itself had failed so.
        """
        var attempt = 0
        while True:
            try:
                return self._find_place(slot, deadline)
            except error:
                attempt += 1
                if attempt == REDIRECTION_MAX or not may_repeat(error, False):
                    raise error.copy()
                if not self._wait(attempt, deadline):
                    raise error.copy()

    def _find_place(
        mut self, slot: Int, deadline: Deadline
    ) raises RedisError -> Int:
        if slot < 0:
            var place = self._any_open_place()
            if place >= 0:
                return place
        var owner = self._slots.owner(max(slot, 0))
        if not owner:
            self._refresh(deadline)
            if slot < 0:
                var place = self._any_open_place()
                if place >= 0:
                    return place
            owner = self._slots.owner(max(slot, 0))
        if owner:
            return self._place_of_node(owner.held())
        if slot < 0 and len(self._slots.nodes) > 0:
            var first = self._slots.nodes.at(0)
            return self._place_of_node(first)
        raise RedisError(
            RedisErrorKind.CLUSTER_DOWN,
            String("no node of the cluster has slot ", slot),
        )

    def _any_open_place(self) -> Int:
        """Finds a node for a command without a key: the last one that answered,
        or another master, that is connected; -1 if there is none."""
        for offset in range(len(self._nodes)):
            var place = (self._last + offset) % len(self._nodes)
            ref node = self._nodes.at(place)[]
            if node.link.connection.is_open() and (
                node.name in self._slots.nodes
            ):
                return place
        return -1

    def _place_of_node(mut self, name: String) raises RedisError -> Int:
        for index in range(len(self._nodes)):
            if self._nodes.at(index)[].name == name:
                return index
        var config = self._config.copy()
        set_address(config, name, REDIS_PORT)
        self._nodes.append(
            OwnedPointer(_Node(name, RedisLink(config^, self._context)))
        )
        return len(self._nodes) - 1

    def _refresh(mut self, deadline: Deadline) raises RedisError:
        """Reads the map of slots from the first node that answers."""
        var names = List[String]()
        for index in range(len(self._nodes)):
            if self._nodes.at(index)[].link.connection.is_open():
                names.append(self._nodes.at(index)[].name)
        for index in range(len(self._nodes)):
            if self._nodes.at(index)[].name not in names:
                names.append(self._nodes.at(index)[].name)
        for index in range(len(self._seeds)):
            if self._seeds.at(index) not in names:
                names.append(self._seeds.at(index))
        # After each other, not over each other: what is assigned anew in each
        # round of a loop and read after it alone is not freed by Mojo 1.2.
        var causes = List[RedisError](capacity=len(names))
        for index in range(len(names)):
            try:
                self._read_map(
                    self._place_of_node(names.at(index)),
                    Deadline(share_ms(deadline, len(names) - index)),
                )
                return
            except error:
                causes.append(failed_before(error))
        # There is a seed at least.
        raise causes.pop()

    def _try_to_refresh(mut self, place: Int, deadline: Deadline):
        try:
            self._read_map(place, deadline)
        except:
            # The redirection alone says enough for this command.
            pass

    def _read_map(mut self, place: Int, deadline: Deadline) raises RedisError:
        ref link = self._nodes.at(place)[].link
        link.open(deadline)
        var command = Command()
        command.begin_read["CLUSTER"](1)
        command.add("SLOTS")
        link.connection.exchange(command, deadline.left_ms())
        var slots = read_slots(link.connection.first(), link.config.host)
        if len(slots.nodes) == 0:
            raise RedisError(
                RedisErrorKind.CLUSTER_DOWN,
                String(self._nodes.at(place)[].name, " knows of no slots"),
            )
        self._slots = slots^
        self._has_new_map = True

    def _forget_nodes(mut self):
        """Closes the connections to nodes that a new map does not name: they
        have left, or have no slots. No place of a node is held meanwhile."""
        if not self._has_new_map or len(self._slots.nodes) == 0:
            return
        self._has_new_map = False
        self._last = 0
        for index in range(len(self._nodes) - 1, -1, -1):
            if self._nodes.at(index)[].name not in self._slots.nodes:
                _ = self._nodes.pop(index)

    def node_count(self) -> Int:
        """Counts the masters that are known; 0 before the first command."""
        return len(self._slots.nodes)

    def redirection_count(self) -> Int:
        """Counts the times that a node sent a command to another."""
        return self._redirection_count

    def close(mut self):
        """Closes all connections; a next command makes others."""
        for index in range(len(self._nodes)):
            self._nodes.at(index)[].link.close()


@no_inline
def _never_done(error: RedisError) -> RedisError:
    """Says why a command is given up, by what became of its last attempt."""
    if error.kind != RedisErrorKind.MOVED and error.kind != RedisErrorKind.ASK:
        return error.copy()
    return RedisError(
        RedisErrorKind.CLUSTER_DOWN,
        String(
            "the nodes have sent a command on ",
            REDIRECTION_MAX,
            " times, last with: ",
            error.message,
        ),
    )


@no_inline
def _keys_apart(place: Int) -> RedisError:
    return RedisError(
        RedisErrorKind.CROSS_SLOT,
        String(
            "command ",
            place,
            (
                " of the transaction has its key in another slot than the"
                " first, and only one node can carry out a transaction"
            ),
        ),
    )
