// The parts beside the board: players, state of the game, list of moves, notes on a ply.

import { el, refill, setText } from "./dom.js";
import { duration, localized, number, t } from "./i18n.js";

// The two players: name, points, what each has left.
export class PlayersPanel {
  constructor(record, drawing) {
    this.record = record;
    this.drawing = drawing;
    this.cards = [0, 1].map((player) => {
      const points = el("span", { class: "points" });
      const details = drawing.createPlayerDetails(record.game);
      const mark = el("span", { class: "to-move-mark" });
      const winner = el("span", { class: "winner-mark" });
      const element = el("section", { class: `player-card player-${player}` },
        el("header", {}, el("h2", {}, el("span", { class: "player-number", text: player + 1 }), " ", el("bdi", { class: "player-name", text: record.playerName(player) }), mark, winner), points),
        details.element);
      return { element, points, details, mark, winner };
    });
    this.element = el("div", { class: "players" }, this.cards.map((card) => card.element));
  }

  show(position, isLast) {
    this.cards.forEach((card, player) => {
      const isEnded = position.isOver || (isLast && this.record.isOver);
      const isToMove = !isEnded && position.sideToMove?.player === player;
      card.element.classList.toggle("is-to-move", isToMove);
      setText(card.mark, isToMove ? t("game.toMove") : "");
      const hasWon = isLast && this.record.end && this.record.end.winner === player;
      setText(card.winner, hasWon ? t("game.winner") : "");
      const onBoard = position.players?.[player]?.points ?? 0;
      const shown = this.drawing.pointsText?.(position, player) ?? t("game.points", { points: number(onBoard) });
      // in some seasons a player at fault gets no points
      const final = isLast ? this.record.end?.points?.[player] ?? onBoard : onBoard;
      setText(card.points, final === onBoard ? shown : t("game.pointsInResult", { points: number(final), board: number(onBoard) }));
      card.details.show(position, player, isEnded);
    });
  }
}

// Ply, round, side to move and for how long; the last move and a better one, if there is an estimate; a refused one.
export class StatusPanel {
  constructor(record, drawing) {
    this.record = record;
    this.drawing = drawing;
    this.state = el("p", { class: "state" });
    this.clock = el("span", { class: "clock" });
    this.move = el("p", { class: "move-text" });
    this.better = el("p", { class: "better-text" });
    this.refused = el("div", { class: "refused-text" });
    this.element = el("div", { class: "status" }, el("div", { class: "state-row" }, this.state, this.clock), this.move, this.better, this.refused);
  }

  show(position, isLast) {
    const { record, drawing } = this;
    const isEnded = isLast && record.isOver;
    const parts = [t("game.plyAndRound", { ply: position.ply, turn: position.turn, round: position.round })];
    if (!position.isOver && position.sideToMove && !isEnded) {
      const side = drawing.describeSide(position.sideToMove);
      const name = record.playerName(position.sideToMove.player);
      parts.push(t("game.sideToMove", { side: side ? `${side} (${name})` : name }));
    }
    if (isLast && record.isPaused) parts.push(t("room.paused"));
    setText(this.state, parts.join(" · "));
    const info = record.info(position.ply);
    const text = drawing.describeMove(position);
    const think = info?.thinkSeconds !== null && info?.thinkSeconds !== undefined ? t("game.thought", { time: duration(info.thinkSeconds) }) : "";
    setText(this.move, [text, think].filter(Boolean).join(" · "));
    const better = record.better.get(position.ply);
    this.better.hidden = !better;
    setText(this.better, better ? t("game.betterOnBoard", { text: better.text }) : "");
    const illegal = isLast ? record.end?.illegal : null;
    this.refused.hidden = !illegal;
    if (illegal) {
      refill(this.refused,
        el("strong", { text: t("game.refused", { player: record.playerName(illegal.player), piece: illegal.piece ? drawing.pieceName(illegal.piece) : t("game.theMove") }) }), " ",
        localized(illegal.words ?? illegal.rule),
        illegal.text ? el("pre", { class: "server-text", text: localized(illegal.text), tabindex: "0" }) : null);
    }
    this.tick(isLast);
  }

  // Keeps the clock of the side to move running.
  tick(isLast, now = performance.now()) {
    const { record } = this;
    const isRunning = isLast && record.toMove && !record.isOver && !record.isPaused;
    setText(this.clock, isRunning ? t("game.since", { time: duration(Math.max(0, Math.floor((now - record.toMoveSince) / 100) / 10)) }) : "");
  }
}

