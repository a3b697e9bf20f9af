"""The script of the page about an API: a form for each operation."""

comptime PAGE_SCRIPT_DIGEST = StaticString(
    "sha256-iF/EKn5Ajk5Be3QM99Jy5HL8LFOAYBuTBNO4NLll9Vs="
)
"""What `Content-Security-Policy` names the script by."""

comptime PAGE_SCRIPT = StaticString(
    """
"use strict";
const source = document.currentScript.dataset.document;

function make(parent, name, text, fields) {
  const made = Object.assign(document.createElement(name), fields);
  if (text) made.append(text);
  parent.append(made);
  return made;
}

function resolve(api, schema) {
  while (schema && schema.$ref)
    schema = api.components.schemas[schema.$ref.split("/").pop()];
  return schema || {};
}

function example(api, schema, depth) {
  schema = resolve(api, schema);
  if (schema.anyOf) return example(api, schema.anyOf[0], depth);
  if (schema.enum) return schema.enum[0];
  if (schema.type === "object") {
    const value = {};
    for (const name in depth < 5 ? schema.properties : {})
      value[name] = example(api, schema.properties[name], depth + 1);
    return value;
  }
  if (schema.type === "array")
    return depth < 5 && schema.items ? [example(api, schema.items, depth + 1)] : [];
  const least = Math.max(schema.minimum || 0, 0);
  const plain = {integer: least, number: least, boolean: false, string: ""};
  return schema.type in plain ? plain[schema.type] : null;
}

function field(form, name, note, required, tag, type) {
  const label = make(form, "label");
  make(label, "code", name);
  make(label, "small", " " + note + (required ? ", required" : ""));
  make(label, "br");
  const entry = make(label, tag, "", {name});
  if (type) entry.type = type;
  return entry;
}

function kind(schema) {
  return (schema.type || "any") + (schema.type === "array" ? ", one a line" : "");
}

function addContent(api, form, content) {
  const media = Object.keys(content)[0];
  const schema = content[media].schema;
  if (media.endsWith("json")) {
    const text = field(form, "content", media, true, "textarea");
    text.value = JSON.stringify(example(api, schema, 0), null, 2);
    text.rows = Math.min(20, text.value.split(String.fromCharCode(10)).length);
    return () => ({body: text.value, headers: {"Content-Type": media}});
  }
  const shape = resolve(api, schema);
  const entries = [];
  for (const name in shape.properties) {
    let one = resolve(api, shape.properties[name]);
    if (one.anyOf) one = resolve(api, one.anyOf[0]);
    const many = one.type === "array";
    const item = many ? resolve(api, one.items) : one;
    const required = shape.required.includes(name) && !many;
    const isFile = item.format === "binary";
    const tag = many && !isFile ? "textarea" : "input";
    const entry = field(form, name, isFile ? "file" : kind(one), required, tag, isFile && "file");
    entry.multiple = isFile && many;
    entries.push(entry);
  }
  return () => {
    const body = media.startsWith("multipart/") ? new FormData() : new URLSearchParams();
    for (const entry of entries) {
      const values = entry.files ? [...entry.files] : lines(entry);
      for (const value of values) body.append(entry.name, value);
    }
    return {body, headers: {}};
  };
}

function lines(entry) {
  const values = entry.tagName === "TEXTAREA"
    ? entry.value.split(String.fromCharCode(10)) : [entry.value];
  return values.filter(value => value !== "");
}

// What was typed once is there in all forms that want the same.
const shared = new Map();

function credential(form, id, scheme) {
  const add = (name, note, type) => {
    const told = note + (scheme.description ? ", " + scheme.description : "");
    const entry = field(form, name, told, false, "input", type);
    entry.autocomplete = "off";
    const key = id + " " + name;
    const all = shared.get(key) || [];
    shared.set(key, all);
    all.push(entry);
    entry.addEventListener("input", () => {
      for (const other of all) other.value = entry.value;
    });
    return entry;
  };
  if (scheme.type === "apiKey") {
    const entry = add(scheme.name, scheme.in);
    return (headers, query) => {
      if (!entry.value) return;
      if (scheme.in === "header") headers[scheme.name] = entry.value;
      else if (scheme.in === "query") query.append(scheme.name, entry.value);
      else setCookie(scheme.name, entry.value);
    };
  }
  if (scheme.scheme === "basic") {
    const user = add("user", "name");
    const password = add("password", "password", "password");
    return headers => {
      if (!user.value && !password.value) return;
      const octets = new TextEncoder().encode(user.value + ":" + password.value);
      headers.Authorization = "Basic " + btoa(String.fromCharCode(...octets));
    };
  }
  const isBearer = scheme.scheme === "bearer";
  const entry = isBearer ? add("token", "Bearer") : add("Authorization", scheme.scheme);
  return headers => {
    if (entry.value)
      headers.Authorization = (isBearer ? "Bearer " : "") + entry.value;
  };
}

function setCookie(name, value) {
  document.cookie = name + "=" + value + ";path=/;SameSite=Strict";
}

function target(section, entries, query) {
  let path = section.dataset.pattern;
  for (const [parameter, entry] of entries) {
    if (parameter.in === "path")
      path = path.split("/").map(part =>
        part === ":" + parameter.name ? encodeURIComponent(entry.value)
        : part === "*" + parameter.name
        ? entry.value.split("/").map(encodeURIComponent).join("/") : part).join("/");
    else if (parameter.in === "query")
      for (const value of lines(entry)) query.append(parameter.name, value);
  }
  return path + (query.size ? "?" + query : "");
}

async function send(section, method, entries, content, credentials, output) {
  const request = content ? content() : {headers: {}};
  const query = new URLSearchParams();
  request.method = method.toUpperCase();
  for (const show of credentials) show(request.headers, query);
  for (const [parameter, entry] of entries) {
    const value = lines(entry)[0];
    if (value === undefined) continue;
    if (parameter.in === "header") request.headers[parameter.name] = value;
    if (parameter.in === "cookie") setCookie(parameter.name, value);
  }
  const began = performance.now();
  const where = target(section, entries, query);
  output.textContent = request.method + " " + where;
  delete output.dataset.status;
  const end = String.fromCharCode(10);
  try {
    const answer = await fetch(where, request);
    let text = await answer.text();
    const took = Math.round(performance.now() - began);
    if ((answer.headers.get("Content-Type") || "").includes("json"))
      try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { }
    let head = answer.status + " " + answer.statusText + ", " + took + " ms" + end;
    for (const [name, value] of answer.headers) head += name + ": " + value + end;
    output.textContent = request.method + " " + where + end + head + end + text.slice(0, 100000);
    output.dataset.status = answer.status;
  } catch (error) {
    output.textContent += end + "no answer: " + error.message;
    output.dataset.status = "none";
  }
}

function addForm(api, section) {
  const path = api.paths[section.dataset.path];
  const method = section.dataset.method === "*" ? "get" : section.dataset.method;
  const operation = path && path[method];
  if (!operation) return;
  const details = make(section, "details");
  make(details, "summary", "Try it");
  const form = make(details, "form");
  const entries = (operation.parameters || []).map(parameter => {
    const isMany = parameter.schema.type === "array";
    const note = parameter.in + ", " + kind(parameter.schema);
    return [parameter, field(form, parameter.name, note, parameter.required, isMany ? "textarea" : "input")];
  });
  const credentials = Object.keys((operation.security || [{}])[0]).map(id =>
    credential(form, id, api.components.securitySchemes[id]));
  const content = operation.requestBody
    && addContent(api, form, operation.requestBody.content);
  make(form, "button", "Send " + method.toUpperCase());
  const output = make(details, "pre", "", {className: "answer"});
  form.addEventListener("submit", event => {
    event.preventDefault();
    send(section, method, entries, content, credentials, output);
  });
}

fetch(source).then(answer => answer.json()).then(api => {
  for (const section of document.querySelectorAll("section[data-path]")) addForm(api, section);
  document.documentElement.dataset.ready = "yes";
});
"""
)
"""Reads the OpenAPI document, and adds to each section of the page a form that
sends the request and shows the answer. It writes text alone into the page,
never HTML."""
