// The page's side of the chat: one WebSocket, opened anew when it breaks.

const PAUSES_MS = [500, 1000, 2000, 5000, 10000];
const [door, mouth, talk, state] = ['door', 'mouth', 'talk', 'state'].map(
  (id) => document.getElementById(id));
let socket = null;
let failures = 0;

function show(line) {
  const item = document.createElement('li');
  // Text, never markup: it comes from others.
  item.textContent = line;
  talk.append(item);
  item.scrollIntoView();
}

function connect(name) {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  socket = new WebSocket(`${scheme}://${location.host}/chat?name=${encodeURIComponent(name)}`);
  socket.onopen = () => {
    failures = 0;
    door.hidden = true;
    mouth.hidden = false;
    mouth.text.focus();
    state.textContent = 'connected';
  };
  socket.onmessage = (event) => show(event.data);
  socket.onclose = (event) => {
    state.textContent = `gone (${event.code} ${event.reason})`;
    // Others broke off too: not all should come back at once.
    const pause = PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)];
    setTimeout(() => connect(name), pause * (0.5 + Math.random()));
  };
}

door.addEventListener('submit', (event) => {
  event.preventDefault();
  connect(door.name.value);
});
mouth.addEventListener('submit', (event) => {
  event.preventDefault();
  if (socket.readyState === WebSocket.OPEN) {
    socket.send(mouth.text.value);
    mouth.reset();
  }
});
