// Echoes WebSocket messages over HTTP/2 (RFC 8441): Node has the stream, and the
// frames are taken apart here. node_websocket.js CERTIFICATE KEY
'use strict';
const fs = require('fs');
const http2 = require('http2');

function frame(first, payload) {
  const length = payload.length;
  let head = Buffer.from([first, length]);
  if (length > 0xffff) {
    head = Buffer.alloc(10);
    head.writeBigUInt64BE(BigInt(length), 2);
    head[1] = 127;
  } else if (length > 125) {
    head = Buffer.from([0, 126, length >> 8, length & 0xff]);
  }
  head[0] = first;
  return Buffer.concat([head, payload]);
}

// Gives the first frame of what has come, and what is behind it.
function parse(octets) {
  if (octets.length < 2) return null;
  let length = octets[1] & 127;
  let at = 2;
  if (length === 126) {
    if (octets.length < 4) return null;
    length = octets.readUInt16BE(2);
    at = 4;
  } else if (length === 127) {
    if (octets.length < 10) return null;
    length = Number(octets.readBigUInt64BE(2));
    at = 10;
  }
  if (octets.length < at + 4 + length) return null;
  const key = octets.subarray(at, at + 4);
  const payload = Buffer.from(octets.subarray(at + 4, at + 4 + length));
  for (let i = 0; i < length; i++) payload[i] ^= key[i & 3];
  return { first: octets[0], payload, rest: octets.subarray(at + 4 + length) };
}

const [, , cert, key] = process.argv;
const server = http2.createSecureServer({
  cert: fs.readFileSync(cert),
  key: fs.readFileSync(key),
  settings: { enableConnectProtocol: true },
});
server.on('stream', (stream, headers) => {
  if (headers[':method'] !== 'CONNECT' || headers[':protocol'] !== 'websocket') {
    stream.respond({ ':status': 400 }, { endStream: true });
    return;
  }
  stream.respond({ ':status': 200 });
  const path = headers[':path'].split('?')[0];
  stream.write(frame(0x81, Buffer.from(`2 ${path}`)));
  let pieces = [];
  let length = 0;
  let wanted = 0;
  stream.on('error', () => {});
  stream.on('data', (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length < wanted) return;
    let octets = Buffer.concat(pieces);
    for (let got = parse(octets); got; got = parse(octets)) {
      octets = got.rest;
      stream.write(frame(got.first, got.payload));
      if ((got.first & 15) === 8) stream.end();
    }
    pieces = [octets];
    length = octets.length;
    wanted = length >= 10 && (octets[1] & 127) === 127 ? Number(octets.readBigUInt64BE(2)) : 0;
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`listening on 127.0.0.1:${server.address().port}`);
});
