// The start of the page: header, language, theme, and the view that belongs to the address. In an exported file, which
// holds one game, that game's replay is the whole page.

import { getJson } from "./api.js";
import { announce, el, setText, visible } from "./dom.js";
import { isSoundOn, switchSound, watchSound } from "./effects.js";
import { LANGUAGES, language, setLanguage, t } from "./i18n.js";
import { adminView } from "./admin.js";
import { beamerView } from "./beamer.js";
import { errorText } from "./messages.js";
import { openFile, replayView, replaysView, showReplay } from "./replays.js";
import { roomsView, roomView } from "./rooms.js";
import { address, parseAddress, plyOf } from "./routes.js";
import { parseFrom, playView, seatView } from "./seat.js";
import { applyTheme, readSetting, writeSetting } from "./settings.js";

const PAGES = [["rooms", "nav.rooms"], ["replays", "nav.replays"], ["play", "nav.play"], ["admin", "nav.admin"]];
const THEMES = ["auto", "light", "dark"];

const embedded = document.getElementById("game");
const main = el("main", { id: "main" });
let current = null; // {key, view}
let siteAround = null; // {title, href, language} of the site that these pages are part of

function showHome(brand) {
  if (!siteAround) return;
  brand.href = siteAround.href;
  setText(brand, `← ${siteAround.title}`);
}

function replaceAddress(hash) {
  if (location.hash === hash) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    // too many changes in a short time: the next one will do
  }
}

function createView({ kind, parts }) {
  switch (kind) {
    case "rooms": return roomsView();
    case "room": return roomView(parts[0] ?? "", plyOf(parts[1]), replaceAddress);
    case "replays": return replaysView();
    case "replay": return replayView(parts[0] ?? "", plyOf(parts[1]), replaceAddress);
    case "play": return playView(parseFrom(parts));
    case "seat": return seatView(parts[0] ?? "");
    case "admin": return adminView();
    case "beamer": return beamerView(plyOf(parts[0]) ?? 1, parts[1] ?? null);
    default: {
      const message = el("p", { text: t("error.noPage") });
      return { title: "spielleiter", element: el("div", { class: "page" }, el("h1", { tabindex: "-1", text: t("error.noPageTitle") }), message), dispose: () => {} };
    }
  }
}

function embeddedView() {
  const game = JSON.parse(embedded.textContent);
  const element = el("div", { class: "page wide" });
  const { parts } = parseAddress(location.hash);
  const shown = showReplay(element, game, null, plyOf(parts[1]), replaceAddress);
  return { title: game.title || t("replay.title"), element, setPly: (ply) => shown.view.goTo(ply ?? 0), dispose: shown.dispose };
}

// Shows the view of the address. A view that is shown already only goes to the ply of the address.
function route({ isRebuilding = false } = {}) {
  const parsed = parseAddress(location.hash);
  const key = embedded ? "embedded" : `${parsed.kind}/${parsed.kind === "play" ? parsed.parts.join("/") : parsed.parts[0] ?? ""}`;
  if (!isRebuilding && current?.key === key && current.view.setPly && key !== "replay/*") {
    current.view.setPly(plyOf(parsed.parts[1]));
    return;
  }
  const isFirst = current === null;
  current?.view.dispose();
  const view = embedded ? embeddedView() : createView(parsed);
  current = { key, view };
  main.replaceChildren(view.element);
  document.title = view.title === "spielleiter" ? view.title : `${visible(view.title)} – spielleiter`;
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = link.dataset.kind === parsed.kind || (link.dataset.kind === "rooms" && ["room", "beamer"].includes(parsed.kind)) || (link.dataset.kind === "replays" && parsed.kind === "replay") || (link.dataset.kind === "play" && parsed.kind === "seat");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!isFirst && !isRebuilding) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function header() {
  const languages = el("div", { class: "switch", role: "group", "aria-label": t("nav.language") }, LANGUAGES.map((tag) =>
    el("button", {
      type: "button", "aria-pressed": String(tag === language()), lang: tag, "data-language": tag, title: t(`nav.language.${tag}`),
      onclick: () => {
        setLanguage(tag);
        if (siteAround) fetch(`${siteAround.language}${tag}`, { redirect: "manual" }).catch(() => {});
        build();
      },
    }, tag.toUpperCase())));
  const theme = el("select", {
    class: "theme", "aria-label": t("nav.theme"),
    onchange: () => {
      writeSetting("theme", theme.value);
      applyTheme();
    },
  }, THEMES.map((name) => el("option", { value: name, text: t(`nav.theme.${name}`) })));
  theme.value = THEMES.includes(readSetting("theme")) ? readSetting("theme") : "auto";
  const links = embedded ? null : el("nav", { "aria-label": t("nav.title") }, el("ul", {}, PAGES.map(([kind, key]) =>
    el("li", {}, el("a", { href: address(kind), "data-kind": kind, text: t(key) })))));
  const brand = embedded ? el("span", { class: "brand", text: "spielleiter" }) : el("a", { class: "brand", href: address("rooms"), text: "spielleiter" });
  showHome(brand);
  return el("header", { class: "site" }, el("a", { class: "skip", href: "#main", onclick: skip, text: t("nav.skip") }), brand, links, el("div", { class: "preferences" }, soundSwitch(), languages, theme));
}

