// The hello server of the benchmarks on Node's http, which has no router: a
// switch on the path stands for one.
// Usage: node server.js PORT WORKERS; BENCH_HOST is the address, by default loopback.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');

const port = Number(process.argv[2]);
const workers = Number(process.argv[3]);
const host = process.env.BENCH_HOST || '127.0.0.1';
const PLAIN = 'text/plain; charset=utf-8';
const large = Buffer.alloc(65536, 'x');

function answer(response, type, body) {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

function onRequest(request, response) {
  const path = request.url;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isRead && path === '/') answer(response, PLAIN, 'Hello, World!');
  else if (isRead && path === '/json') {
    answer(response, 'application/json', JSON.stringify({ message: 'Hello, World!' }));
  } else if (isRead && path === '/64k') answer(response, PLAIN, large);
  else if (isRead && path.startsWith('/users/')) answer(response, PLAIN, 'user ' + path.slice(7));
  else if (request.method === 'POST' && path === '/upload') {
    request.resume();
    request.on('end', () => answer(response, PLAIN, 'OK'));
  } else {
    response.writeHead(404, { 'Content-Length': 0 });
    response.end();
  }
}

if (workers > 1 && cluster.isPrimary) {
  for (let index = 0; index < workers; index++) cluster.fork();
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
    process.exit(0);
  });
} else {
  http.createServer(onRequest).listen(port, host);
}
