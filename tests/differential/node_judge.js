// Answers generated inputs as Node reads them: `node node_judge.js SUBJECT`
// reads cases on standard input, each behind its length (four octets,
// big-endian), and prints a line for each.
"use strict";
process.noDeprecation = true;
const fs = require("fs");
const { HTTPParser, methods } = process.binding("http_parser");
const allMethods = process.binding("http_parser").allMethods || methods;

const LEFT_OUT = new Set([
  "host", "content-length", "transfer-encoding", "connection", "trailer",
]);
const WORDS = Array.from({ length: 256 }, (_, c) =>
  c > 32 && c < 127 && c !== 37 && c !== 124
    ? String.fromCharCode(c)
    : "%" + c.toString(16).toUpperCase().padStart(2, "0"));

// Writes octets as one word; `quoted.mojo` says how. A string is latin1.
function quoted(octets) {
  if (octets.length === 0) return "-";
  let word = "";
  if (typeof octets === "string") {
    for (let i = 0; i < octets.length; i++) word += WORDS[octets.charCodeAt(i)];
  } else {
    for (const octet of octets) word += WORDS[octet];
  }
  return word === "-" ? "%2D" : word;
}

function quotedFields(raw) {
  const lines = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    // llhttp leaves whitespace at the end of a value to who takes it.
    const value = raw[i + 1].replace(/[ \t]+$/, "");
    if (!LEFT_OUT.has(name)) lines.push([quoted(name), quoted(value)]);
  }
  lines.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  return lines.map((line) => line.join(":")).join("|") || "-";
}

// One parser reads all messages of a connection; `stop` ends it.
function read(kind, input, answer, each) {
  const parser = new HTTPParser();
  let message = null;
  let isStopped = false;
  parser.initialize(kind, {}, 0, 0);
  parser[HTTPParser.kOnHeaders | 0] = (headers, url) => {
    // Fields that come in portions: more than 32 lines, or trailers.
    if (message) {
      message.trailers.push(...headers);
    } else {
      parser.early.push(...headers);
      parser.earlyUrl += url;
    }
  };
  parser.early = [];
  parser.earlyUrl = "";
  parser[HTTPParser.kOnHeadersComplete | 0] =
    (major, minor, headers, method, url, status, reason, upgrade, keep) => {
      message = {
        method: allMethods[method],
        url: parser.earlyUrl + (url || ""),
        version: `${major}.${minor}`,
        headers: parser.early.concat(headers || []),
        status, upgrade, keep, content: [], trailers: [],
      };
      parser.early = [];
      parser.earlyUrl = "";
      return each.head(message);
    };
  parser[HTTPParser.kOnBody | 0] = (buffer) => message.content.push(buffer);
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    if (isStopped) return;
    const last = message;
    message = null;
    isStopped = each.complete(last);
  };
  const result = parser.execute(input);
  let end = null;
  if (!isStopped && result instanceof Error) end = `E refuse:${result.code}`;
  const rest = result instanceof Error ? 0 : input.length - result;
  if (!end && !isStopped) {
    const finished = parser.finish();
    if (!isStopped && finished instanceof Error)
      end = finished.code === "HPE_INVALID_EOF_STATE"
        ? "E partial" : `E refuse:${finished.code}`;
  }
  const isOpen = message !== null;
  parser.close();
  return { end, rest, isStopped, isOpen, result };
}

function requests(input) {
  let answer = "";
  const done = read(HTTPParser.REQUEST, input, answer, {
    head: (m) => (m.method === "CONNECT" ? 2 : 0),
    complete: (m) => {
      answer += `M ${quoted(m.method)} ${quoted(m.url)} ${m.version} ` +
        `${m.keep ? "keep" : "close"} ${quotedFields(m.headers)} ` +
        `${quoted(Buffer.concat(m.content))} ${quotedFields(m.trailers)} `;
      return !m.keep;
    },
  });
  if (done.end) return answer + done.end;
  return answer + (done.isOpen ? "E partial" : "E end");
}

const METHODS = { 71: "GET", 72: "HEAD", 67: "CONNECT" };

