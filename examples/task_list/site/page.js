// Shows the tasks. What the user does goes to the API, and what is shown comes
// from it alone: from the list when the page connects, and then from events. So
// all windows show the same, whoever made a change.
"use strict";

const find = (id) => document.getElementById(id);

/** The list's revision that is shown; null while it is loaded. */
let revision = null;
/** Events that came while the list was loaded. */
let waiting = [];
/** How often a list was asked for. */
let loads = 0;

async function ask(method, path, content) {
  const options = { method };
  if (content !== undefined) {
    options.body = JSON.stringify(content);
    options.headers = { "Content-Type": "application/json" };
  }
  const response = await fetch(path, options);
  const text = await response.text();
  if (!response.ok) {
    const problem = JSON.parse(text || "{}");
    throw new Error([problem.name, problem.detail].join(" ").trim());
  }
  return text && JSON.parse(text);
}

/** Does what the user wants; says so if it cannot be done. */
async function attempt(action) {
  try {
    await action();
    find("problem").hidden = true;
  } catch (error) {
    find("problem").textContent = error.message;
    find("problem").hidden = false;
  }
}

function itemOf(task) {
  const item = document.createElement("li");
  item.id = `task-${task.id}`;

  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = task.done;
  box.onchange = () =>
    attempt(async () => {
      const wanted = box.checked;
      // The event that follows says what it really is.
      box.checked = !wanted;
      await ask("PATCH", `/api/tasks/${task.id}`, { done: wanted });
    });

  const label = document.createElement("label");
  label.classList.toggle("done", task.done);
  // Text, never HTML: others wrote it.
  label.append(box, " ", task.title);

  const remove = document.createElement("button");
  remove.textContent = "Remove";
  remove.ariaLabel = `Remove ${task.title}`;
  remove.onclick = () =>
    attempt(() => ask("DELETE", `/api/tasks/${task.id}`));

  item.append(label, remove);
  return item;
}

function show(task) {
  const old = find(`task-${task.id}`);
  if (old) old.replaceWith(itemOf(task));
  else find("tasks").append(itemOf(task));
}

function take(event) {
  if (revision === null) {
    waiting.push(event);
    return;
  }
  const its = Number(event.lastEventId);
  if (its <= revision) return;
  revision = its;
  const task = JSON.parse(event.data);
  if (event.type === "removed") find(`task-${task.id}`)?.remove();
  else show(task);
}

/** Loads the list once events come, so that no change falls between the two. */
async function load() {
  revision = null;
  waiting = [];
  const load = ++loads;
  const list = await ask("GET", "/api/tasks");
  if (load !== loads) return;
  find("tasks").replaceChildren(...list.tasks.map(itemOf));
  revision = list.revision;
  waiting.forEach(take);
  find("state").textContent = "live";
  find("state").className = "live";
}

const events = new EventSource("/api/events");
events.onopen = () => attempt(load);
events.onerror = () => {
  find("state").textContent = "connecting";
  find("state").className = "";
};
events.addEventListener("changed", take);
events.addEventListener("removed", take);

find("add").onsubmit = (event) => {
  event.preventDefault();
  attempt(async () => {
    await ask("POST", "/api/tasks", { title: find("title").value });
    find("title").value = "";
  });
};
