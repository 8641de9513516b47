// A game on the page: board, controls, players, state, moves, notes and charts. Rooms, replays and seats all use it.
//
// Invariants: one ply is shown everywhere. A live update costs one drawing at most, however many plies it brings.

import { announce, el } from "./dom.js";
import { t, tOr } from "./i18n.js";
import { Charts } from "./charts.js";
import { Controls } from "./controls.js";
import { showMove } from "./effects.js";
import { drawingFor } from "./games.js";
import { MoveList, NotesPanel, PlayersPanel, StatusPanel } from "./panels.js";
import { Playback } from "./playback.js";
import { ResultPanel } from "./result.js";
import { ThinkingPanel } from "./thinking.js";

const TICK_MS = 200;

export class GameView {
  // `ply` is the ply to begin with, or null for the newest. `loadLegal(ply)` resolves to the legal moves of a ply; null
  // if there are none to be had. `onPly(ply, isNewest)` is told what is shown. `isInput` asks for a board that takes
  // moves; `actions` are elements beside the title, `extras` panels below the others, `result` the options of the
  // ResultPanel.
  constructor(record, { ply = null, loadLegal = null, onPly = () => {}, isInput = false, actions = [], extras = [], onField = null, result = {} } = {}) {
    this.record = record;
    this.drawing = drawingFor(record.game);
    this.loadLegal = loadLegal;
    this.onPly = onPly;
    this.legal = new Map();
    this.isLegalWanted = false;
    this.offered = null; // the moves of a seat whose board shows where they lead
    this.board = this.drawing.createBoard(record.game, { isInput, onField });
    this.playback = new Playback(record, ply ?? record.lastPly, () => this.show());
    this.controls = new Controls(this.playback, loadLegal ? (isWanted) => this.wantLegal(isWanted) : null);
    this.players = new PlayersPanel(record, this.drawing);
    this.status = new StatusPanel(record, this.drawing);
    this.moves = new MoveList(record, this.drawing, (target) => this.playback.jump(target));
    this.notes = new NotesPanel(record);
    this.thinking = new ThinkingPanel(record, this.board, this.playback);
    this.charts = new Charts(record, (target) => this.playback.jump(target));
    this.result = new ResultPanel(record, { plyOf: () => this.playback.ply, ...result });
    const names = [0, 1].map((player) => el("bdi", { text: record.playerName(player) }));
    // beside the board of a seat are the pieces; stepping through the moves comes later
    this.seatPlace = isInput ? el("div", { class: "seat-place" }) : null;
    this.element = el("div", { class: this.drawing.hasTeams ? "game has-teams" : "game", "data-game": record.game.game },
      el("header", { class: "game-head" },
        el("div", {},
          el("h1", { tabindex: "-1" }, names[0], ` ${t("game.versus")} `, names[1]),
          el("p", { class: "muted" }, [tOr(`game.${record.game.game}`, record.game.gameType ?? ""), record.game.edition, record.game.source].filter(Boolean).join(" · "))),
        el("div", { class: "actions" }, actions)),
      this.result.element,
      el("div", { class: "game-main" },
        el("div", { class: "stage" }, el("div", { class: "board-frame" }, this.board.element), isInput ? null : this.controls.element),
        el("div", { class: "side" }, this.seatPlace, this.status.element, this.thinking.element, this.players.element, this.notes.element, isInput ? this.controls.element : null),
        el("div", { class: "more" }, this.moves.element,
          el("section", { class: "panel" }, el("h2", { text: t("chart.title") }), this.charts.element), extras)));
    this.announced = "";
    this.shownPly = null;
    this.timer = setInterval(() => this.status.tick(this.isNewest), TICK_MS);
    this.onKey = (event) => this.press(event);
    document.addEventListener("keydown", this.onKey);
    this.moves.update();
    this.show();
    requestAnimationFrame(() => this.moves.mark(this.playback.ply)); // scrolling needs the layout
  }

  get isNewest() {
    return this.playback.ply === this.record.lastPly;
  }

  get position() {
    return this.record.at(this.playback.ply);
  }

  // Shows a ply that something else on the page names, and the board if it is out of sight.
  goTo(ply) {
    this.playback.jump(ply);
    this.board.element.scrollIntoView({ block: "nearest" });
  }

  // Takes over a live update; the newest ply stays in view if it was.
  update(event) {
    this.change(() => this.record.update(event, performance.now()));
  }

  // Adds what was missing in the record.
  fill(game) {
    this.change(() => this.record.fill(game));
  }

  // Says in one sentence why the game cannot go on. Its end, should it be known later, counts more.
  interrupt(words) {
    this.change(() => {
      this.record.interruption = words;
    });
  }

  change(action) {
    const isFollowing = this.isNewest && !this.playback.isPlaying;
    action();
    this.moves.update();
    this.charts.redraw();
    if (isFollowing && !this.isNewest) this.playback.go(this.record.lastPly);
    else this.show();
  }

  show() {
    const { position, isNewest } = this;
    if (!position) return;
    const { ply } = this.playback;
    const illegal = isNewest ? this.record.end?.illegal ?? null : null;
    const offered = isNewest ? this.offered : null;
    const legal = this.isLegalWanted ? this.legal.get(ply)?.moves ?? null : offered;
    const previous = ply > this.record.firstPly ? this.record.at(ply - 1) : null;
    const better = this.record.better.get(ply) ?? null;
    this.board.show(position, { legal, illegal, previous, better });
    this.controls.update();
    this.result.show();
    this.players.show(position, isNewest);
    this.status.show(position, isNewest);
    this.notes.show(ply, isNewest);
    this.thinking.show(ply, isNewest);
    this.charts.mark(ply);
    this.moves.mark(ply); // after all changes, since it needs the layout
    showMove(this.board.element, ply, this.shownPly);
    this.shownPly = ply;
    this.element.dataset.ply = String(ply);
    const text = [t("game.plyShort", { ply }), this.drawing.describeMove(position), better ? t("game.better", { text: better.text }) : "", isNewest ? this.result.text.textContent : ""].filter(Boolean).join(": ");
    if (text !== this.announced && !this.playback.isPlaying) {
      this.announced = text;
      announce(text);
    }
    this.onPly(ply, isNewest);
    if (this.isLegalWanted && !this.legal.has(ply)) this.fetchLegal(ply);
  }

  offer(moves) {
    this.offered = moves;
    this.show();
  }

  wantLegal(isWanted) {
    this.isLegalWanted = isWanted;
    this.show();
  }

  async fetchLegal(ply) {
    this.legal.set(ply, null); // asked for once
    try {
      const answer = await this.loadLegal(ply);
      this.legal.set(ply, answer);
      if (this.isLegalWanted && this.playback.ply === ply) this.show();
    } catch (error) {
      this.legal.delete(ply);
      this.isLegalWanted = false;
      this.controls.legal.setAttribute("aria-pressed", "false");
      announce(error.message);
    }
  }

  press(event) {
    const target = event.target;
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (target.closest?.("input:not([type=range]), select, textarea, [contenteditable]")) return;
    if (event.key === " " && target.closest?.("button, a, summary, [role=button]")) return;
    if (target.closest?.("[role=grid], pre, .takes-keys") && event.key !== "+" && event.key !== "-") return;
    if (event.key === "l" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.controls.toggleLegal();
      event.preventDefault();
      return;
    }
    if (this.playback.press(event)) event.preventDefault();
  }

  dispose() {
    clearInterval(this.timer);
    document.removeEventListener("keydown", this.onKey);
    this.playback.onChange = () => {};
    this.playback.pause();
    this.charts.dispose();
  }
}
