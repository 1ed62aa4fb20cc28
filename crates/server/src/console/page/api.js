// Calls of the server. The token lives in this module and nowhere else.

let token = "";
const listeners = new Set();

/** Whether there is a token. */
export function hasToken() {
  return token !== "";
}

/** Sends this token from now on; an empty one is none. */
export function setToken(value) {
  token = value;
  for (const listener of listeners) listener();
}

/** Calls back when the token has changed. */
export function onToken(listener) {
  listeners.add(listener);
}

/** An answer that is no success. */
export class CallError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether another token could help. */
  get wantsToken() {
    return this.status === 401 || this.status === 403;
  }
}

function explained(status, text) {
  try {
    const json = JSON.parse(text);
    const told = json.error ?? json.message;
    if (typeof told === "string") return told;
  } catch {
    // It is no JSON; the text says it.
  }
  return text.trim() || `the server answered ${status}`;
}

/** The answer to a request; a path is relative to the root of the server. */
export async function call(method, path, { body, accept, signal } = {}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (accept) headers.Accept = accept;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const url = new URL(`../${path}`, document.baseURI);
  let answer;
  try {
    answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new CallError(0, "the server cannot be reached");
  }
  return { status: answer.status, text: await answer.text() };
}

/** The JSON of a successful answer. */
export async function json(method, path, options) {
  const { status, text } = await call(method, path, options);
  if (status < 200 || status > 299) throw new CallError(status, explained(status, text));
  return text === "" ? null : JSON.parse(text);
}

/** The text of a successful answer. */
export async function plain(path, options) {
  const { status, text } = await call("GET", path, options);
  if (status < 200 || status > 299) throw new CallError(status, explained(status, text));
  return text;
}

/** The application that is served, with what the server tells of itself. */
export function application() {
  return json("GET", "console/api/application");
}

/** Whether the token is that of an administrator. Without a token the page only shows, wherever it is. */
export async function isAdmin() {
  return hasToken() && (await application()).admin;
}

/** The path of a version of a model. */
export function modelPath(name, version) {
  const of = version ? `/versions/${encodeURIComponent(version)}` : "";
  return `v2/models/${encodeURIComponent(name)}${of}`;
}
