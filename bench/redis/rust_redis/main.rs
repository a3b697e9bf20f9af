// The benchmark's commands by redis-rs: SOCKET COUNT PIPELINED GET|SET|SUB.
use redis::{Commands, Connection, RedisResult};

const KEY: &str = "bench:key";
const VALUE: &str = "value-of-31-octets-01234567890.";

fn single(connection: &mut Connection, count: usize, is_get: bool) -> RedisResult<usize> {
    let mut total = 0;
    for _ in 0..count {
        if is_get {
            let text: String = connection.get(KEY)?;
            total += text.len();
        } else {
            let _: () = connection.set(KEY, VALUE)?;
            total += 1;
        }
    }
    Ok(total)
}

fn pipelined(
    connection: &mut Connection,
    count: usize,
    size: usize,
    is_get: bool,
) -> RedisResult<usize> {
    let mut total = 0;
    for _ in 0..count / size {
        let mut pipe = redis::pipe();
        for _ in 0..size {
            if is_get {
                pipe.get(KEY);
            } else {
                pipe.set(KEY, VALUE);
            }
        }
        let replies: Vec<String> = pipe.query(connection)?;
        total += replies.len();
    }
    Ok(total)
}

fn listen(connection: &mut Connection, count: usize) -> RedisResult<usize> {
    let mut subscriber = connection.as_pubsub();
    subscriber.subscribe("bench:channel")?;
    let mut total = 0;
    for _ in 0..count {
        let text: String = subscriber.get_message()?.get_payload()?;
        total += text.len();
    }
    Ok(total)
}

fn main() -> RedisResult<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let client = redis::Client::open(format!("unix://{}", arguments[1]))?;
    let mut connection = client.get_connection()?;
    let count: usize = arguments[2].parse().expect("a count");
    let size: usize = arguments[3].parse().expect("a count");
    let is_get = arguments[4] == "GET";
    let total = if arguments[4] == "SUB" {
        listen(&mut connection, count)?
    } else if size > 1 {
        pipelined(&mut connection, count, size, is_get)?
    } else {
        single(&mut connection, count, is_get)?
    };
    println!("{total}");
    Ok(())
}