function soundSwitch() {
  const element = el("button", {
    type: "button", class: "sound", "aria-pressed": String(isSoundOn()), "aria-label": t("nav.sound"), title: t("nav.sound"),
    onclick: () => {
      switchSound(!isSoundOn());
      element.setAttribute("aria-pressed", String(isSoundOn()));
    },
  }, "♪");
  watchSound((isPossible) => {
    element.hidden = !isPossible;
  });
  return element;
}

function skip(event) {
  event.preventDefault();
  const heading = main.querySelector("h1");
  heading?.scrollIntoView();
  heading?.focus();
}

// Builds the whole page, also after a change of the language.
function build() {
  document.documentElement.lang = language();
  const isRebuilding = current !== null;
  for (const old of document.querySelectorAll("body > header.site, body > main, body > footer")) old.remove();
  document.body.prepend(header(), main);
  route({ isRebuilding });
  if (isRebuilding) document.querySelector(`[data-language="${language()}"]`)?.focus();
}

function acceptFiles() {
  const overlay = el("div", { class: "drop-overlay" }, el("p", {}));
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;
  addEventListener("dragenter", (event) => {
    if (!isFile(event)) return;
    depth += 1;
    setText(overlay.firstChild, t("replays.dropHere"));
    document.body.append(overlay);
  });
  addEventListener("dragleave", (event) => {
    if (!isFile(event)) return;
    depth -= 1;
    if (depth <= 0) overlay.remove();
  });
  addEventListener("dragover", (event) => isFile(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    depth = 0;
    overlay.remove();
    const [file] = event.dataTransfer.files;
    if (!file) return;
    try {
      await openFile(file);
    } catch (error) {
      if (current?.view.showError) current.view.showError(error);
      else {
        main.querySelector(".drop-error")?.remove();
        main.prepend(el("p", { class: "error drop-error", role: "alert", text: errorText(error) }));
      }
      announce(errorText(error));
    }
  });
}

// On the pages of a match nobody can play: what leads there is left out. Pages that are part of another site lead back.
async function adaptToServer() {
  try {
    const { canPlay, sparesProcessor, home } = await getJson("api/info");
    document.documentElement.classList.toggle("watch-only", !canPlay);
    document.documentElement.classList.toggle("is-sparing", Boolean(sparesProcessor));
    siteAround = home ?? null;
    for (const brand of document.querySelectorAll("a.brand")) showHome(brand);
  } catch {
    // the views say that the server does not answer
  }
}

document.documentElement.classList.toggle("is-framed", window.top !== window);
applyTheme();
build();
addEventListener("hashchange", () => route());
if (!embedded) {
  acceptFiles();
  adaptToServer();
}
