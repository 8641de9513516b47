// The list of rooms, which keeps itself up to date, and the view of one room.

import { getJson, subscribe } from "./api.js";
import { el, setText } from "./dom.js";
import { number, t, tOr } from "./i18n.js";
import { adminPanel } from "./admin.js";
import { analysisPanel } from "./analysis.js";
import { GameRecord } from "./record.js";
import { GameView } from "./gameview.js";
import { emptyBox, errorBox, loading, playerNames } from "./messages.js";
import { address } from "./routes.js";

class RoomRow {
  constructor(room) {
    this.link = el("a", { href: address("room", room.id) });
    this.players = el("span", { class: "room-players" });
    this.link.append(this.players);
    this.game = el("td");
    this.ply = el("td", { class: "number" });
    this.points = el("td", { class: "number" });
    this.state = el("td");
    this.element = el("tr", { "data-room": room.id }, el("th", { scope: "row" }, this.link), this.game, this.ply, this.points, this.state);
    this.update(room);
  }

  update(room) {
    const key = JSON.stringify([room.players, room.freeSeats]);
    if (this.key !== key) {
      this.key = key;
      this.players.replaceChildren(...playerNames(room.players, room.freeSeats));
    }
    setText(this.game, tOr(`game.${room.game}`, room.gameType ?? ""));
    setText(this.ply, number(room.ply ?? 0));
    setText(this.points, room.points ? room.points.map((value) => number(Array.isArray(value) ? value[0] : value)).join(" : ") : "–");
    setText(this.state, room.isPaused ? t("room.paused") : tOr(`room.state.${room.state}`, String(room.state ?? "")));
    this.element.className = `state-${room.isPaused ? "paused" : room.state}`;
  }
}

// Returns the view of all rooms.
export function roomsView() {
  const body = el("tbody");
  const table = el("table", { class: "list" },
    el("caption", { class: "visually-hidden", text: t("rooms.title") }),
    el("thead", {}, el("tr", {}, ["rooms.players", "rooms.game", "rooms.ply", "rooms.points", "rooms.state"].map((key, index) =>
      el("th", { scope: "col", class: index === 2 || index === 3 ? "number" : null, text: t(key) })))),
    body);
  const empty = emptyBox(el("p", { text: t("rooms.empty") }), el("pre", { class: "example", tabindex: "0", text: "spielleiter play --strategy greedy" }),
    el("p", {}, el("a", { class: "as-button", href: address("play"), text: t("rooms.playYourself") })));
  const connection = el("p", { class: "connection muted", role: "status" });
  const scroller = el("div", { class: "table-scroller" }, table);
  scroller.hidden = true;
  empty.hidden = true;
  const waiting = loading();
  const rows = new Map();
  const show = (rooms) => {
    waiting.hidden = true;
    const seen = new Set();
    let before = null;
    for (const room of rooms) {
      seen.add(room.id);
      let row = rows.get(room.id);
      if (row) row.update(room);
      else {
        row = new RoomRow(room);
        rows.set(room.id, row);
      }
      // a row is moved only if its place has changed, which keeps the keyboard's focus
      const wanted = before ? before.nextSibling : body.firstChild;
      if (row.element !== wanted) body.insertBefore(row.element, wanted);
      before = row.element;
    }
    for (const [id, row] of rows) {
      if (seen.has(id)) continue;
      row.element.remove();
      rows.delete(id);
    }
    scroller.hidden = rooms.length === 0;
    empty.hidden = rooms.length > 0;
  };
  const end = subscribe("/api/events", { rooms: (data) => show(data.rooms ?? data) }, (text) => setText(connection, text));
  return {
    title: t("rooms.title"),
    element: el("div", { class: "page" },
      el("header", { class: "game-head" }, el("h1", { tabindex: "-1", text: t("rooms.title") }), el("a", { class: "as-button", href: address("beamer", 1), text: t("beamer.title") })), connection, waiting, scroller, empty),
    dispose: end,
  };
}

