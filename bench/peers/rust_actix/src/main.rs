//! The hello server of the benchmarks on actix-web.
//! Usage: server PORT WORKERS; BENCH_HOST is the address, by default loopback.

use actix_web::http::header::ContentType;
use actix_web::web::{self, Bytes, PayloadConfig};
use actix_web::{post, route, App, HttpResponse, HttpServer, Responder};
use serde_json::json;
use std::env::{args, var};

static LARGE: [u8; 65536] = [b'x'; 65536];

fn plain(body: impl actix_web::body::MessageBody + 'static) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body(body)
}

#[route("/", method = "GET", method = "HEAD")]
async fn hello() -> impl Responder {
    plain("Hello, World!")
}

#[route("/json", method = "GET", method = "HEAD")]
async fn object() -> impl Responder {
    HttpResponse::Ok().json(json!({"message": "Hello, World!"}))
}

#[route("/users/{id}", method = "GET", method = "HEAD")]
async fn user(id: web::Path<String>) -> impl Responder {
    plain(format!("user {id}"))
}

#[route("/64k", method = "GET", method = "HEAD")]
async fn large() -> impl Responder {
    plain(Bytes::from_static(&LARGE))
}

#[post("/upload")]
async fn upload(_content: Bytes) -> impl Responder {
    plain("OK")
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let words: Vec<String> = args().collect();
    let host = var("BENCH_HOST").unwrap_or_else(|_| "127.0.0.1".into());
    HttpServer::new(|| {
        App::new()
            .app_data(PayloadConfig::new(1 << 20))
            .service(hello)
            .service(object)
            .service(user)
            .service(large)
            .service(upload)
    })
    .workers(words[2].parse().expect("a number of workers"))
    .bind(format!("{host}:{}", words[1]))?
    .run()
    .await
}
