"""The fuzz engine: feeds mutated inputs to a target, in this process.

A target is a struct with the `Target` trait and a `main` that calls
`fuzz_main`. No coverage is measured, unless somebody else does who counts new
branches in a file: see `Guide`. Speed and good seeds make up for it.
"""

from flare.bytes.erased import Erased, destroy, erase
from fuzz.corpus import keep_input, load_inputs
from fuzz.guide import Guide
from fuzz.input_file import InputFile, read_input
from fuzz.mutator import Mutator, Rng
from std.ffi import external_call
from std.os import makedirs
from std.sys import argv
from std.time import perf_counter_ns

comptime HANG_SECONDS = 30
"""A single input that takes longer than this ends the process with SIGALRM."""

comptime RECENT_COUNT_MAX = 64
"""Mutants kept in the corpus, so that mutations can add up."""

comptime RECENT_ONE_IN = 128
"""One mutant in so many is kept."""

comptime FOUND_COUNT_MAX = 10_000
"""Most inputs that are kept because they have reached something new."""


trait Target(Deinitable, Movable):
    """What is fuzzed."""

    def run(mut self, input: Span[UInt8, _]) raises:
        """Feeds one input and checks the properties.

        Args:
            input: The bytes; they end right before a forbidden page.

        Raises:
            Error: If a property is violated. An input that the code under test
                merely refuses is no violation: catch that.
        """
        ...

    def seeds(self) -> List[String]:
        """Lists inputs to start from.

        Returns:
            Any octets (`octets_from_hex` for those that are no text).
        """
        ...

    def tokens(self) -> List[String]:
        """Lists texts worth placing into an input.

        Returns:
            Keywords, delimiters, numbers at limits.
        """
        return []


@fieldwise_init
struct Options(Movable):
    """The command line of a target."""

    var seed: Int
    """Fixes the sequence of inputs."""
    var seconds: Int
    """When to stop, in seconds."""
    var runs: Int
    """When to stop, in inputs; 0 for no bound."""
    var corpus: String
    """Folder with further seeds; need not exist."""
    var replay: String
    """File with the only input to run; empty for none."""
    var hits: String
    """File that counts the branches reached; empty for none."""
    var found: String
    """Folder of inputs that have reached something new, in this run and those
    before; empty for none."""


def octets_from_hex(hex: StaticString) -> String:
    """Makes a seed of octets that are no text.

    Args:
        hex: Pairs of hex digits; anything else is skipped.

    Returns:
        The octets, which need not be UTF-8.
    """
    var octets = List[UInt8]()
    var high = -1
    for digit in hex.as_bytes():
        var value = Int(digit) - 48 if digit < 58 else Int(digit | 32) - 87
        if value < 0 or value > 15:
            continue
        if high < 0:
            high = value
        else:
            octets.append(UInt8(high << 4 | value))
            high = -1
    return String(unsafe_from_utf8=octets)


def cut_points(input: Span[UInt8, _], count_max: Int = 8) -> List[Int]:
    """Chooses where to cut an input, for tests of split invariance.

    The choice hangs on the input alone, so a replay cuts where the run did.

    Args:
        input: What will be fed in pieces.
        count_max: Most cuts.

    Returns:
        Ascending offsets, ending with `len(input)`; feed `input[a:b]` for each
        two neighbours, from 0 on. Pieces may be empty.
    """
    var digest = UInt64(14695981039346656037)
    for octet in input:
        digest = (digest ^ UInt64(octet)) * 1099511628211
    var rng = Rng(digest)
    var cuts = List[Int]()
    if rng.below(8) == 0:
        for offset in range(1, len(input)):
            cuts.append(offset)
    else:
        for _ in range(rng.below(count_max + 1)):
            cuts.append(rng.below(len(input) + 1))
        sort(cuts)
    cuts.append(len(input))
    return cuts^


