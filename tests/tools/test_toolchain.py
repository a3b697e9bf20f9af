import pytest
import toolchain
from mojo_flare.outcome import CommandError


class Failing:
    def __init__(self) -> None:
        self.count = 0

    def find_or_make(self, recipe, tell):
        self.count += 1
        raise CommandError("it does not compile")


def test_an_object_that_cannot_be_made_is_tried_once(monkeypatch):
    failing = Failing()
    monkeypatch.setattr(toolchain, "objects", lambda: failing)
    toolchain._flare_object.cache_clear()
    try:
        for _ in range(3):
            with pytest.raises(CommandError, match="it does not compile"):
                toolchain.flare_object()
        assert failing.count == 1
    finally:
        toolchain._flare_object.cache_clear()
