"""Secrets that are made up."""

from flare.settings.secret import Secret
from tests.support.assertions import assert_equal, assert_true


def test_a_made_up_secret_is_hexadecimal_and_another_one_each_time() raises:
    for length in [1, 16, 32, 600]:
        var text = Secret.random(length).reveal()
        assert_equal(text.byte_length(), 2 * length)
        for octet in text.as_bytes():
            assert_true(chr(Int(octet)) in "0123456789abcdef", text)
    assert_equal(Secret.random().reveal().byte_length(), 32)
    assert_true(Secret.random().reveal() != Secret.random().reveal())


def test_a_length_of_none_gives_one_octet() raises:
    assert_equal(Secret.random(0).reveal().byte_length(), 2)
    assert_equal(Secret.random(-5).reveal().byte_length(), 2)