const FILL_PAUSE_MS = 2000;

// Fetches a live game again when plies are missing, at most every two seconds, and at once when the game is over.
export class GapFiller {
  constructor(path, view) {
    this.path = path;
    this.view = view;
    this.timer = null;
    this.isDisposed = false;
  }

  update() {
    if (!this.view.record.hasGaps || this.timer !== null) return;
    this.timer = setTimeout(() => this.fill(), this.view.record.end ? 0 : FILL_PAUSE_MS);
  }

  async fill() {
    try {
      const game = await getJson(this.path);
      if (!this.isDisposed) this.view.fill(game);
    } catch {
      // the next update tries again
    }
    this.timer = null;
    if (!this.isDisposed && this.view.record.end) this.update();
  }

  dispose() {
    this.isDisposed = true;
    clearTimeout(this.timer);
  }
}

// Returns the view of one room, at a ply or at its newest one.
export function roomView(id, ply, replaceAddress) {
  const element = el("div", { class: "page wide" }, loading());
  const path = `/api/rooms/${encodeURIComponent(id)}`;
  const connection = el("p", { class: "connection muted", role: "status" });
  const disposables = [];
  let view = null;
  let isDisposed = false;
  // A room whose game has not begun has no position yet.
  const waitForStart = (game, admin) => {
    element.replaceChildren(connection, el("h1", { tabindex: "-1" }, playerNames(game.players, game.freeSeats)),
      emptyBox(el("p", { text: t("room.notBegun") })), admin.element);
    const end = subscribe(`${path}/events`, {
      position: (event) => {
        if (!event.positions?.length) return;
        end();
        admin.dispose();
        load();
      },
      gone: () => {
        setText(connection, t("room.gone"));
        end();
      },
    }, (text) => setText(connection, text));
    disposables.push({ dispose: end }, admin);
  };
  const load = async () => {
    let game;
    try {
      game = await getJson(path);
    } catch (error) {
      element.replaceChildren(el("h1", { tabindex: "-1", text: t("rooms.title") }), errorBox(error), el("p", {}, el("a", { href: address("rooms"), text: t("rooms.back") })));
      return;
    }
    if (isDisposed) return;
    const admin = adminPanel(id);
    if (!game.positions?.length) {
      waitForStart(game, admin);
      return;
    }
    const record = new GameRecord(game);
    const analysis = analysisPanel({ room: id }, record, (target) => address("room", id, target), () => view.show());
    const playOn = el("a", { class: "as-button play-on", href: address("play", "room", id), text: t("replay.playOn") });
    view = new GameView(record, {
      ply,
      loadLegal: (at) => getJson(`${path}/legal?ply=${at}`),
      onPly: (at, isNewest) => {
        replaceAddress(isNewest ? address("room", id) : address("room", id, at));
        playOn.href = address("play", "room", id, at);
      },
      actions: [el("a", { class: "as-button", href: address("beamer", 1, id), text: t("beamer.title") }), playOn],
      extras: [admin.element, analysis.element],
      result: { explain: () => analysis.explain(), files: `${path}/file` },
    });
    const filler = new GapFiller(path, view);
    const follow = (event) => {
      view.update(event);
      filler.update();
      admin.update(record);
      analysis.update(record);
    };
    follow({});
    element.replaceChildren(connection, view.element);
    const unsubscribe = subscribe(`${path}/events`, {
      position: follow,
      gone: () => {
        setText(connection, t("room.gone"));
        unsubscribe();
      },
    }, (text) => setText(connection, text));
    disposables.push({ dispose: unsubscribe }, filler, view, admin, analysis);
  };
  load();
  return {
    title: t("room.title"),
    element,
    setPly: (at) => view?.goTo(at ?? view.record.lastPly),
    dispose: () => {
      isDisposed = true;
      for (const disposable of disposables) disposable.dispose();
    },
  };
}
