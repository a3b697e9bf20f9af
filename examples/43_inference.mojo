# 43 Inference: a server of the open inference protocol (KServe v2) over gRPC, with
# a made-up model, typed and raw contents, health and reflection.
#
#   43_inference [PORT]
#
# With a port it serves until it is stopped; the service is
# examples/inference/service.mojo. Else it calls itself.
#
# Expected output:
#   listening on 127.0.0.1:*
#   ready: True, another: False
#   linear takes x FP32, gives y FP32
#   typed: 9.0 1.0
#   raw: 4 octets, id 7
#   INVALID_ARGUMENT x has the shape [n, 2], and so many contents
#   NOT_FOUND the only model is linear, 1

from examples.inference.messages.open_inference_client import (
    GRPCInferenceServiceClient,
)
from examples.inference.messages.open_inference_grpc import (
    add_grpc_inference_service,
)
from examples.inference.messages.open_inference_pb import (
    InferTensorContents,
    ModelInferRequest,
    ModelInferRequest_InferInputTensor,
    ModelMetadataRequest,
    ModelReadyRequest,
)
from examples.inference.service import Inference
from flare.grpc import GrpcServices, GrpcStatus
from flare.grpc.client import GrpcChannel
from flare.grpc.health import HealthState, add_health
from flare.grpc.reflection import add_reflection
from flare.http import HttpServer
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from std.sys import argv


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        var services = GrpcServices()
        add_grpc_inference_service(services, Inference())
        var health = HealthState()
        health.set_serving("inference.GRPCInferenceService", True)
        add_health(services, health)
        add_reflection(services)
        self.server.serve(services^)


def rows(count: Int, var numbers: List[Float32]) -> ModelInferRequest:
    """Asks for the outputs of so many rows."""
    var tensor = ModelInferRequest_InferInputTensor(
        name="x", datatype="FP32", shape=[Int64(count), 2]
    )
    if len(numbers) > 0:
        tensor.contents = InferTensorContents(fp32_contents=numbers^)
    var request = ModelInferRequest(model_name="linear", id="7")
    request.inputs.append(tensor^)
    return request^


def ask(server: GRPCInferenceServiceClient) raises GrpcStatus:
    var ready = server.model_ready(ModelReadyRequest(name="linear"))
    var other = server.model_ready(ModelReadyRequest(name="cat"))
    print("ready: ", ready.message.ready, ", another: ", end="", sep="")
    print(other.message.ready)

    var metadata = server.model_metadata(ModelMetadataRequest(name="linear"))
    ref model = metadata.message
    print(model.name, "takes", model.inputs[0].name, end=" ")
    print(model.inputs[0].datatype, "gives", end=" ", sep=", ")
    print(model.outputs[0].name, model.outputs[0].datatype)

    var typed = server.model_infer(rows(2, [1, 2, 0, 0]))
    ref outputs = typed.message.outputs[0].contents.value().fp32_contents
    print("typed:", outputs[0], outputs[1])

    var request = rows(1, [])
    request.raw_input_contents.append([0, 0, 128, 63, 0, 0, 0, 64])
    var raw = server.model_infer(request).message.copy()
    print("raw:", len(raw.raw_output_contents[0]), "octets, id", raw.id)

    for count in [3, 1]:
        try:
            var wrong = rows(count, [1, 2])
            if count == 1:
                wrong.model_name = "cat"
            _ = server.model_infer(wrong)
        except status:
            print(status.code, status.message)


def main() raises:
    var words = argv()
    var port = String(words[1]) if len(words) > 1 else String("0")
    var server = HttpServer.bind(SocketAddr.parse("127.0.0.1:" + port))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    print("listening on ", server.local_addr(), sep="", flush=True)
    var serving = Serving(server^)
    if len(words) > 1:
        serving.run()
        return
    var thread = Thread(serving^)
    ask(GRPCInferenceServiceClient(GrpcChannel(url)))
    stopper.shutdown()
    thread^.join()
