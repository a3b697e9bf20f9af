"""The version is told by the front and by its module alike."""


from flare import version
from flare.version import VERSION
from tests.support.assertions import assert_equal


def test_the_front_tells_the_version() raises:
    assert_equal(version(), VERSION)
    var numbers = String(version()).split(".")
    assert_equal(len(numbers), 3)
    for number in numbers:
        assert_equal(String(Int(number)), String(number))
