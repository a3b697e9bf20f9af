"""`flare proto`: what it makes of `.proto` files, and what it says of bad ones."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import gen_grpc_files
import pytest
from commands import ROOT, flare
from mojo_flare.outcome import CommandError
from mojo_flare.proto import command, layout, names
from mojo_flare.proto.graph import recursive_groups
from toolchain import BUILD, build

HERE = ROOT / "tests" / "protobuf"

needs_protoc = pytest.mark.skipif(
    importlib.util.find_spec("grpc_tools") is None, reason="grpcio-tools is not installed"
)

WORDS = """
syntax = "proto3";
package words;
import "deep/down/other.proto";
import "google/protobuf/struct.proto";

// A quote at the end: "
message Message {
  int32 self = 1;
  string def = 2;  // Says \\ and """ + '"""' + """.
  bytes copy = 3;
  List list = 4;
  map<string, Message> unknown_fields = 5;
  deep.Other other = 6;
  google.protobuf.Value value = 7;
  oneof which { int32 which_which = 8; Message next = 9; }
  enum NAME { NONE = 0; True = 1; NUMBER = 2; }
  NAME name = 11;
  string by_name = 12;
}
message List { repeated Message items = 1; }
message List_NAME { message NAME { int32 number = 1; } NAME name = 1; }
message List_NAME_NAME { List_NAME.NAME inner = 1; }
message Nothing {}
message Other { deep.Other other = 1; }
"""
OTHER = """
syntax = "proto2";
package deep;
import "words2.proto";
message Other {
  required string name = 1;
  optional int64 count = 2 [default = -5];
  optional Kind kind = 3 [default = B];
  optional string text = 4 [default = "a\\"b"];
  optional string controls = 10 [default = "\\0f\\033\\r\\n\\v\\177\\xc2\\x85\\\\x01"];
  optional double huge = 5 [default = inf];
  repeated int32 packed = 6 [packed = true];
  repeated int32 expanded = 7;
  optional group Old = 8 { optional int32 x = 1; }
  optional words.Second second = 9;
  optional bool copy = 11;
  optional bool copy_ = 12;
  extensions 100 to 200;
}
enum Kind { option allow_alias = true; A = 0; B = 1; C = 1; }
"""
SECOND = """
syntax = "proto3";
package words;
message Second { string s = 1; }
"""
PROGRAM = """
from flare.protobuf import decode, decode_json, encode, encode_json
from made.deep.down.other_pb import Kind, Other
from made.words2_pb import Second
from made.words_pb import List_, List_NAME, List_NAME_NAME, List_NAME_NAME_
from made.words_pb import Message_, Message_NAME, Nothing
from made.words_pb import Other as WordsOther


def main() raises:
    var message = Message_(self_=1, def_="d", by_name_="b", next=Message_(name=Message_NAME(2)))
    message.list = List_()
    message.list.value().items.append(Message_(self_=2))
    var other = Other(name=String("n"), second=Second(s="s"), copy__=True)
    var inner = List_NAME_NAME_(number_=7)
    var outer = List_NAME(name=inner.copy())
    print(encode_json(outer), encode_json(List_NAME_NAME(inner=inner^)))
    other.expanded = [1, 2]
    other.packed = [3]
    message.other = other^
    var octets = encode(message)
    var again = decode[Message_](octets)
    print(encode(again) == octets, again.which_which_(), Other.DEFAULT_COUNT)
    for octet in Other.DEFAULT_CONTROLS.as_bytes():
        print(octet, end=" ")
    print()
    print(encode_json(again))
    print(encode_json(decode_json[Message_](encode_json(again))) == encode_json(again))
    print(len(encode(Nothing())), len(encode(WordsOther())))
    try:
        _ = encode(Other())
    except error:
        print(error)
"""


def make(folder: Path, files: dict[str, str], out: str = "made") -> Path:
    """Writes files and has the command make modules of them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command.proto([folder / name for name in files], [folder], folder / out)
    return folder / out


def check_format(module: Path) -> None:
    """Asks that the formatter would leave a module as it is."""
    before = module.read_text()
    subprocess.run(
        [Path(sys.executable).parent / "mblack", "-q", "--include", r"\.mojo$", module],
        check=True,
    )
    assert module.read_text() == before, "not as the formatter has it"


@needs_protoc
def test_the_module_of_the_tests_is_what_is_made(tmp_path: Path) -> None:
    command.proto([HERE / "every.proto"], [HERE], tmp_path / "made")
    for made in ["every_pb.mojo", "__init__.mojo"]:
        assert (tmp_path / "made" / made).read_text() == (
            HERE / "messages" / made
        ).read_text()


@needs_protoc
@pytest.mark.parametrize(
    ("folder", "files", "made"),
    [
        ("tests/grpc", ["route_guide", "names"], "route_guide_pb route_guide_grpc"
         " route_guide_client names_pb names_grpc"),
        ("examples/route_guide", ["route_guide"], "route_guide_pb route_guide_grpc"
         " route_guide_client"),
        ("cli/mojo_flare/templates/grpc", ["greeter"], "greeter_pb greeter_grpc"
         " greeter_client"),
        ("examples/inference", ["open_inference"], "open_inference_pb"
         " open_inference_grpc open_inference_client"),
    ],
)
def test_services_are_traits_in_a_module_of_their_own(
    tmp_path: Path, folder: str, files: list[str], made: str
) -> None:
    here = ROOT / folder
    command.proto([here / f"{one}.proto" for one in files], [here], tmp_path / "made")
    for name in (f"{one}.mojo" for one in [*made.split(), "__init__"]):
        assert (tmp_path / "made" / name).read_text() == (
            next(here.rglob("messages")) / name
        ).read_text()


SERVICES = """
syntax = "proto3";
package a.b;
import "deep/down/far.proto";
import "google/protobuf/empty.proto";
service Talk {
  rpc GetURL(Talker) returns (far.Talk) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc Def(google.protobuf.Empty) returns (stream Talker) { }
  rpc Channel(Talker) returns (Talker);
  rpc GetUrl(GrpcCall) returns (TalkClient);
  rpc talk(stream S) returns (stream GrpcStatus);
}
service HTTPThing { rpc Import(stream Talker) returns (far.Talk); }
service HttpThing { rpc Get(GrpcChannel) returns (GrpcReply); }
service GrpcStream { rpc Get(Talker) returns (Talker); }
message Talker {}
message TalkClient {}
message GrpcCall { int32 number = 1; }
message GrpcChannel {}
message GrpcReply {}
message GrpcStatus {}
message S {}
"""
FAR = """
syntax = "proto3";
package far;
message Talk { string words = 1; }
"""
SERVICES_PROGRAM = """
from flare.grpc import GrpcCall, GrpcServices, GrpcStatus, GrpcStream, Replies
from flare.grpc.client import GrpcChannel
from flare.protobuf import Empty
from made.deep.down.far_pb import Talk as FarTalk
from made.talk_client import HttpThingClient, TalkClient
from made.talk_grpc import GrpcStream_, Talk, add_http_thing_, add_talk
from made.talk_grpc import HttpThing as MadeThing
from made.talk_pb import GrpcCall as MadeCall, GrpcStatus as MadeStatus
from made.talk_pb import GrpcChannel as MadeChannel, GrpcReply as MadeReply
from made.talk_pb import S, TalkClient as MadeClient, Talker


struct Talking(GrpcStream):
    comptime Request = %s
    comptime Reply = Talker

    def __init__(out self):
        pass

    def on_message(
        mut self, var request: Self.Request, mut replies: Replies[Talker]
    ) raises GrpcStatus:
        replies.send(Talker())


struct Other(GrpcStream):
    comptime Request = S
    comptime Reply = MadeStatus

    def __init__(out self):
        pass

    def on_message(
        mut self, var request: S, mut replies: Replies[MadeStatus]
    ) raises GrpcStatus:
        replies.send(MadeStatus())


struct Thing(MadeThing, GrpcStream_):
    def __init__(out self):
        pass

    def get(self, request: MadeChannel, mut call: GrpcCall) raises GrpcStatus -> MadeReply:
        return MadeReply()

    def get(self, request: Talker, mut call: GrpcCall) raises GrpcStatus -> Talker:
        return Talker()


struct Mine(Talk):
    comptime Def = Talking
    comptime talk_ = Other

    def __init__(out self):
        pass

    def get_url(self, request: Talker, mut call: GrpcCall) raises GrpcStatus -> FarTalk:
        return FarTalk(words="far")

    def def_(self, mut call: GrpcCall) raises GrpcStatus -> Talking:
        return Talking()

    def channel(self, request: Talker, mut call: GrpcCall) raises GrpcStatus -> Talker:
        return Talker()

    def get_url_(self, request: MadeCall, mut call: GrpcCall) raises GrpcStatus -> MadeClient:
        return MadeClient()

    def talk(self, mut call: GrpcCall) raises GrpcStatus -> Other:
        return Other()


def main() raises:
    var services = GrpcServices()
    add_talk(services, Mine())
    add_http_thing_(services, Thing())
    try:
        add_talk(services, Mine())
    except error:
        print(error)
    # Nobody is there.
    var client = TalkClient(GrpcChannel("http://127.0.0.1:1"))
    try:
        _ = client.get_url_(MadeCall(number_=1))
    except status:
        print(status.code)
    try:
        _ = HttpThingClient(client.channel).get(MadeChannel())
    except status:
        print(status.code)
    try:
        _ = client.get_url(Talker())
    except status:
        print(status.code)
    try:
        _ = client.channel_(Talker())
    except status:
        print(status.code)
    var talk = client.def_(Empty())
    try:
        _ = talk.next()
    except status:
        print(status.code)
"""


@needs_protoc
@pytest.mark.parametrize("request_type", ["Empty", "Talker"])
def test_a_service_of_ones_own(tmp_path: Path, request_type: str) -> None:
    """Names that Mojo has taken, types of other files, and a machine that takes
    other messages than its method, which does not compile."""
    made = make(tmp_path, {"talk.proto": SERVICES, "deep/down/far.proto": FAR})
    for name in ("talk_grpc.mojo", "talk_client.mojo"):
        check_format(made / name)
        assert (made / name).read_text().count("is_safe=True") == 1
    source = tmp_path / "main.mojo"
    source.write_text(SERVICES_PROGRAM % request_type)
    program = BUILD / "cli" / f"proto_service_{request_type}"
    built = build(source, program, whole=False)
    if request_type == "Talker":
        assert "the machine of this method takes other messages" in built.stdout
        return
    assert built.returncode == 0, built.stdout
    said = subprocess.run([program], capture_output=True, text=True)
    assert said.stdout == (
        "the method /a.b.Talk/GetURL is there twice\n" + "UNAVAILABLE\n" * 5
    )


@needs_protoc
def test_texts_of_any_octets_are_one_line(tmp_path: Path) -> None:
    """Escapes of texts (text format of Protocol Buffers): a default may hold any
    control character, which ends no line, and no text, of what is made."""
    controls = [*range(32), 127]
    given = "".join(f"\\{one:03o}f" for one in controls)
    made = make(
        tmp_path,
        {
            "c.proto": 'syntax = "proto2";\npackage c;\nmessage A {\n'
            f'  optional string a = 1 [default = "{given}"];\n}}\n'
        },
    )
    text = (made / "c_pb.mojo").read_text()
    assert not set(text) & {chr(one) for one in controls} - {"\n"}
    [line] = [one for one in text.split("\n") if "DEFAULT_A" in one]
    literal = line[line.index("(") + 1 : line.rindex(")")]
    # Mojo reads these escapes as Python does.
    assert ast.literal_eval(literal) == "".join(f"{chr(one)}f" for one in controls)


@pytest.mark.parametrize(
    ("name", "made"),
    [("SayHello", "say_hello"), ("GetURLOf", "get_url_of"), ("V2Ping", "v2_ping"),
     ("get_it", "get_it"), ("A", "a"), ("HTTP", "http")],
)  # fmt: skip
def test_names_of_methods(name: str, made: str) -> None:
    assert names.snake(name) == made


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["a", "b"], ["a", "b"]),
        # What is as it was given keeps its form, wherever it stands.
        (["number", "number_"], ["number__", "number_"]),
        (["number_", "number", "copy"], ["number_", "number__", "copy_"]),
        (["number", "number_", "number__"], ["number___", "number_", "number__"]),
    ],
)
def test_names_that_would_be_the_same(given: list[str], made: list[str]) -> None:
    assert names.members(given) == made


