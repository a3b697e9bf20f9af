"""Runs a server in a world that is made from a seed, for many seeds.

    simulate FIRST COUNT
    simulate SEED trace [MEMBERS ASKED]
    simulate SEED shrink

The same seed is the same world, octet by octet. Of each seed that fails the number
is printed, and what went wrong. `trace` prints what the server is told, by all clients
or by some; `shrink` looks for the fewest of them, with the fewest requests each, with
whom something still goes wrong.
"""

from std.sys import argv, exit
from tests.simulate.current import (
    begin_simulation,
    end_simulation,
    resume_simulation,
)
from tests.simulate.served import serve
from tests.simulate.world import Cast, World


def _run(mut world: World) raises -> Bool:
    """Lets a world go by, and tells whether all went well."""
    resume_simulation(world)
    serve(world)
    end_simulation()
    world.judge()
    return world.problem.byte_length() == 0


def _shrink(mut world: World, seed: UInt64) raises:
    """Prints the smallest cast of a seed's clients with whom it fails."""
    var smallest = Optional[Cast](None)
    var problem = String()
    for members in range(1, Cast.ALL.members + 1):
        for asked_max in range(1, Cast.ALL.asked_max + 1):
            var cast = Cast(members, asked_max)
            if smallest and cast.size() >= smallest.value().size():
                continue
            world = World(seed, cast)
            if not _run(world):
                smallest = cast
                problem = world.problem.copy()
    if not smallest:
        print("seed", seed, "does not fail")
        return
    ref cast = smallest.value()
    print("seed", seed, "fails:", problem)
    print("simulate", seed, "trace", cast.members, cast.asked_max)


def main() raises:
    var arguments = argv()
    if len(arguments) != 3 and len(arguments) != 5:
        print("simulate FIRST COUNT | SEED trace [MEMBERS ASKED] | SEED shrink")
        exit(2)
    var first = Int(arguments[1])
    var world = World(0)
    begin_simulation(world)
    end_simulation()
    if arguments[2] == "shrink":
        _shrink(world, UInt64(first))
        return
    var traces = arguments[2] == "trace"
    var cast = Cast.ALL
    if len(arguments) == 5:
        cast = Cast(Int(arguments[3]), Int(arguments[4]))
    var count = 1 if traces else Int(arguments[2])
    var failed_count = 0
    var request_count = 0
    var answer_count = 0
    for seed in range(first, first + count):
        world = World(UInt64(seed), cast)
        world.traces = traces
        var is_well = _run(world)
        request_count += world.request_count()
        answer_count += world.answered_count()
        if not is_well:
            failed_count += 1
            print("seed", seed, "failed:", world.problem)
    print(
        count,
        "seeds,",
        request_count,
        "requests,",
        answer_count,
        "answers,",
        failed_count,
        "failed",
    )
    exit(1 if failed_count > 0 else 0)
