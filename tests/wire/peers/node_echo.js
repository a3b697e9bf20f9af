// Node's HTTP/1.1 server for the proxy's tests: it says what it was asked.
const http = require("http");

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const content = Buffer.concat(pieces).toString("latin1");
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ Method: request.method, Target: request.url, Content: content }));
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on 127.0.0.1:${server.address().port}`);
});