@needs_protoc
def test_names_imports_and_proto2_make_programs(tmp_path: Path) -> None:
    made = make(
        tmp_path,
        {"words.proto": WORDS, "deep/down/other.proto": OTHER, "words2.proto": SECOND},
    )
    modules = sorted(made.rglob("*_pb.mojo"))
    assert [path.name for path in modules] == ["other_pb.mojo", "words2_pb.mojo", "words_pb.mojo"]
    for module in modules:
        check_format(module)
    source = tmp_path / "main.mojo"
    source.write_text(PROGRAM)
    built = build(source, BUILD / "cli" / "proto_words", whole=False)
    assert built.returncode == 0, built.stdout
    said = subprocess.run([BUILD / "cli" / "proto_words"], capture_output=True, text=True)
    assert said.stdout.splitlines() == [
        '{"name":{"number":7}} {"inner":{"number":7}}',
        "True 9 -5",
        "0 102 27 13 10 11 127 194 133 92 120 48 49 ",
        '{"self":1,"def":"d","list":{"items":[{"self":2}]},"other":{"name":"n",'
        '"packed":[3],"expanded":[1,2],"second":{"s":"s"},"copy":true},'
        '"next":{"name":"NUMBER"},'
        '"byName":"b"}',
        "True",
        "0 0",
        "protobuf deep.Other.name (field 1): expected a value, since the field is required",
    ]


