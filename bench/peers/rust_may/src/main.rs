//! The hello server of the benchmarks on may_minihttp, which has no router.
//! Usage: server PORT WORKERS; BENCH_HOST is the address, by default loopback.

use may_minihttp::{HttpServer, HttpService, Request, Response};
use std::env::{args, var};
use std::io::{self, Read};
use std::str::from_utf8;

static LARGE: [u8; 65536] = [b'x'; 65536];
const PLAIN: &str = "Content-Type: text/plain; charset=utf-8";

#[derive(Clone)]
struct Hello;

impl HttpService for Hello {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        match request.path() {
            "/" => response.header(PLAIN).body("Hello, World!"),
            "/json" => response
                .header("Content-Type: application/json")
                .body(r#"{"message":"Hello, World!"}"#),
            "/64k" => response.header(PLAIN).body(from_utf8(&LARGE).unwrap()),
            "/upload" => {
                let mut content = Vec::new();
                request.body().read_to_end(&mut content)?;
                response.header(PLAIN).body("OK");
            }
            path => match path.strip_prefix("/users/") {
                Some(id) => {
                    let text = format!("user {id}");
                    response.header(PLAIN).body_vec(text.into_bytes());
                }
                None => {
                    response.status_code(404, "Not Found");
                }
            },
        }
        Ok(())
    }
}

fn main() {
    let words: Vec<String> = args().collect();
    let host = var("BENCH_HOST").unwrap_or_else(|_| "127.0.0.1".into());
    may::config().set_workers(words[2].parse().expect("a number of workers"));
    let server = HttpServer(Hello).start(format!("{host}:{}", words[1])).expect("the port");
    server.join().expect("the server");
}
