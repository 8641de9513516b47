// A table of games with a row for each: a small picture, the players, when, the game, its moves, points, and how it
// stands or ended. On a narrow screen each row is a card. A row is updated in place, so links keep the focus.

import { el, setText } from "./dom.js";
import { localized, moment, number, t, tOr } from "./i18n.js";
import { drawingFor } from "./games.js";
import { playerNames } from "./messages.js";

const COLUMNS = ["rooms.players", "rooms.time", "rooms.game", "rooms.ply", "rooms.points", "rooms.state"];
const NUMBERS = ["rooms.ply", "rooms.points"];

// The roles are those of the elements; a row that is shown as a card would lose its own.
function cell(key) {
  return el("td", { role: "cell", class: NUMBERS.includes(key) ? "number" : null, "data-label": t(key) });
}

class GameRow {
  // `href` is the address of the game. `game` has players, freeSeats, title, game, gameType, ply, turn, points, state, isPaused,
  // started, ended and outcome, as far as they are known.
  constructor(href, game, isPictured) {
    this.place = el("span", { class: "thumbnail" });
    this.names = el("span", { class: "room-players" });
    this.link = el("a", { href }, isPictured ? this.place : null, this.names);
    [this.time, this.game, this.ply, this.points, this.state] = COLUMNS.slice(1).map(cell);
    this.element = el("tr", { role: "row" }, el("th", { scope: "row", role: "rowheader" }, this.link), this.time, this.game, this.ply, this.points, this.state);
    this.thumbnail = null;
    this.update(game);
  }

  update(game) {
    const key = JSON.stringify([game.players, game.freeSeats, game.outcome, game.name]);
    if (this.key !== key) {
      this.key = key;
      this.names.replaceChildren(...(game.players?.length ? playerNames(game.players, game.freeSeats, game.outcome?.winner ?? null) : [game.name ?? ""]));
    }
    const at = game.ended ?? game.started;
    setText(this.time, at ? moment(at) : "–");
    this.time.title = game.ended ? t("rooms.ended") : game.started ? t("rooms.started") : "";
    setText(this.game, game.title ?? game.gameType ?? "–");
    const hasBegun = game.state !== "waiting";
    setText(this.ply, hasBegun && Number.isInteger(game.ply) ? (Number.isInteger(game.turn) ? t("rooms.plyAndTurn", { ply: number(game.ply), turn: number(game.turn) }) : number(game.ply)) : "–");
    setText(this.points, hasBegun && game.points?.length ? game.points.map((value) => number(value)).join(" : ") : "–");
    const state = game.isPaused ? "paused" : game.state;
    setText(this.state, localized(game.outcome?.words) || (state ? tOr(`room.state.${state}`, String(state)) : "–"));
    this.element.className = state ? `state-${state}` : "";
  }

  // Shows what the position looks like; null if that is not known.
  picture(game, picture) {
    if (!picture) return;
    if (!this.thumbnail) {
      this.thumbnail = drawingFor(game).createThumbnail?.() ?? null;
      if (this.thumbnail) this.place.replaceChildren(this.thumbnail.element);
    }
    this.thumbnail?.show(picture);
  }
}

export class GameTable {
  // `caption` is told to screen readers; `idOf(game)` names a game, `hrefOf(game)` is its address. `isPictured` says
  // whether there are small pictures.
  constructor(caption, idOf, hrefOf, { isPictured = false } = {}) {
    this.isPictured = isPictured;
    this.idOf = idOf;
    this.hrefOf = hrefOf;
    this.rows = new Map();
    this.games = [];
    this.body = el("tbody", { role: "rowgroup" });
    this.element = el("div", { class: "table-scroller" }, el("table", { class: `list games-list${isPictured ? " is-pictured" : ""}`, role: "table" },
      el("caption", { class: "visually-hidden", text: caption }),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, COLUMNS.map((key) =>
        el("th", { scope: "col", role: "columnheader", class: NUMBERS.includes(key) ? "number" : null, text: t(key) })))),
      this.body));
    this.element.hidden = true;
  }

  show(games) {
    this.games = games;
    const seen = new Set();
    let before = null;
    for (const game of games) {
      const id = this.idOf(game);
      seen.add(id);
      const known = this.rows.get(id);
      const row = known ?? new GameRow(this.hrefOf(game), game, this.isPictured);
      if (known) row.update(game);
      else this.rows.set(id, row);
      // a row is moved only if its place has changed, which keeps the keyboard's focus
      const wanted = before ? before.nextSibling : this.body.firstChild;
      if (row.element !== wanted) this.body.insertBefore(row.element, wanted);
      before = row.element;
    }
    for (const [id, row] of this.rows) {
      if (seen.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    this.element.hidden = games.length === 0;
  }

  // Shows small pictures, by id.
  picture(pictures) {
    for (const game of this.games) this.rows.get(this.idOf(game))?.picture(game, pictures[this.idOf(game)]);
  }
}

// Returns the replays of the server as games of a list.
export function replaysAsGames(replays) {
  return replays.map((replay) => ({ ...replay, ply: replay.plies }));
}
