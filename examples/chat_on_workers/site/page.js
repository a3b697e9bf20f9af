// The page's side of the room. Messages are server-sent events: the browser comes
// back by itself and names the last one that it has, so that none is missed. What
// is said, and what is of the moment, goes over a WebSocket.
"use strict";

const find = (id) => document.getElementById(id);
const PAUSES_MS = [300, 1000, 2000, 5000];
const TYPING_MS = 3000;
const ASK_MS = 2000;
const SHOWN_MAX = 1000;

let own = "";
let socket = null;
let worker = 0;
let failures = 0;
let isStreamLost = false;
let typingUntil = 0;
let typingSent = 0;

/** Shows a line, and follows it unless the reader is looking further up. */
function show(kind, ...parts) {
  const list = find("messages");
  const follows = list.scrollTop + list.clientHeight > list.scrollHeight - 40;
  const item = document.createElement("li");
  item.className = kind;
  // Text, never HTML: others wrote it.
  item.append(...parts);
  list.append(item);
  if (list.childElementCount > SHOWN_MAX) list.firstElementChild.remove();
  if (follows) list.scrollTop = list.scrollHeight;
}

function marked(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function showState() {
  const isOpen = socket.readyState === WebSocket.OPEN && worker > 0;
  find("state").classList.toggle("live", isOpen);
  find("state").textContent = isOpen
    ? `connected to worker ${worker} as ${own}`
    : "connecting again";
}

function showNames(names) {
  find("names").replaceChildren(...names.map((name) => marked("li", name)));
}

function send(said) {
  if (socket.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(said));
  return true;
}

function hear(news) {
  if (news.kind === "welcome") {
    if (worker > 0 && worker !== news.worker) {
      show("note", `from worker ${worker} to worker ${news.worker}`);
    }
    worker = news.worker;
    failures = 0;
    showState();
  } else if (news.kind === "typing") {
    if (news.name === own) return;
    find("typing").textContent = `${news.name} is writing`;
    typingUntil = Date.now() + TYPING_MS;
    return;
  } else if (news.kind !== "who") {
    if (news.name !== own) show("note", news.name + (news.kind === "came" ? " has come" : " has left"));
    // Its own worker knows best who is where; others hear a moment later.
    send({});
    return;
  }
  showNames(news.names);
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const name = encodeURIComponent(own);
  socket = new WebSocket(`${scheme}://${location.host}/room?name=${name}`);
  socket.onmessage = (event) => hear(JSON.parse(event.data));
  socket.onclose = (event) => {
    showState();
    if (event.code === 4000) return;
    // Others were cut off, too: not all should come back at once.
    const pause = PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)];
    setTimeout(connect, pause * (0.5 + Math.random()));
  };
}

function listen() {
  const messages = new EventSource("/messages");
  messages.onmessage = (event) => {
    const { name, text, worker: at } = JSON.parse(event.data);
    const kind = name === own ? "own" : "";
    show(kind, marked("b", name), text, marked("small", `worker ${at}`));
    if (name !== own) find("typing").textContent = "";
  };
  messages.onerror = () => {
    isStreamLost = true;
  };
  messages.onopen = () => {
    if (isStreamLost) show("note", "messages go on from where they were");
    isStreamLost = false;
  };
}

function enter(name) {
  own = name;
  sessionStorage.setItem("name", own);
  find("door").hidden = true;
  document.querySelector("main").hidden = false;
  find("text").focus();
  connect();
  listen();
  // The members of a worker that died are missed after some seconds.
  setInterval(() => {
    send({});
    if (Date.now() > typingUntil) find("typing").textContent = "";
  }, ASK_MS);
}

find("door").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(find("name").value);
});

find("mouth").addEventListener("submit", (event) => {
  event.preventDefault();
  // What cannot be sent now stays where it was written.
  if (send({ text: find("text").value })) find("text").value = "";
});

find("text").addEventListener("input", () => {
  if (Date.now() - typingSent < TYPING_MS / 2) return;
  typingSent = Date.now();
  send({ typing: true });
});

// A window that gets smaller shows the newest still.
addEventListener("resize", () => {
  find("messages").scrollTop = find("messages").scrollHeight;
});

// Who loads the page anew is the same person.
if (sessionStorage.getItem("name")) enter(sessionStorage.getItem("name"));
