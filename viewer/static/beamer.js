// Games on a big screen: one, two or four boards as large as the screen, with names and points that can be read from the
// back of a room. When a game is over, its place goes to the next one.
//
// Invariant: a result stays for `RESULT_MS`, and longer as long as no other game is being played.

import { subscribe } from "./api.js";
import { button, el, refill, setText } from "./dom.js";
import { localized, number, t } from "./i18n.js";
import { drawingFor } from "./games.js";
import { emptyBox } from "./messages.js";
import { GameRecord } from "./record.js";
import { address } from "./routes.js";

export const COUNTS = [1, 2, 4];
const RESULT_MS = 12_000;
const LONGEST_POINTS = 8; // characters in the usual size
const IDLE_MS = 3000; // until the bar hides
const PLAYING = ["running", "paused"];

// The place of one game.
class Place {
  constructor() {
    this.inside = el("div", { class: "beamer-inside" });
    this.element = el("section", { class: "beamer-place" }, this.inside);
    this.take(null);
  }

  // Shows the game of this room from now on; null empties the place.
  take(room) {
    this.room = room;
    this.record = null;
    this.endedAt = null; // the time at which the end was seen
    if (room === null) this.inside.replaceChildren(emptyBox(el("p", { text: t("beamer.waiting") })));
  }

  update(event) {
    if (!this.record) {
      if (!event.positions?.length) return;
      this.build({ game: event.positions[0].game, positions: event.positions, players: event.players });
    }
    this.record.game.players = event.players ?? this.record.game.players;
    this.record.update(event, performance.now());
    if (this.record.end && this.endedAt === null) this.endedAt = performance.now();
    this.show();
  }

  build(game) {
    this.record = new GameRecord(game);
    this.drawing = drawingFor(game);
    this.board = this.drawing.createBoard(game);
    this.players = [0, 1].map((player) => {
      const name = el("bdi", { class: "beamer-name" });
      const colors = el("span", { class: "beamer-colors" });
      const points = el("p", { class: "beamer-points" });
      const mark = el("span", { class: "beamer-mark" });
      return { name, colors, points, mark, element: el("div", { class: `beamer-player player-${player}` }, el("h2", {}, el("span", { class: "player-number", text: player + 1 }), name), el("div", { class: "beamer-row" }, points, colors), mark) };
    });
    this.state = el("p", { class: "beamer-state" });
    refill(this.inside, el("div", { class: "beamer-board" }, this.board.element), el("div", { class: "beamer-side" }, this.players.map((each) => each.element), this.state));
    this.element.dataset.game = game.game;
    this.element.classList.toggle("has-teams", Boolean(this.drawing.hasTeams));
  }

  show() {
    const { record, drawing } = this;
    const position = record.at(record.lastPly);
    const previous = record.lastPly > record.firstPly ? record.at(record.lastPly - 1) : null;
    this.board.show(position, { previous, illegal: record.end?.illegal ?? null });
    this.element.dataset.ply = String(position.ply);
    this.players.forEach((shown, player) => {
      setText(shown.name, record.playerName(player));
      shown.name.parentElement.classList.toggle("is-long", shown.name.textContent.length > 12); // such as an address
      refill(shown.colors, drawing.colorsOf?.(position, player) ?? null);
      const onBoard = position.players?.[player]?.points ?? 0;
      const points = record.end?.points?.[player] ?? onBoard; // in some seasons a player at fault gets none
      const text = points === onBoard ? drawing.pointsText?.(position, player) : null;
      shown.points.classList.toggle("is-long", (text ?? "").length > LONGEST_POINTS);
      refill(shown.points, text ?? [number(points), " ", el("small", { text: t("game.unit", { points }) })]);
      const isToMove = !record.isOver && !position.isOver && position.sideToMove?.player === player;
      shown.element.classList.toggle("is-to-move", isToMove);
      setText(shown.mark, record.end?.winner === player ? t("game.winner") : isToMove ? t("game.toMove") : "");
    });
    const round = t("beamer.round", { round: position.round, turn: position.turn });
    setText(this.state, record.end ? localized(record.end.words) : [round, record.isPaused ? t("room.paused") : ""].filter(Boolean).join(" · "));
    this.state.classList.toggle("is-result", Boolean(record.end));
  }
}

