// What the programs think about their moves: beside the board, and as marks on it.
//
// Invariants: everything here was written by a program; it becomes text, positions and sizes, never markup. A mark is told
// by its size and shape as well as by its opacity, and the strongest ones are named in words.

import { announce, button, el, refill, setText, svg } from "./dom.js";
import { shortNumber, t } from "./i18n.js";

const NAMED_CELLS = 5;
const USUAL_FALL = 20;
const CHARACTER_WIDTH = 0.6; // of bold digits, as a part of the size of their font

// Returns the values that a player's program gave its positions, as a list of [ply, value].
export function valuesOf(record, player) {
  return [...record.thinking.values()].filter((thought) => thought.player === player && Number.isFinite(thought.value))
    .map((thought) => [thought.ply, thought.value]).sort((a, b) => a[0] - b[0]);
}

// Returns by ply how much the value of the same player has changed since its move before.
function changesOf(record) {
  const changes = new Map();
  for (const player of [0, 1]) {
    const values = valuesOf(record, player);
    for (let index = 1; index < values.length; index += 1) changes.set(values[index][0], values[index][1] - values[index - 1][1]);
  }
  return changes;
}

// A mark of one cell: a square, or for a negative weight a hollow diamond, the larger and the darker the more it weighs.
// Its text is so small that it stays within the cell.
function mark([cx, cy], weight, share) {
  const half = 0.1 + 0.36 * Math.sqrt(share);
  const text = shortNumber(weight, 2);
  const size = Math.min(0.22 + 0.14 * share, 0.9 / (CHARACTER_WIDTH * text.length));
  return svg("g", { opacity: (0.4 + 0.6 * share).toFixed(2) },
    weight < 0
      ? svg("path", { d: `M${cx} ${cy - half}L${cx + half} ${cy}L${cx} ${cy + half}L${cx - half} ${cy}Z`, class: "thought-mark is-negative" })
      : svg("rect", { x: cx - half, y: cy - half, width: 2 * half, height: 2 * half, rx: 0.06, class: "thought-mark" }),
    svg("text", { x: cx, y: cy + size / 3, class: "thought-weight", "font-size": `${size}px`, text }));
}

export class ThinkingPanel {
  // `board` is the board of the game, and `playback` shows the ply that is jumped to.
  constructor(record, board, playback) {
    this.record = record;
    this.board = board;
    this.playback = playback;
    this.shown = undefined; // the thought that is shown; null: that there is none
    this.chosen = null; // the candidate move that is drawn on the board
    this.layer = board.centerOf ? svg("g", { class: "marks thought-marks", "aria-hidden": "true" }) : null;
    if (this.layer) board.element.append(this.layer);
    this.about = el("p", { class: "muted" });
    this.value = el("p", { class: "thought-value" });
    this.texts = el("ul", { class: "thought-texts" });
    this.numbers = el("dl", { class: "holdings thought-numbers" });
    this.movesTitle = el("h3", { text: t("thinking.moves") });
    this.moves = el("ol", { class: "thought-moves" });
    this.cells = el("p", { class: "thought-cells" });
    this.marks = button(t("thinking.showMarks"), () => this.toggleMarks(), { class: "toggle small", "aria-pressed": "true" });
    this.fall = el("input", { type: "number", class: "fall", min: 0, step: "any", value: String(USUAL_FALL), "aria-label": t("thinking.fallLabel") });
    this.jump = el("form", { class: "thought-jump", onsubmit: (event) => this.jumpToFall(event) },
      el("label", {}, t("thinking.fallBefore"), " ", this.fall), el("button", { type: "submit", class: "small", text: t("thinking.jump") }));
    this.found = el("p", { class: "muted", role: "status" });
    this.element = el("section", { class: "panel thinking" },
      el("div", { class: "thought-head" }, el("h2", { text: t("thinking.title") }), this.marks),
      this.about, this.value, this.texts, this.numbers, this.cells, this.movesTitle, this.moves, this.jump, this.found);
  }

