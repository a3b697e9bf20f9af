// A server of Node's http2 for the client's tests: it echoes, counts, sends and
// takes content, and trailers. With a certificate and its key it speaks TLS.
"use strict";
const fs = require("fs");
const http2 = require("http2");

const [certificate, key] = process.argv.slice(2);
const server = certificate
  ? http2.createSecureServer({
      cert: fs.readFileSync(certificate),
      key: fs.readFileSync(key),
      allowHTTP1: true,
    })
  : http2.createServer();
let sessions = 0;

server.on("session", () => sessions++);
server.on("stream", (stream, headers) => {
  const url = new URL(headers[":path"], "http://here");
  const pieces = [];
  let length = 0;
  stream.on("error", () => {});
  stream.on("data", (piece) => {
    length += piece.length;
    if (length < 1 << 16) pieces.push(piece);
  });
  stream.on("end", () => {
    if (url.pathname === "/download") {
      stream.respond({ ":status": 200 });
      stream.end(Buffer.alloc(Number(url.searchParams.get("length")), 120));
    } else if (url.pathname === "/trailers") {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ sum: "42" }));
      stream.end("content");
    } else {
      stream.respond({ ":status": 200, "content-type": "application/json" });
      const content = Buffer.concat(pieces).toString();
      stream.end(JSON.stringify({ headers, length, content, sessions }));
    }
  });
});
server.listen(0, "127.0.0.1", () =>
  console.log("listening on 127.0.0.1:" + server.address().port));