// Returns the view of `count` games, of which the first is the one in `room`, if that is given.
export function beamerView(count, room) {
  const places = Array.from({ length: COUNTS.includes(count) ? count : 1 }, () => new Place());
  if (room) places[0].take(room);
  const connection = el("p", { class: "connection muted", role: "status" });
  let rooms = [];
  let end = () => {};
  let isDisposed = false;
  let timer = null;

  // Gives free places to games that are being played, or else to the last ones that ended, and asks for their positions.
  const assign = () => {
    if (isDisposed) return;
    clearTimeout(timer);
    const now = performance.now();
    const shown = new Set(places.map((place) => place.room));
    const waiting = rooms.filter((each) => PLAYING.includes(each.state) && !shown.has(each.id));
    const ended = rooms.filter((each) => each.state === "over" && !shown.has(each.id));
    let hasChanged = false;
    for (const place of places) {
      const isFree = place.room === null || (place.endedAt !== null && now - place.endedAt >= RESULT_MS) || place.isGone;
      const next = isFree ? waiting.shift() ?? (place.room === null ? ended.shift() : null) : null;
      if (!next) continue;
      place.isGone = false;
      place.take(next.id);
      hasChanged = true;
    }
    const ends = places.map((place) => (place.endedAt === null ? Infinity : place.endedAt + RESULT_MS - now)).filter((rest) => rest > 0);
    const soonest = Math.min(...ends);
    if (Number.isFinite(soonest)) timer = setTimeout(assign, soonest);
    if (hasChanged) follow();
  };
  const follow = () => {
    end();
    // the numbers in the names of the events are those of the places that have a game
    const used = places.filter((place) => place.room !== null);
    const query = new URLSearchParams(used.map((place) => ["room", place.room]));
    const handlers = {
      rooms: (data) => {
        rooms = data.rooms ?? data;
        assign();
      },
    };
    used.forEach((place, index) => {
      handlers[`position-${index}`] = (event) => {
        const wasOver = place.endedAt !== null;
        place.update(event);
        if (!wasOver && place.endedAt !== null) assign();
      };
      handlers[`gone-${index}`] = () => {
        if (!place.record) place.take(null);
        place.isGone = true;
        assign();
      };
    });
    end = subscribe(`api/boards/events?${query}`, handlers, (text) => setText(connection, text));
  };

  const isFull = () => document.fullscreenElement !== null;
  const full = button(t("beamer.fullScreen"), () => (isFull() ? document.exitFullscreen() : document.documentElement.requestFullscreen().catch(() => {})));
  const onFull = () => setText(full, t(isFull() ? "beamer.noFullScreen" : "beamer.fullScreen"));
  const bar = el("div", { class: "beamer-bar", role: "group", "aria-label": t("beamer.title") },
    el("a", { class: "as-button", href: address("rooms"), text: t("beamer.leave") }),
    COUNTS.map((each) => el("a", { class: "as-button", href: address("beamer", each), "aria-current": each === places.length ? "true" : null, text: t(each === 1 ? "beamer.one" : "beamer.several", { count: each }) })),
    full, connection);
  const element = el("div", { class: "beamer", "data-count": places.length },
    el("h1", { class: "visually-hidden", tabindex: "-1", text: t("beamer.title") }), el("div", { class: "beamer-places" }, places.map((place) => place.element)), bar);
  let idle = null;
  const wake = () => {
    document.body.classList.remove("is-idle");
    clearTimeout(idle);
    idle = setTimeout(() => document.body.classList.add("is-idle"), IDLE_MS);
  };
  const onKey = (event) => {
    if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    full.click();
  };
  document.body.classList.add("is-beamer");
  document.addEventListener("fullscreenchange", onFull);
  document.addEventListener("pointermove", wake);
  document.addEventListener("keydown", onKey);
  wake();
  follow();
  return {
    title: t("beamer.title"),
    element,
    dispose: () => {
      isDisposed = true;
      end();
      clearTimeout(timer);
      clearTimeout(idle);
      document.removeEventListener("fullscreenchange", onFull);
      document.removeEventListener("pointermove", wake);
      document.removeEventListener("keydown", onKey);
      document.body.classList.remove("is-beamer", "is-idle");
      if (isFull()) document.exitFullscreen();
    },
  };
}
