//! The service of the gRPC benchmarks by tonic, on one thread, without generated
//! code. `Vec<u8>` is `google.protobuf.BytesValue` to prost.
//! Usage: bench_tonic PORT

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Builder;
use tokio_stream::{Stream, StreamExt};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, ServerStreamingService, StreamingService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

const STREAM_COUNT: usize = 1_000;

type Reply<T> = BoxFuture<Response<T>, Status>;
type Replies = Pin<Box<dyn Stream<Item = Result<Vec<u8>, Status>> + Send>>;
type Codec = ProstCodec<Vec<u8>, Vec<u8>>;

struct Unary;

impl UnaryService<Vec<u8>> for Unary {
    type Response = Vec<u8>;
    type Future = Reply<Vec<u8>>;

    fn call(&mut self, request: Request<Vec<u8>>) -> Self::Future {
        Box::pin(async move { Ok(Response::new(request.into_inner())) })
    }
}

struct Pour;

impl ServerStreamingService<Vec<u8>> for Pour {
    type Response = Vec<u8>;
    type ResponseStream = Replies;
    type Future = Reply<Replies>;

    fn call(&mut self, request: Request<Vec<u8>>) -> Self::Future {
        let value = request.into_inner();
        let replies = (0..STREAM_COUNT).map(move |_| Ok(value.clone()));
        let replies: Replies = Box::pin(tokio_stream::iter(replies));
        Box::pin(async move { Ok(Response::new(replies)) })
    }
}

struct EchoAll;

impl StreamingService<Vec<u8>> for EchoAll {
    type Response = Vec<u8>;
    type ResponseStream = Replies;
    type Future = Reply<Replies>;

    fn call(&mut self, request: Request<Streaming<Vec<u8>>>) -> Self::Future {
        let replies: Replies = Box::pin(request.into_inner().map(|message| message));
        Box::pin(async move { Ok(Response::new(replies)) })
    }
}

#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "bench.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = Grpc::new(Codec::default());
            Ok(match request.uri().path() {
                "/bench.Echo/Unary" => grpc.unary(Unary, request).await,
                "/bench.Echo/Pour" => grpc.server_streaming(Pour, request).await,
                "/bench.Echo/EchoAll" => grpc.streaming(EchoAll, request).await,
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let address = format!("127.0.0.1:{port}").parse().expect("an address");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        Server::builder().add_service(Echo).serve(address).await.expect("the port")
    });
}