// All moves with their think times; the shown one is marked.
export class MoveList {
  constructor(record, drawing, onPly) {
    this.record = record;
    this.drawing = drawing;
    this.onPly = onPly;
    this.rows = new Map();
    this.times = new Map();
    this.body = el("tbody");
    this.marked = null;
    this.scroller = el("div", { class: "move-list", tabindex: "0", role: "region", "aria-label": t("moves.title") },
      el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "number", text: t("moves.ply") }), el("th", { scope: "col", class: "number", text: "turn" }), el("th", { scope: "col", text: t("moves.move") }), el("th", { scope: "col", class: "number", text: t("moves.time") }))),
        this.body));
    this.element = el("section", { class: "panel" }, el("h2", { text: t("moves.title") }), this.scroller);
  }

  update() {
    for (const position of this.record.positions) {
      if (!this.rows.has(position.ply)) this.addRow(position);
    }
    for (const [ply, cell] of this.times) {
      const info = this.record.info(ply);
      const hints = info?.hints?.length || info?.stderr?.length || this.record.thinking.has(ply) ? " •" : "";
      setText(cell, (ply > 0 ? duration(info?.thinkSeconds) : "") + hints);
    }
  }

  addRow(position) {
    const { ply } = position;
    const text = ply === this.record.firstPly && !position.lastMove ? t("moves.start") : this.drawing.describeMove(position);
    const time = el("td", { class: "number" });
    const player = position.lastMove?.player;
    const row = el("tr", { class: player === 0 || player === 1 ? `player-${player}` : "", onclick: () => this.onPly(ply), "data-ply": ply },
      el("td", { class: "number", text: ply }), el("td", { class: "number muted", text: position.turn }), el("td", { text }), time);
    this.rows.set(ply, row);
    this.times.set(ply, time);
    // a ply that was missing goes to its place
    let after = ply - 1;
    while (after >= this.record.firstPly && !this.rows.has(after)) after -= 1;
    const before = this.rows.get(after);
    if (before) before.after(row);
    else this.body.prepend(row);
  }

  mark(ply) {
    this.marked?.removeAttribute("aria-current");
    this.marked = this.rows.get(ply) ?? null;
    if (!this.marked) return;
    this.marked.setAttribute("aria-current", "true");
    // only this list scrolls, not the page
    const { scroller } = this;
    const top = this.marked.offsetTop;
    if (top < scroller.scrollTop + 40 || top + this.marked.offsetHeight > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = top - scroller.clientHeight / 2;
    }
  }
}

// What is known about one ply beside the board: hints of the program, what it printed, the cause of the end.
export class NotesPanel {
  constructor(record) {
    this.record = record;
    this.hints = el("ul", { class: "hints" });
    this.stderr = el("pre", { class: "stderr", tabindex: "0", role: "region", "aria-label": t("notes.stderr") });
    this.cause = el("p", { class: "cause" });
    this.lastLines = el("pre", { class: "stderr", tabindex: "0", role: "region", "aria-label": t("notes.lastLines") });
    this.nothing = el("p", { class: "muted", text: t("notes.nothing") });
    this.hintsPart = el("div", {}, el("h3", { text: t("notes.hints") }), this.hints);
    this.stderrPart = el("div", {}, el("h3", { text: t("notes.stderr") }), this.stderr);
    this.causePart = el("div", {}, el("h3", { text: t("notes.cause") }), this.cause, this.lastLines);
    this.element = el("section", { class: "panel notes" }, el("h2", { text: t("notes.title") }), this.hintsPart, this.stderrPart, this.causePart, this.nothing);
  }

  show(ply, isLast) {
    const info = this.record.info(ply);
    const hints = info?.hints ?? [];
    const lines = info?.stderr ?? [];
    const end = isLast ? this.record.end : null;
    this.hints.replaceChildren(...hints.map((hint) => el("li", { text: typeof hint === "string" ? hint : hint.content })));
    setText(this.stderr, lines.join("\n"));
    const reason = localized(end?.reason);
    // that a game ended by its rules is said above the board
    const cause = end?.cause === "REGULAR" && !reason ? "" : [end?.cause, reason].filter(Boolean).join(": ");
    setText(this.cause, end ? [localized(end.verdictWords ?? end.verdict), cause].filter(Boolean).join(" – ") : "");
    const last = end?.stderr ?? [];
    setText(this.lastLines, last.join("\n"));
    this.lastLines.hidden = last.length === 0;
    this.hintsPart.hidden = hints.length === 0;
    this.stderrPart.hidden = lines.length === 0;
    this.causePart.hidden = !this.cause.textContent && last.length === 0;
    this.nothing.hidden = hints.length > 0 || lines.length > 0 || !this.causePart.hidden;
    this.element.hidden = this.record.thinking.size > 0 && !this.nothing.hidden;
  }
}
