// The page's side of the room: one WebSocket, opened anew when it breaks.

const PAUSES_MS = [500, 1000, 2000, 5000, 10000];
const [door, mouth, talk, state] = ['door', 'mouth', 'talk', 'state'].map(
  (id) => document.getElementById(id));
let socket = null;
let failures = 0;

function line(notice) {
  switch (notice.kind) {
    case 'join': return `${notice.name} has come`;
    case 'leave': return `${notice.name} has left`;
    default: return `${notice.name}: ${notice.text}`;
  }
}

function show(notice) {
  const item = document.createElement('li');
  item.className = notice.kind;
  // Text, never markup: it comes from others.
  item.textContent = line(notice);
  talk.append(item);
  item.scrollIntoView();
  state.textContent = `${notice.present} here`;
}

function connect(name) {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  socket = new WebSocket(`${scheme}://${location.host}/room?name=${encodeURIComponent(name)}`);
  socket.onopen = () => {
    failures = 0;
    door.hidden = true;
    mouth.hidden = false;
    mouth.elements.text.focus();
  };
  socket.onmessage = (event) => show(JSON.parse(event.data));
  socket.onclose = () => {
    state.textContent = 'not connected';
    // Others broke off, too: not all should come back at once.
    const pause = PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)];
    setTimeout(() => connect(name), pause * (0.5 + Math.random()));
  };
}

door.addEventListener('submit', (event) => {
  event.preventDefault();
  connect(door.elements.name.value);
});
mouth.addEventListener('submit', (event) => {
  event.preventDefault();
  if (socket.readyState === WebSocket.OPEN) {
    socket.send(mouth.elements.text.value);
    mouth.reset();
  }
});