@needs_protoc
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("syntax = \"proto3\";\nmessage A { int32 a = 0; }", "a.proto:2:23"),
        ("syntax = \"proto3\";\nimport \"none.proto\";", "none.proto"),
        ("edition = \"2023\";\nmessage A {}", "edition"),
        (
            "syntax = \"proto3\";\nimport \"google/protobuf/type.proto\";\n"
            "message A { google.protobuf.Type t = 1; }",
            "google.protobuf.Type is not among",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(CommandError) as refused:
        make(tmp_path, {"a.proto": text})
    assert expected in refused.value.message
    assert not (tmp_path / "made").exists()


@needs_protoc
@pytest.mark.parametrize(
    "names",
    [("a-b.proto", "a_b.proto"), ("x/a b.proto", "x/a-b.proto"), ("d-e/a.proto", "d_e/a.proto")],
)
def test_files_of_one_module_are_not_made_over_each_other(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """A name is made of what a module's may have, so two files may have the same."""
    files = {
        name: f'syntax = "proto3";\npackage p{at};\nmessage M{at} {{}}'
        for at, name in enumerate(names)
    }
    with pytest.raises(CommandError) as refused:
        make(tmp_path, files)
    assert all(name in refused.value.message for name in names)
    assert not (tmp_path / "made").exists()


@needs_protoc
def test_modules_that_others_import_are_made_too(tmp_path: Path) -> None:
    """What is made imports nothing that is not there, whichever files were named."""
    texts = {
        "a.proto": 'import "b/c.proto"; import "unused.proto";\n'
        "service A { rpc Get(c.C) returns (stream c.C); }",
        "b/c.proto": 'package c; import "d.proto";\nmessage C { d.D d = 1; }',
        "d.proto": "package d; message D {}",
        "unused.proto": "message Unused {}",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'syntax = "proto3"; {text}')
    done = flare("proto", "a.proto", cwd=tmp_path)
    made = ["a_pb", "a_grpc", "a_client", "b/c_pb", "d_pb"]
    assert (done.returncode, done.stdout.split()) == (
        0, [f"messages/{name}.mojo" for name in made],
    )  # fmt: skip
    assert (tmp_path / "messages" / "b" / "__init__.mojo").exists()


@needs_protoc
def test_a_file_may_be_named_twice(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text('syntax = "proto3";\nmessage M {}')
    done = flare("proto", "a.proto", "a.proto", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "messages/a_pb.mojo\n")


def test_without_protoc_the_way_to_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CommandError) as refused:
        make(tmp_path, {"a.proto": 'syntax = "proto3";'})
    assert refused.value.remedy == "pip install 'mojo-flare[proto]'"


def test_files_have_to_be_there_and_below_a_folder(tmp_path: Path) -> None:
    missing = flare("proto", "none.proto", cwd=tmp_path)
    assert (missing.returncode, "there is no file none.proto" in missing.stderr) == (2, True)
    (tmp_path / "a.proto").write_text('syntax = "proto3";')
    (tmp_path / "b").mkdir()
    outside = flare("proto", "-I", "b", "a.proto", cwd=tmp_path)
    assert outside.returncode == 2
    assert "-I ." in outside.stderr


@pytest.mark.parametrize(
    ("edges", "groups"),
    [
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"a"}}, [{"a"}]),
        ({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}, [{"a", "b"}, {"c", "d"}]),
        ({"a": {"elsewhere"}}, []),
    ],
)
def test_messages_that_hold_themselves_are_found(
    edges: dict[str, set[str]], groups: list[set[str]]
) -> None:
    found: dict[int, set[str]] = {}
    for node, group in recursive_groups(edges).items():
        found.setdefault(group, set()).add(node)
    assert sorted(found.values(), key=min) == groups


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        (" One.\n", ['    """One."""']),
        (" One.\n\n Two.\n", ['    """One.', "", "    Two.", '    """']),
        (' A "quote"\n', ['    """A "quote"."""']),
        (' """\\\n', ["    \"\"\"'''\\\\\"\"\""]),
    ],
)
def test_comments_become_docstrings(text: str, lines: list[str]) -> None:
    assert layout.docstring(4, text) == lines


def test_modules_have_names_that_programs_can_import() -> None:
    assert names.module("a-b/class/1.proto") == ["a_b", "class_", "_1_pb"]


@needs_protoc
def test_own_services_carry_what_describes_them() -> None:
    for module, constants in gen_grpc_files.MODULES.items():
        assert (ROOT / module).read_text() == gen_grpc_files.text_of(constants)
