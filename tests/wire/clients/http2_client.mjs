// Asks a server over HTTP/2 with Node's own client. Usage: http2_client.mjs URL [CA]
import { readFileSync } from "node:fs";
import http2 from "node:http2";

const [url, ca] = process.argv.slice(2);
const session = http2.connect(url, ca ? { ca: readFileSync(ca) } : {});
session.on("error", (error) => { console.error(error); process.exit(1); });

function ask(path, content) {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":path": path, ":method": content ? "POST" : "GET",
    });
    let status = 0, length = 0;
    stream.on("response", (fields) => { status = fields[":status"]; });
    stream.on("data", (piece) => { length += piece.length; });
    stream.on("end", () => resolve([status, length]));
    stream.on("error", reject);
    stream.end(content);
  });
}

const asked = [];
for (let n = 0; n < 200; n++) asked.push(ask(`/size/${n * 100}`));
for (let n = 0; n < 20; n++) asked.push(ask("/", Buffer.alloc(200_000, "x")));
const answers = await Promise.all(asked);
const right = answers.filter(([status, length], n) =>
  status === 200 && length === (n < 200 ? n * 100 : 200_000)).length;
console.log(`${right} of ${answers.length} right`);
session.close();
