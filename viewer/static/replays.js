// The list of replays and matches, a replay that was dragged onto the page, and the view of one replay.

import { getJson, postFile } from "./api.js";
import { button, el, refill } from "./dom.js";
import { number, t } from "./i18n.js";
import { analysisPanel } from "./analysis.js";
import { GameTable, replaysAsGames } from "./game_table.js";
import { GameRecord } from "./record.js";
import { GameView } from "./gameview.js";
import { emptyBox, errorBox, loading, playerNames } from "./messages.js";
import { howToPlay } from "./rooms.js";
import { address } from "./routes.js";

const MAX_FILE_BYTES = 4 * 1024 * 1024; // as on the server; this spares a pointless upload

// The file that was dropped last. It has no name on the server, so an address alone cannot bring it back.
let dropped = null;

// Sends a file to the server and goes to its replay. Throws a RequestError with the server's sentence.
export async function openFile(file) {
  if (file.size > MAX_FILE_BYTES) {
    throw Object.assign(new Error(), { text: { de: `„${file.name}“ ist zu groß für einen Replay.`, en: `“${file.name}” is too large for a replay.` } });
  }
  const game = await postFile("api/replays", file);
  game.title = game.title || file.name;
  dropped = game;
  const target = game.replay ? address("replay", game.replay) : address("replay", "*", 0);
  if (location.hash === target) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = target;
}

function matchSection(match) {
  const items = (match.games ?? []).map((game, index) => {
    const winner = game.winner === 0 || game.winner === 1 ? t("replays.won", { number: game.winner + 1 }) : "";
    const points = game.points ? `${number(game.points[0])}:${number(game.points[1])}` : "";
    return el("li", {}, el("a", { href: address("replay", game.name) }, t("replays.game", { number: game.number ?? index + 1 }), ": ", playerNames(game.players)), " ", el("span", { class: "muted", text: [points, winner].filter(Boolean).join(", ") }));
  });
  return el("details", { class: "match" }, el("summary", {}, el("bdi", { text: match.name.split(":").at(-1) }), ` (${number(items.length)})`, matchResult(match)), el("ul", { class: "games" }, items));
}

function matchResult(match) {
  if (!match.score || match.players?.length !== 2) return "";
  const [first, second] = match.players;
  const [ours, theirs] = match.score.map((score) => number(score, Number.isInteger(score) ? 0 : 1)); // a draw is half a point
  return el("span", { class: "match-score" }, " ", el("bdi", { text: first }), ` ${ours} : ${theirs} `, el("bdi", { text: second }));
}

// Returns a tournament: its table by points, and its matches.
function tournamentSection(tournament) {
  const heads = ["program", "points", "games", "wins", "draws", "losses"];
  const cell = (value) => el("td", { class: "number", text: value === null ? "–" : number(value) });
  const rows = tournament.table.map((line) => el("tr", {}, el("th", { scope: "row" }, el("bdi", { text: line.name })), heads.slice(1).map((head) => cell(line[head]))));
  const table = rows.length ? el("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": tournament.name }, el("table", { class: "list" },
    el("thead", {}, el("tr", {}, heads.map((head, index) => el("th", { scope: "col", class: index ? "number" : null, text: t(`replays.${head}`) })))),
    el("tbody", {}, rows))) : null;
  return el("details", { class: "tournament", open: true }, el("summary", {}, el("bdi", { text: tournament.name })), table, tournament.matches.map(matchSection));
}

export function filePicker(onError) {
  const input = el("input", {
    type: "file", accept: ".xml,.gz,.xml.gz", class: "visually-hidden", id: "file", tabindex: "-1", "aria-hidden": "true",
    onchange: async () => {
      const [file] = input.files;
      input.value = "";
      if (!file) return;
      try {
        await openFile(file);
      } catch (error) {
        onError(error);
      }
    },
  });
  return [input, button(t("replays.open"), () => input.click(), { class: "primary" })];
}

