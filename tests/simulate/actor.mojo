"""What all simulated clients have in common, and what all upstreams."""

from tests.simulate.kernel import Kernel
from tests.simulate.requests import Asked
from tests.simulate.seat import Seat


trait Actor(Movable):
    """Somebody at the end of a connection, who acts when something has happened to
    it, or the time has come."""

    def seat(self) -> Seat:
        """Tells where it sits, and when it acts next."""
        ...

    def act(mut self, mut kernel: Kernel):
        """Does what it can do now, and says when it does more."""
        ...


trait Asking(Actor):
    """A client."""

    def excuse(mut self):
        """Says that it may be told anything from now on, but nothing wrong."""
        ...

    def is_judged(self) -> Bool:
        """Tells whether it must get all that it asks for."""
        ...

    def is_content(self) -> Bool:
        """Tells whether it has all that it has asked for."""
        ...

    def speaks_ill(self) -> Bool:
        """Tells whether what it asks for may be something else."""
        ...

    def asked(self, id: Int) -> Optional[Asked]:
        """Gives what it asks for by an id."""
        ...

    def request_count(self) -> Int:
        ...

    def answered_count(self) -> Int:
        ...


trait Answering(Actor):
    """A connection of an upstream."""

    def take_begun(mut self) -> List[Int]:
        """Gives the ids of requests whose heads have come, and were not refused,
        since this was asked last."""
        ...
