"""Inputs that a guided run keeps, so that a later run goes on."""

from flare.bytes.checked import *
from fuzz.corpus import keep_input, load_inputs
from std.os import listdir
from tests.support.assertions import assert_equal
from tests.support.temporary_folder import TemporaryFolder


def test_what_is_kept_is_read_again_once() raises:
    with TemporaryFolder() as path:
        var folder = path + "/found/json"
        assert_equal(len(load_inputs(folder)), 0)
        var first: List[UInt8] = [0, 255, 10]
        var second: List[UInt8] = []
        keep_input(folder, first)
        keep_input(folder, second)
        keep_input(folder, first)
        assert_equal(len(listdir(folder)), 2)
        var inputs = load_inputs(folder)
        assert_equal(len(inputs), 2)
        assert_equal(inputs.at(0) == first or inputs.at(1) == first, True)
        assert_equal(len(inputs.at(0)) + len(inputs.at(1)), 3)


def test_inputs_come_in_the_order_of_their_names() raises:
    with TemporaryFolder() as path:
        for number in range(20):
            var octets: List[UInt8] = [UInt8(number)]
            keep_input(path, octets)
        var names = listdir(path)
        sort(names)
        var inputs = load_inputs(path)
        for index in range(20):
            with open(path + "/" + names.at(index), "r") as file:
                assert_equal(file.read_bytes() == inputs.at(index), True)