// Returns the view of all replays.
export function replaysView() {
  const place = el("div", {}, loading());
  const errors = el("div", {});
  const load = async () => {
    try {
      const { replays = [], matches = [], tournaments = [], isKept } = await getJson("api/replays");
      if (!replays.length && !matches.length && !tournaments.length) {
        place.replaceChildren(emptyBox(el("p", { text: t(isKept ? "replays.empty" : "replays.notKept") }), isKept ? await howToPlay() : null));
        return;
      }
      const table = new GameTable(t("replays.title"), (replay) => replay.name, (replay) => address("replay", replay.name));
      table.show(replaysAsGames(replays));
      refill(place, table.element,
        matches.length ? el("section", { class: "matches" }, el("h2", { text: t("replays.matches") }), matches.map(matchSection)) : null,
        tournaments.length ? el("section", { class: "matches" }, el("h2", { text: t("replays.tournaments") }), tournaments.map(tournamentSection)) : null);
    } catch (error) {
      place.replaceChildren(errorBox(error));
    }
  };
  load();
  return {
    title: t("replays.title"),
    element: el("div", { class: "page" }, el("h1", { tabindex: "-1", text: t("replays.title") }),
      el("div", { class: "drop-hint" }, el("p", { text: t("replays.drop") }), filePicker((error) => errors.replaceChildren(errorBox(error)))), errors, place),
    showError: (error) => errors.replaceChildren(errorBox(error)),
    dispose: () => {},
  };
}

// Returns the parts of a replay: its view below `element`. `name` is null for a game that the server cannot find again.
export function showReplay(element, game, name, ply, replaceAddress) {
  const record = new GameRecord(game);
  const own = name ?? "*";
  const addressOf = (at) => address("replay", own, at);
  const analysis = analysisPanel(name ? { replay: name } : null, record, addressOf, () => view.show());
  const playOn = name ? el("a", { class: "as-button play-on", href: address("play", "replay", name), text: t("replay.playOn") }) : null;
  const view = new GameView(record, {
    ply: ply ?? record.firstPly,
    loadLegal: name ? (at) => getJson(`api/replays/${encodeURIComponent(name)}/legal?ply=${at}`) : null,
    onPly: (at) => {
      replaceAddress(addressOf(at));
      if (playOn) playOn.href = address("play", "replay", name, at);
    },
    actions: playOn ? [playOn] : [],
    extras: [analysis.element],
    result: { explain: name || game.analysis ? () => analysis.explain() : null, files: name ? `api/replays/${encodeURIComponent(name)}/file` : null, isComplete: true },
  });
  analysis.update(record);
  element.replaceChildren(view.element);
  return {
    view,
    dispose: () => {
      view.dispose();
      analysis.dispose();
    },
  };
}

// Returns the view of one replay.
export function replayView(name, ply, replaceAddress) {
  const element = el("div", { class: "page wide" }, loading());
  let shown = null;
  let isDisposed = false;
  const load = async () => {
    try {
      const isDropped = dropped && (name === "*" || dropped.replay === name);
      if (name === "*" && !isDropped) throw Object.assign(new Error(), { text: { de: "Diese Datei muss noch einmal geöffnet werden.", en: "This file has to be opened again." } });
      const game = isDropped ? dropped : await getJson(`api/replays/${encodeURIComponent(name)}`);
      if (!isDisposed) shown = showReplay(element, game, name === "*" ? null : name, ply, replaceAddress);
    } catch (error) {
      element.replaceChildren(el("h1", { tabindex: "-1", text: t("replays.title") }), errorBox(error), el("p", {}, el("a", { href: address("replays"), text: t("replays.back") })));
    }
  };
  load();
  return {
    title: t("replay.title"),
    element,
    setPly: (at) => shown?.view.goTo(at ?? shown.view.record.firstPly),
    dispose: () => {
      isDisposed = true;
      shown?.dispose();
    },
  };
}