  // Shows what was thought about a ply. At the newest one, it is what is thought about the next, if there is anything.
  show(ply, isNewest) {
    const { record } = this;
    this.element.hidden = record.thinking.size === 0;
    const thought = (isNewest ? record.thinking.get(record.lastPly + 1) : null) ?? record.thinking.get(ply) ?? null;
    if (thought === this.shown) return;
    if (thought?.ply !== this.shown?.ply) {
      this.chosen = null;
      setText(this.found, "");
    }
    this.shown = thought;
    setText(this.about, this.describe(thought));
    const change = thought && Number.isFinite(thought.value) ? changesOf(record).get(thought.ply) ?? null : null;
    const parts = [t("thinking.value", { value: shortNumber(thought?.value ?? 0) }), change === null ? "" : t(change < 0 ? "thinking.fell" : "thinking.rose", { by: shortNumber(Math.abs(change)) })];
    setText(this.value, parts.filter(Boolean).join(" · "));
    this.value.hidden = !Number.isFinite(thought?.value);
    refill(this.texts, (thought?.texts ?? []).map((text) => el("li", { text })));
    refill(this.numbers, Object.entries(thought?.numbers ?? {}).map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", { text: shortNumber(value) }))));
    const strongest = [...(thought?.cells ?? [])].sort((a, b) => Math.abs(b[2]) - Math.abs(a[2])).slice(0, NAMED_CELLS);
    setText(this.cells, strongest.length ? t("thinking.cells", { list: strongest.map(([x, y, weight]) => `${this.board.nameOf?.([x, y]) ?? `(${x}, ${y})`}: ${shortNumber(weight)}`).join(" · ") }) : "");
    this.listMoves(thought?.moves ?? []);
    for (const part of [this.texts, this.numbers, this.moves, this.cells]) part.hidden = !part.firstChild;
    this.movesTitle.hidden = this.moves.hidden;
    this.marks.hidden = !this.layer || !thought?.cells?.length;
    this.draw();
  }

  describe(thought) {
    if (!thought) return t("thinking.nothing");
    const values = { ply: thought.ply, player: this.record.playerName(thought.player) };
    if (thought.ply <= this.record.lastPly) return t("thinking.about", values);
    return t(this.record.end ? "thinking.aboutMissing" : "thinking.aboutNext", values);
  }

  listMoves(moves) {
    const chosen = this.chosen === null ? null : moves[this.chosen]?.cells?.length ? this.chosen : null;
    this.chosen = chosen;
    // the list is drawn anew while a program goes on thinking, which must not take the focus away
    const focused = [...this.moves.children].findIndex((item) => item.contains(document.activeElement));
    refill(this.moves, moves.map((move, index) => {
      const text = [move.text || t("thinking.move", { number: index + 1 }), Number.isFinite(move.value) ? shortNumber(move.value) : ""].filter(Boolean).join(": ");
      if (!this.layer || !move.cells?.length) return el("li", { text });
      return el("li", {}, button(text, () => this.choose(index), { class: "small thought-move", "aria-pressed": String(index === chosen) }));
    }));
    if (focused >= 0) this.moves.children[focused]?.querySelector("button")?.focus();
  }

  // Draws a candidate move on the board, or takes it away again.
  choose(index) {
    this.chosen = this.chosen === index ? null : index;
    [...this.moves.children].forEach((item, at) => item.querySelector("button")?.setAttribute("aria-pressed", String(at === this.chosen)));
    this.draw();
  }

  toggleMarks() {
    this.marks.setAttribute("aria-pressed", String(this.marks.getAttribute("aria-pressed") !== "true"));
    this.draw();
  }

  draw() {
    if (!this.layer) return;
    const cells = this.marks.getAttribute("aria-pressed") === "true" ? this.shown?.cells ?? [] : [];
    const most = Math.max(1e-12, ...cells.map(([, , weight]) => Math.abs(weight)));
    const marks = cells.map(([x, y, weight]) => {
      const center = this.board.centerOf([x, y]);
      return center && weight !== 0 ? mark(center, weight, Math.abs(weight) / most) : null;
    });
    const candidate = (this.chosen === null ? [] : this.shown?.moves?.[this.chosen]?.cells ?? []).flatMap((cell) => {
      const center = this.board.centerOf(cell);
      if (!center) return [];
      const place = { x: center[0] - 0.44, y: center[1] - 0.44, width: 0.88, height: 0.88, rx: 0.1 };
      return [svg("rect", { ...place, class: "candidate-under" }), svg("rect", { ...place, class: "candidate" })];
    });
    refill(this.layer, marks, candidate);
  }

  // Goes to the next move whose value is lower than that of the same player's move before, by more than was asked for;
  // after the last one to the first.
  jumpToFall(event) {
    event.preventDefault();
    const { record, playback } = this;
    const least = Math.max(0, Number(this.fall.value) || 0);
    const falls = [...changesOf(record)].filter(([ply, change]) => -change > least && ply <= record.lastPly).map(([ply]) => ply).sort((a, b) => a - b);
    const next = falls.find((ply) => ply > playback.ply) ?? falls[0];
    if (next !== undefined) playback.jump(next);
    const text = next === undefined ? t("thinking.noFall", { least: shortNumber(least) }) : t("thinking.fallFound", { number: falls.indexOf(next) + 1, of: falls.length, ply: next });
    setText(this.found, text);
    if (next === undefined) announce(text);
  }
}
