//! The hello server of the benchmarks on axum.
//! Usage: server PORT WORKERS; BENCH_HOST is the address, by default loopback.

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path};
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{json, Value};
use std::env::{args, var};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

static LARGE: [u8; 65536] = [b'x'; 65536];
const PLAIN: [(&str, &str); 1] = [("content-type", "text/plain; charset=utf-8")];

async fn hello() -> &'static str {
    "Hello, World!"
}

async fn object() -> Json<Value> {
    Json(json!({"message": "Hello, World!"}))
}

async fn user(Path(id): Path<String>) -> String {
    format!("user {id}")
}

async fn upload(_content: Bytes) -> &'static str {
    "OK"
}

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket: WebSocket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            if let Message::Binary(_) = message {
                if socket.send(message).await.is_err() {
                    return;
                }
            }
        }
    })
}

fn main() {
    let words: Vec<String> = args().collect();
    let host = var("BENCH_HOST").unwrap_or_else(|_| "127.0.0.1".into());
    let address = format!("{host}:{}", words[1]);
    let workers: usize = words[2].parse().expect("a number of workers");
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    let router = Router::new()
        .route("/", get(hello))
        .route("/json", get(object))
        .route("/users/{id}", get(user))
        .route("/64k", get(|| async { (PLAIN, Bytes::from_static(&LARGE)) }))
        .route("/upload", post(upload))
        .route("/ws", get(echo))
        .layer(DefaultBodyLimit::max(1 << 20));
    builder.enable_all().build().expect("a runtime").block_on(async {
        let listener = TcpListener::bind(address).await.expect("the port").tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await.expect("to serve");
    });
}