function response(input) {
  if (input.length < 2) return "E end";
  const method = METHODS[input[0]] || "GET";
  let answer = "";
  let isOver = false;
  const done = read(HTTPParser.RESPONSE, input.subarray(1), answer, {
    head: (m) => {
      // As _http_client.js: no content behind HEAD, a tunnel behind CONNECT.
      if (method === "CONNECT" && m.status >= 200 && m.status < 300) return 2;
      if (m.upgrade || m.status === 101) return 2;
      if (m.status >= 100 && m.status < 200) return 1;
      return method === "HEAD" ? 1 : 0;
    },
    complete: (m) => {
      if (m.status >= 100 && m.status < 200 && m.status !== 101) {
        answer += `I ${m.status} `;
        return false;
      }
      // llhttp is not told of HEAD or CONNECT.
      const isTunnel = method === "CONNECT" && m.status < 300;
      const isOpen = method === "HEAD" || isTunnel;
      const keep = isOpen ? "~" : m.keep ? "keep" : "close";
      answer += `M ${m.status} ${m.version} ${keep} ` +
        `${quotedFields(m.headers)} ${quoted(Buffer.concat(m.content))} ` +
        `${quotedFields(m.trailers)} `;
      isOver = true;
      return true;
    },
  });
  if (isOver) return answer + "E end";
  if (done.end) return answer + done.end;
  return answer + "E partial";
}

function url(input) {
  const end = input.indexOf(0);
  const base = input.toString("utf8", 0, end < 0 ? input.length : end);
  const text = input.toString("utf8", end < 0 ? input.length : end + 1);
  let url;
  try {
    url = base ? new URL(text, base) : new URL(text);
  } catch (error) {
    return `E refuse:${error.code}`;
  }
  const parts = [
    url.href, url.protocol, url.username, url.password, url.host, url.hostname,
    url.port, url.pathname, url.search, url.hash,
  ];
  return `M ${parts.map((part) => quoted(Buffer.from(part))).join(" ")} E end`;
}

const NOW_S = 1704067200;

// http-cache-semantics, whose clock is ours. CACHE_SEMANTICS says where it is.
function cache(input) {
  let asked;
  try {
    asked = JSON.parse(input.toString());
    for (const name of ["request", "response", "asked"])
      for (const value of Object.values(asked[name])) value.trim();
    const kinds = [asked.later, asked.status, asked.shared].map((one) => typeof one);
    if (kinds.join() !== "number,number,boolean") return "E refuse:case";
  } catch {
    return "E refuse:case";
  }
  let later = 0;
  class Policy extends cache.CachePolicy {
    now() {
      return (NOW_S + later) * 1000;
    }
  }
  const message = (headers, more) => ({ url: "/", method: "GET", headers, ...more });
  const policy = new Policy(
    message(asked.request), message(asked.response, { status: asked.status }),
    { shared: asked.shared, cacheHeuristic: 0.1, immutableMinTimeToLive: 0 });
  if (!policy.storable()) return "M no - - - E end";
  const lifetime = Math.floor(policy.maxAge());
  later = asked.later;
  const age = Math.floor(policy.age());
  const used = policy.satisfiesWithoutRevalidation(message(asked.asked));
  return `M yes ${lifetime} ${age} ${used ? "use" : "ask"} E end`;
}

const SUBJECTS = {
  url, cache,
  request: requests,
  response: response,
  "response-strict": response,
};

function main(subject, folder) {
  const answerOf = SUBJECTS[subject];
  if (subject === "cache") cache.CachePolicy = require(folder);
  if (!answerOf) throw new Error(`unknown subject: ${subject}`);
  const cases = fs.readFileSync(0);
  const lines = [];
  for (let start = 0; start + 4 <= cases.length;) {
    const end = start + 4 + cases.readUInt32BE(start);
    lines.push(answerOf(cases.subarray(start + 4, end)));
    start = end;
  }
  fs.writeSync(1, lines.map((line) => line + "\n").join(""));
}

main(process.argv[2], process.env.CACHE_SEMANTICS);
