//! fastwebsockets on one thread: echoes what it hears. Usage: fastwebsockets PORT
//!
//! The handshake is written by hand, so that the frames travel over the bare
//! socket and not through hyper.

use base64::{engine::general_purpose::STANDARD, Engine};
use fastwebsockets::{Frame, OpCode, Role, WebSocket, WebSocketError};
use sha1::{Digest, Sha1};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

async fn shake_hands(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let key = head
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))
        .ok_or(std::io::ErrorKind::InvalidData)?;
    let digest = Sha1::digest(format!("{key}{GUID}"));
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        STANDARD.encode(digest)
    );
    stream.write_all(answer.as_bytes()).await
}

async fn echo(mut stream: TcpStream) -> Result<(), WebSocketError> {
    stream.set_nodelay(true)?;
    shake_hands(&mut stream).await?;
    let mut socket = WebSocket::after_handshake(stream, Role::Server);
    socket.set_max_message_size(1 << 20);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()),
            OpCode::Text | OpCode::Binary => {
                // The frame as it came would be sent with its masking key.
                let echo = Frame::new(true, frame.opcode, None, frame.payload);
                socket.write_frame(echo).await?
            }
            _ => {}
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("bind");
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = echo(stream).await;
            });
        }
    }
}
