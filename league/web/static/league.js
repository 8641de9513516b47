// What the pages of a league do in the browser: they keep themselves up to date, mark the own team, upload, print. All of
// it is an addition: without this script every page but the upload works.
"use strict";

(() => {
  const LEAST_PAUSE_MS = 5000;
  const WAITING_PAUSE_MS = 2000;

  // The viewer's pages, which are shown inside some of these, speak the same language.
  try {
    localStorage.setItem("spielleiter.language", document.documentElement.lang);
    const theme = localStorage.getItem("spielleiter.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // a browser without storage
  }

  const ownTeam = document.body.dataset.team;
  function markOwn(root) {
    if (!ownTeam) return;
    for (const each of root.querySelectorAll(`main [data-team="${CSS.escape(ownTeam)}"]`)) each.classList.add("is-own");
  }

  // -- keeping up to date: parts with `data-live` are replaced by those of the page as it is now

  let lastLoad = performance.now();
  let timer = null;
  async function load() {
    timer = null;
    lastLoad = performance.now();
    let page;
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", redirect: "error" });
      if (!response.ok) return;
      page = new DOMParser().parseFromString(await response.text(), "text/html");
    } catch {
      return; // the next change tries again
    }
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh || old.contains(document.activeElement) && document.activeElement !== document.body) continue;
      if (fresh.innerHTML !== old.dataset.shown) {
        old.replaceChildren(...fresh.cloneNode(true).childNodes);
        old.toggleAttribute("data-waiting", fresh.hasAttribute("data-waiting"));
        old.dataset.shown = fresh.innerHTML;
      }
    }
    markOwn(document);
    if (document.querySelector("[data-waiting]")) schedule();
  }
  function schedule() {
    if (timer !== null || document.hidden) return;
    const pause = document.querySelector("[data-waiting]") ? WAITING_PAUSE_MS : LEAST_PAUSE_MS;
    timer = setTimeout(load, Math.max(0, lastLoad + pause - performance.now()));
  }
  if (document.querySelector("[data-live]")) {
    let wasLost = false;
    const connect = () => {
      const source = new EventSource("/api/changes");
      source.addEventListener("changed", schedule);
      source.addEventListener("open", () => {
        if (wasLost) schedule(); // nobody has told this page what has changed meanwhile
        wasLost = false;
      });
      source.addEventListener("error", () => {
        wasLost = true;
        if (source.readyState === EventSource.CLOSED) setTimeout(connect, 10_000);
      });
      addEventListener("pagehide", () => source.close());
    };
    connect();
    document.addEventListener("visibilitychange", schedule);
    if (document.querySelector("[data-waiting]")) schedule();
  }
  markOwn(document);

  // -- uploading

  const RETRY_PAUSES_MS = [3000, 10_000];
  const form = document.getElementById("upload");
  // By its key, the league recognises an upload that is sent again because its answer was lost.
  let key = null;
  form?.addEventListener("input", () => (key = null));
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const [file] = form.elements.file.files;
    const problem = form.querySelector("[role=alert]");
    const progress = form.querySelector("progress");
    const button = form.querySelector("button");
    const refuse = (text) => {
      problem.textContent = text;
      problem.hidden = false;
      progress.hidden = true;
      button.disabled = false;
    };
    problem.hidden = true;
    if (!file) return refuse(form.dataset.noFile);
    if (file.size > Number(form.dataset.most)) return refuse(form.dataset.tooLarge);
    const query = new URLSearchParams({ name: file.name, main: form.elements.main.value, parameters: form.elements.parameters.value });
    key ??= [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(16)).join("-");
    const send = (pauses) => {
      const request = new XMLHttpRequest(); // fetch tells nothing about the progress of an upload
      request.open("PUT", `${form.getAttribute("action")}?${query}`);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.setRequestHeader("Idempotency-Key", key);
      request.setRequestHeader("X-Form-Token", form.dataset.token);
      request.responseType = "json";
      request.upload.addEventListener("progress", ({ loaded, total }) => {
        progress.value = total ? loaded / total : 0;
      });
      request.addEventListener("load", () => {
        if (request.status === 201) return location.assign(request.response.version.url);
        key = null;
        refuse(request.response?.error?.[document.documentElement.lang] ?? `${request.status}`);
      });
      request.addEventListener("error", () => {
        const [pause, ...later] = pauses;
        if (pause === undefined) refuse(form.dataset.lost);
        else setTimeout(send, pause, later);
      });
      request.send(file);
    };
    button.disabled = true;
    progress.hidden = false;
    send(RETRY_PAUSES_MS);
  });

  document.querySelector("[data-print]")?.addEventListener("click", () => print());

  // -- the viewer inside a page is as high as its content

  for (const frame of document.querySelectorAll("iframe.viewer")) {
    frame.addEventListener("load", () => {
      const inside = frame.contentDocument?.documentElement;
      if (!inside) return;
      const fit = () => {
        const { height } = frame.contentDocument.body.getBoundingClientRect();
        if (height > 100) frame.height = Math.ceil(height) + 4;
      };
      new ResizeObserver(fit).observe(frame.contentDocument.body);
      fit();
    });
  }
})();