def length_of(octet: UInt8) -> Int:
    """Makes a length of an octet: each of those below 32, and then by steps that
    double sixteen by sixteen, up to 63,488.

    Most are short, so that a script of many takes little time; who takes squares has
    21,000 octets on average.

    Args:
        octet: Any.

    Returns:
        The length.
    """
    var exponent = Int(octet >> 4)
    var mantissa = Int(octet & 15)
    if exponent == 0:
        return mantissa
    return (16 + mantissa) << ((exponent - 1) * 11 // 14)


def digest_of(octets: Span[UInt8, _]) -> UInt64:
    """Makes a number of octets (FNV-1a), for what an input seldom wants: so it is
    the same in a replay.

    Args:
        octets: Any.

    Returns:
        The number.
    """
    var digest = UInt64(0xCBF29CE484222325)
    for octet in octets:
        digest = (digest ^ UInt64(octet)) * 0x100000001B3
    return digest >> 17


def behind(error: Error, inputs: List[List[UInt8]]) -> String:
    """Says of a failure behind which inputs it was, for a target that keeps
    something from one to the next.

    Args:
        error: What went wrong.
        inputs: What was run before, if it may matter.

    Returns:
        The error, and the inputs.
    """
    var text = String(error)
    if len(inputs) > 0:
        text.write("; before it, on the same connection:")
    for input in inputs:
        text.write('\n    "', escape(Span(input)), '"')
    return text^


def escape(octets: Span[UInt8, _]) -> String:
    """Writes octets as the text of a string literal.

    Args:
        octets: Any.

    Returns:
        Printable ASCII.
    """
    comptime DIGITS = StaticString("0123456789abcdef")
    var text = String()
    for octet in octets:
        if octet == 10:
            text += "\\n"
        elif octet == 13:
            text += "\\r"
        elif octet == 34 or octet == 92:
            text += "\\"
            text += chr(Int(octet))
        elif octet >= 32 and octet < 127:
            text += chr(Int(octet))
        else:
            var high = Int(octet >> 4)
            var low = Int(octet & 15)
            text.write("\\x", DIGITS[byte = high : high + 1])
            text.write(DIGITS[byte = low : low + 1])
    return text^


def _options(name: StaticString) raises -> Options:
    var options = Options(1, 5, 0, String("fuzz/corpus/", name), "", "", "")
    var words = argv()
    var index = 1
    while index < len(words):
        var word = String(words[index])
        if index + 1 >= len(words):
            raise Error("option ", word, " needs a value")
        var value = String(words[index + 1])
        if word == "--seed":
            options.seed = Int(value)
        elif word == "--seconds":
            options.seconds = Int(value)
        elif word == "--runs":
            options.runs = Int(value)
        elif word == "--corpus":
            options.corpus = value
        elif word == "--replay":
            options.replay = value
        elif word == "--hits":
            options.hits = value
        elif word == "--found":
            options.found = value
        else:
            raise Error(
                "unknown option ",
                word,
                "; known: --seed N --seconds N --runs N --corpus DIR"
                " --replay FILE --hits FILE --found DIR",
            )
        index += 2
    return options^


comptime _RunTarget = def[o: ImmOrigin](
    Erased, Span[UInt8, o]
) raises thin -> None


def _run_target[
    T: Target, o: ImmOrigin
](target: Erased, input: Span[UInt8, o]) raises:
    # SAFETY: `fuzz_main` ends the target when nothing runs it any more.
    target.unsafe_bitcast[T]()[].run(input)


@fieldwise_init
struct _Subject(Movable):
    """A target without its type, so that the engine is compiled once for all."""

    var name: StaticString
    var target: Erased
    var run: _RunTarget
    var seeds: List[String]
    var tokens: List[String]


def _load_corpus(
    subject: _Subject, options: Options
) raises -> List[List[UInt8]]:
    var corpus = List[List[UInt8]]()
    for seed in subject.seeds:
        corpus.append(List[UInt8](seed.as_bytes()))
    corpus.extend(load_inputs(options.corpus))
    corpus.extend(load_inputs(options.found))
    return corpus^


def _run_one(subject: _Subject, file: InputFile) raises:
    """Runs the stored input; keeps and prints it if a property fails."""
    try:
        subject.run(subject.target, file.span())
    except error:
        var name = subject.name
        var path = String("build/fuzz/", name, ".crash")
        with open(path, "w") as crash:
            crash.write_bytes(file.span())
        print("fuzz", name, "FAILED:", error)
        print('  input: "', escape(file.span()), '"', sep="")
        print("  kept in", path, "(run it again with --replay)")
        raise Error("fuzz ", name, ": a property was violated")


def _arm_alarm():
    _ = external_call["alarm", UInt32](UInt32(HANG_SECONDS))


def _fuzz(subject: _Subject, mut file: InputFile, options: Options) raises:
    var corpus = _load_corpus(subject, options)
    var guide = Guide(options.hits)
    var start = perf_counter_ns()
    var alarm_at = start
    _arm_alarm()
    var run_count = 0
    for index in range(len(corpus)):
        file.store(Span(corpus[index]))
        _run_one(subject, file)
        run_count += 1
    var seed_count = len(corpus)
    var mutator = Mutator(UInt64(options.seed), corpus^, subject.tokens.copy())
    var octets = List[UInt8]()
    _ = guide.has_news()
    var end = start + options.seconds * 1_000_000_000
    while options.runs == 0 or run_count < options.runs:
        var now = perf_counter_ns()
        if now >= end:
            break
        if now - alarm_at > 1_000_000_000:
            alarm_at = now
            _arm_alarm()
        mutator.next_input(octets)
        file.store(Span(octets))
        _run_one(subject, file)
        run_count += 1
        if guide.is_there():
            if guide.has_news() and len(mutator.corpus) < FOUND_COUNT_MAX:
                mutator.corpus.append(octets.copy())
                if options.found != "":
                    keep_input(options.found, Span(octets))
        elif mutator.rng.below(RECENT_ONE_IN) == 0:
            _keep(mutator, seed_count, octets)
    var elapsed_ns = perf_counter_ns() - start
    var rate = run_count * 1_000_000_000 // max(elapsed_ns, 1)
    print("fuzz ", subject.name, ": seed ", options.seed, sep="", end=", ")
    print(run_count, "runs,", rate, "runs/s, no failure", end="")
    if guide.is_there():
        var found_count = len(mutator.corpus) - seed_count
        print(",", guide.count, "branches,", found_count, "inputs kept", end="")
    print()


def _keep(mut mutator: Mutator, seed_count: Int, octets: List[UInt8]):
    if len(mutator.corpus) < seed_count + RECENT_COUNT_MAX:
        mutator.corpus.append(octets.copy())
    else:
        var index = seed_count + mutator.rng.below(RECENT_COUNT_MAX)
        mutator.corpus[index] = octets.copy()


def fuzz_main[T: Target](name: StaticString, var target: T) raises:
    """Runs a target as the command line says; the body of its `main`.

    Args:
        name: The target's name: that of its file without `fuzz_`.
        target: What to feed.

    Raises:
        Error: If a property was violated; the input is then in
            `build/fuzz/NAME.crash`. After an abort it is in
            `build/fuzz/NAME.last`.
    """
    var seeds = target.seeds()
    var tokens = target.tokens()
    var erased = erase(target^)
    _run(_Subject(name, erased, _run_target[T, ...], seeds^, tokens^))
    destroy[T](erased)


def _run(subject: _Subject) raises:
    var name = subject.name
    var options = _options(name)
    makedirs("build/fuzz", exist_ok=True)
    var file = InputFile(String("build/fuzz/", name, ".last"))
    if options.replay != "":
        file.store(Span(read_input(options.replay)))
        _run_one(subject, file)
        print("fuzz ", name, ": replay passed", sep="")
        return
    _fuzz(subject, file, options)
