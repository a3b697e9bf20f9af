//! The hello server of the benchmarks on hyper, which has no router: a match
//! on the path stands for one.
//! Usage: server PORT WORKERS [h2]; BENCH_HOST is the address, by default loopback.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::env::{args, var};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

const PLAIN: &str = "text/plain; charset=utf-8";
static LARGE: [u8; 65536] = [b'x'; 65536];

fn answer(kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let length = HeaderValue::from(body.len());
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_LENGTH, length);
    response
}

async fn serve(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_get = request.method() == Method::GET || request.method() == Method::HEAD;
    let found = match request.uri().path() {
        "/" if is_get => answer(PLAIN, Bytes::from_static(b"Hello, World!")),
        "/json" if is_get => {
            answer("application/json", Bytes::from_static(br#"{"message":"Hello, World!"}"#))
        }
        "/64k" if is_get => answer(PLAIN, Bytes::from_static(&LARGE)),
        "/upload" if request.method() == Method::POST => {
            while let Some(Ok(_)) = request.body_mut().frame().await {}
            answer(PLAIN, Bytes::from_static(b"OK"))
        }
        path => match path.strip_prefix("/users/").filter(|_| is_get) {
            Some(id) => answer(PLAIN, Bytes::from(format!("user {id}"))),
            None => {
                let mut response = answer(PLAIN, Bytes::from_static(b"not found"));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        },
    };
    Ok(found)
}

fn runtime(workers: usize) -> Runtime {
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.enable_all().build().expect("a runtime")
}

fn main() {
    let words: Vec<String> = args().collect();
    let host = var("BENCH_HOST").unwrap_or_else(|_| "127.0.0.1".into());
    let has_http2 = words.len() > 3;
    let address = format!("{host}:{}", words[1]);
    runtime(words[2].parse().expect("a number of workers")).block_on(async {
        let listener = TcpListener::bind(address).await.expect("the port");
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.set_nodelay(true);
            if has_http2 {
                tokio::spawn(
                    http2::Builder::new(TokioExecutor::new())
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service_fn(serve)),
                );
                continue;
            }
            tokio::spawn(
                http1::Builder::new()
                    .timer(TokioTimer::new())
                    .pipeline_flush(true)
                    .serve_connection(TokioIo::new(stream), service_fn(serve)),
            );
        }
    });
}
