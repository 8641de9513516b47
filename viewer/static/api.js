// Talking to the server: JSON requests, and events that the server sends. Every failure is a `RequestError` with a
// sentence in both languages.

import { localized, t } from "./i18n.js";

const UNREACHABLE = { de: "Der Server antwortet nicht. Läuft er noch?", en: "The server does not answer. Is it still running?" };

export class RequestError extends Error {
  // `text` is a string or an object with a text for each language; `status` is the HTTP status, or 0.
  constructor(text, status) {
    super(localized(text));
    this.text = text;
    this.status = status;
  }
}

let adminToken = null;

// The token against forged requests, which the server hands out with the session of an administrator.
export function setAdminToken(token) {
  adminToken = token;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...options });
  } catch {
    throw new RequestError(UNREACHABLE, 0);
  }
  if (response.ok) return response;
  let text = { de: `Der Server meldet den Fehler ${response.status}.`, en: `The server reports error ${response.status}.` };
  try {
    text = (await response.json()).error ?? text;
  } catch {
    // no JSON: the status has to be enough
  }
  throw new RequestError(text, response.status);
}

function headers(more = {}) {
  return adminToken === null ? more : { ...more, "X-Spielleiter-Token": adminToken };
}

export async function getJson(path) {
  return (await send(path, { headers: headers() })).json();
}

export async function postJson(path, data) {
  const body = JSON.stringify(data);
  const response = await send(path, { method: "POST", body, headers: headers({ "Content-Type": "application/json" }) });
  return response.status === 204 ? {} : response.json();
}

export async function postFile(path, file) {
  const type = { "Content-Type": "application/octet-stream" };
  return (await send(path, { method: "POST", body: file, headers: headers(type) })).json();
}

// Returns a file to keep, {blob, name}.
export async function getFile(path) {
  const response = await send(path, { headers: headers() });
  const [, name = "game"] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition")) ?? [];
  return { blob: await response.blob(), name };
}

// Returns why the server refuses a stream, which an EventSource does not tell; "" if it does not refuse it any more.
// `request` is an AbortController, and aborted in the end.
async function refusal(path, request) {
  const timer = setTimeout(() => request.abort(), 5000);
  try {
    await send(path, { headers: headers(), signal: request.signal });
    return "";
  } catch (error) {
    return request.signal.aborted ? t("connection.lost") : t("connection.refused", { reason: error.message });
  } finally {
    clearTimeout(timer);
    request.abort();
  }
}

// Follows the server-sent events of `path`. `handlers` maps names of events to functions that get the decoded data;
// `onState` is told what is wrong with the connection, or "" when it is there. Returns a function that ends it. The
// browser connects again by itself, except after an error status; then this does, with growing pauses.
export function subscribe(path, handlers, onState = () => {}) {
  let source = null;
  let timer = null;
  let pause = 500;
  let hasEnded = false;
  let question = null;
  const connect = () => {
    source = new EventSource(path);
    source.onopen = () => {
      pause = 500;
      onState("");
    };
    source.onerror = async () => {
      if (source.readyState !== EventSource.CLOSED) {
        onState(t("connection.lost"));
        return;
      }
      question = new AbortController();
      const problem = await refusal(path, question);
      if (hasEnded) return;
      if (problem) onState(problem);
      else pause = 500;
      timer = setTimeout(connect, pause);
      pause = Math.min(pause * 2, 10_000);
    };
    // the process of the pages is there, but not the server whose games it shows, or that one does not tell all
    source.addEventListener("notice", (event) => onState(localized(JSON.parse(event.data))));
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
    }
  };
  connect();
  return () => {
    hasEnded = true;
    question?.abort();
    clearTimeout(timer);
    source.close();
  };
}

// Sends `data` and reads the answer as server-sent events; resolves when the server ends them. `signal` aborts.
export async function postForEvents(path, data, handlers, signal) {
  const body = JSON.stringify(data);
  const type = { "Content-Type": "application/json" };
  const response = await send(path, { method: "POST", body, headers: headers(type), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value.replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const name = lines.find((line) => line.startsWith("event:"))?.slice(6).trim() ?? "message";
      const content = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
      if (content) handlers[name]?.(JSON.parse(content));
    }
  }
}
