//! tokio-tungstenite on one thread: echoes what it hears, or with `room` sends
//! it to all. Usage: tungstenite PORT [room]

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::{channel, error::RecvError, Sender};
use tokio_tungstenite::tungstenite::{Error, Message};

const WAITING_MAX: usize = 1024;

async fn echo(stream: TcpStream) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    while let Some(message) = socket.next().await {
        let message = message?;
        if message.is_text() || message.is_binary() {
            socket.send(message).await?;
        }
    }
    Ok(())
}

async fn attend(stream: TcpStream, room: Sender<Message>) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    let mut told = room.subscribe();
    loop {
        tokio::select! {
            heard = socket.next() => match heard {
                None => return Ok(()),
                Some(message) => {
                    let message = message?;
                    if message.is_text() || message.is_binary() {
                        let _ = room.send(message);
                    }
                }
            },
            message = told.recv() => match message {
                Ok(message) => socket.send(message).await?,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Ok(()),
            },
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let has_room = std::env::args().nth(2).is_some();
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("bind");
    let (room, _) = channel(WAITING_MAX);
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let room = room.clone();
            tokio::spawn(async move {
                let _ = if has_room { attend(stream, room).await } else { echo(stream).await };
            });
        }
    }
}
