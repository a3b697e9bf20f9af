"""Orders of a test: a JSON object a line on standard input, and one a line on
standard output in answer to each."""

from flare.json import JsonValue, JsonWriter, parse


def next_line() -> Optional[String]:
    """Waits for a line; nothing when the input has ended."""
    try:
        return input()
    except:
        return None


def text_of(order: JsonValue, name: String) raises -> String:
    """Reads a member; empty if there is none."""
    return order[name].string_value() if order.contains(name) else ""


def number_of(order: JsonValue, name: String, default: Int) raises -> Int:
    return order[name].int_value() if order.contains(name) else default


def put[T: AnyType](mut out: JsonWriter, name: StaticString, value: T) raises:
    """Writes a member: a number, a truth, or what becomes a text."""
    out.key(name)
    comptime if T == Int:
        out.value(rebind[Int](value))
    elif T == Bool:
        out.value(rebind[Bool](value))
    elif conforms_to(T, Writable):
        out.value(String(value))


trait Obedient(Deinitable, Movable):
    """A program that is told what to do."""

    def obey(mut self, order: JsonValue, mut answer: JsonWriter) raises:
        """Does what an order says, and writes members of the answer."""
        ...


def obey_all[P: Obedient](mut program: P) raises:
    """Has a program obey until the input ends. The answer to an order that
    fails is its error."""
    while True:
        var line = next_line()
        if not line:
            return
        var answer: String
        try:
            answer = _answer(program, line.value())
        except error:
            var failure = JsonWriter()
            failure.begin_object()
            failure.key("error")
            failure.value(String(error))
            failure.end_object()
            answer = failure^.finish()
        print(answer, flush=True)


def _answer[P: Obedient](mut program: P, line: String) raises -> String:
    var answer = JsonWriter()
    answer.begin_object()
    program.obey(parse(line), answer)
    answer.end_object()
    return answer^.finish()
