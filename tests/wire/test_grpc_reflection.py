"""What a server of gRPC tells of its services, asked as grpcio asks, and by grpcurl."""

import shutil
import subprocess
import sys

import grpc
import pytest
from conftest import ROOT
from google.protobuf import descriptor_pb2, descriptor_pool

TIMEOUT_S = 10
PROTOS = ROOT / "tests" / "grpc" / "protos"
VERSIONS = ["v1", "v1alpha"]
SERVICES = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "plain.Plain",
    "routeguide.Nothing",
    "routeguide.RouteGuide",
    "threads.Threads",
]
EMPTY = "google/protobuf/empty.proto"
GUIDE = "route_guide.proto"
NOT_FOUND = 5


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """The messages of both versions, from descriptions of protoc's own making."""
    found = tmp_path_factory.mktemp("reflection") / "set"
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS}",
         f"--descriptor_set_out={found}", "--include_imports",
         *(f"grpc/reflection/{version}/reflection.proto" for version in VERSIONS)],
        check=True,
    )  # fmt: skip
    from google.protobuf import message_factory

    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes()).file:
        pool.Add(file)
    return lambda version, name: message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"grpc.reflection.{version}.{name}")
    )


@pytest.fixture(params=VERSIONS)
def ask(request, start, messages):
    """Asks questions on one stream, and gives the answers."""
    version = request.param
    question = messages(version, "ServerReflectionRequest")
    answer = messages(version, "ServerReflectionResponse")
    server = start("grpc_server")

    def asking(*questions: dict):
        sent = [question(host="h", **one) for one in questions]
        with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            answers = list(
                channel.stream_stream(
                    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                    question.SerializeToString,
                    answer.FromString,
                )(iter(sent), timeout=TIMEOUT_S)
            )
        assert [one.original_request for one in answers] == sent
        assert {one.valid_host for one in answers} <= {"h"}
        return answers

    return asking


def names_of(answer) -> list[str]:
    """The files of an answer."""
    return [
        descriptor_pb2.FileDescriptorProto.FromString(octets).name
        for octets in answer.file_descriptor_response.file_descriptor_proto
    ]


def test_services(ask):
    [answer] = ask({"list_services": "*"})
    assert [one.name for one in answer.list_services_response.service] == SERVICES


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ({"file_by_filename": EMPTY}, [EMPTY]),
        ({"file_by_filename": GUIDE}, [GUIDE, EMPTY]),
        ({"file_containing_symbol": "routeguide.RouteGuide"}, [GUIDE, EMPTY]),
        ({"file_containing_symbol": "routeguide.RouteGuide.Ping"}, [GUIDE, EMPTY]),
        ({"file_containing_symbol": "routeguide.Point.latitude"}, [GUIDE, EMPTY]),
        ({"file_containing_symbol": "google.protobuf.Empty"}, [EMPTY]),
        ({"file_containing_symbol": "grpc.health.v1.Health.Watch"},
         ["grpc/health/v1/health.proto"]),
        ({"file_containing_symbol": "grpc.reflection.v1alpha.ErrorResponse"},
         ["grpc/reflection/v1alpha/reflection.proto"]),
    ],
)  # fmt: skip
def test_files(ask, question, files):
    assert names_of(ask(question)[0]) == files


def test_what_was_sent_is_not_sent_with_others(ask):
    answers = ask(
        {"file_by_filename": EMPTY},
        {"file_by_filename": GUIDE},
        {"file_by_filename": GUIDE},
        {"file_by_filename": EMPTY},
    )
    assert [names_of(one) for one in answers] == [[EMPTY], [GUIDE], [GUIDE], [EMPTY]]


@pytest.mark.parametrize(
    "question",
    [
        {"file_by_filename": "none.proto"},
        {"file_by_filename": ""},
        {"file_containing_symbol": "routeguide.Nobody"},
        # It was added without a file.
        {"file_containing_symbol": "threads.Threads"},
        {"file_containing_extension": {"containing_type": "routeguide.Point",
                                       "extension_number": 1}},
        {"all_extension_numbers_of_type": "routeguide.Nobody"},
    ],
)  # fmt: skip
def test_what_is_not_there(ask, question):
    """Each is answered so, and the stream goes on."""
    first, second = ask(question, {"list_services": ""})
    assert first.error_response.error_code == NOT_FOUND
    assert second.HasField("list_services_response")


def test_a_message_without_extensions(ask):
    [answer] = ask({"all_extension_numbers_of_type": "routeguide.Point"})
    assert answer.all_extension_numbers_response.base_type_name == "routeguide.Point"
    assert list(answer.all_extension_numbers_response.extension_number) == []


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"file_by_filename": "f" * 1025},
        {"file_containing_symbol": "f" * 1025},
        {"file_containing_extension": {"containing_type": "f" * 1025}},
        {"all_extension_numbers_of_type": "f" * 1025},
        {"list_services": "f" * 1025},
    ],
)
def test_what_ends_the_stream(ask, question):
    with pytest.raises(grpc.RpcError) as raised:
        ask(question)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_files_are_those_of_protoc(ask, tmp_path):
    """All but comments, so that any reader makes the same types of them."""
    made = tmp_path / "set"
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS.parent}",
         f"--descriptor_set_out={made}", "--include_imports", GUIDE],
        check=True,
    )  # fmt: skip
    [answer] = ask({"file_by_filename": GUIDE})
    answered = answer.file_descriptor_response.file_descriptor_proto
    files = [descriptor_pb2.FileDescriptorProto.FromString(one) for one in answered]
    wanted = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file
    for file in wanted:
        # Readers make them up in the same way.
        for field in (field for message in file.message_type for field in message.field):
            field.ClearField("json_name")
    assert files == list(reversed(wanted))


def test_many_questions_of_one_stream(ask):
    answers = ask(*[{"file_by_filename": GUIDE}] * 2_000)
    assert len(answers) == 2_000


@pytest.mark.skipif(shutil.which("grpcurl") is None, reason="grpcurl is not installed")
def test_grpcurl_needs_no_file(start):
    server = start("grpc_server")
    place = f"127.0.0.1:{server.port}"

    def grpcurl(*arguments: str) -> str:
        said = subprocess.run(
            ["grpcurl", "-plaintext", *arguments],
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert said.returncode == 0, said.stderr
        return said.stdout

    assert grpcurl(place, "list").split() == SERVICES
    assert "routeguide.RouteGuide.RouteChat" in grpcurl(place, "list", "routeguide.RouteGuide")
    assert "int32 latitude = 1;" in grpcurl(place, "describe", "routeguide.Point")
    point = '{"latitude": 2, "longitude": 7}'
    call = ("routeguide.RouteGuide/GetFeature",)
    assert '"xx"' in grpcurl("-d", point, place, *call)
