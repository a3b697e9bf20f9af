"""Runs a server in a world that is made from a seed, for many seeds.

    simulate FIRST COUNT [trace]

The same seed is the same world, octet by octet. Of each seed that fails the number
is printed, and what went wrong; `simulate N 1` repeats it.
"""

from std.sys import argv, exit
from tests.simulate.current import (
    begin_simulation,
    end_simulation,
    resume_simulation,
)
from tests.simulate.served import serve
from tests.simulate.world import World


def main() raises:
    var arguments = argv()
    if len(arguments) < 3 or len(arguments) > 4:
        print("simulate FIRST COUNT [trace]")
        exit(2)
    var first = Int(arguments[1])
    var failed_count = 0
    var request_count = 0
    var answer_count = 0
    var world = World(0)
    begin_simulation(world)
    end_simulation()
    for seed in range(first, first + Int(arguments[2])):
        world = World(UInt64(seed))
        world.traces = len(arguments) == 4
        resume_simulation(world)
        serve(world)
        end_simulation()
        world.judge()
        request_count += world.request_count()
        answer_count += world.answered_count()
        if world.problem.byte_length() > 0:
            failed_count += 1
            print("seed", seed, "failed:", world.problem)
    print(
        arguments[2],
        "seeds,",
        request_count,
        "requests,",
        answer_count,
        "answers,",
        failed_count,
        "failed",
    )
    exit(1 if failed_count > 0 else 0)
