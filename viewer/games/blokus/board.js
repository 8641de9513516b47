// Drawing module of Blokus: the board, the last piece, the pieces that could be placed, a refused piece, a better move,
// and what each player has left.
//
// Invariants: only what differs from the picture before is touched. Rules stay with the server: everything that
// is marked as legal or refused comes from it.

import { el, svg, setText } from "../../static/dom.js";
import { table } from "../../static/field_table.js";
import { addGame } from "../../static/games.js";
import { GridBoard } from "../../static/grid_board.js";
import { t, tOr } from "../../static/i18n.js";
import { CellThumbnail } from "../../static/thumbnails.js";
import { BlokusInput } from "./input.js";
import { COLOR_OF_LETTER, colorName, ensurePatterns, outlinePath, patternOf, pieceName, remainingPiece, swatch } from "./pieces.js";
import { TEXTS } from "./texts.js";

const MARGIN = 1;
const MAX_OUTSIDE = 6; // a refused piece further out than this many cells is not drawn

function cellLabel(x, y, color, mark = "") {
  const content = color ? colorName(color) : t("blokus.empty");
  return t("blokus.cell", { x, y, content: mark ? `${content}, ${mark}` : content });
}

class Board extends GridBoard {
  constructor(game, options) {
    const { width, height } = game.positions?.[0]?.board ?? { width: 20, height: 20 };
    const cellRole = options.isInput ? "gridcell" : "cell";
    const layers = [0, 1, 2].map((order) => svg("g", { class: order ? "marks" : null, "aria-hidden": "true" }));
    super({
      width,
      height,
      layers,
      attributesOf: (x, y) => ({ class: "cell empty", role: cellRole, "data-x": x, "data-y": y, "data-color": "", "aria-label": cellLabel(x, y, null) }),
    }, { class: "blokus", role: options.isInput ? "grid" : "table", "aria-label": t("blokus.board") });
    [this.outlines, this.layer, this.inputLayer] = layers;
    this.shown = ".".repeat(width * height);
    this.better = []; // the cells of a better move
    this.setViewBox([]);
  }

  setViewBox(cells) {
    const near = cells.filter(([x, y]) => Math.max(-x, -y, x - this.width + 1, y - this.height + 1) <= MAX_OUTSIDE);
    const left = Math.min(-MARGIN, ...near.map(([x]) => x - 0.3));
    const top = Math.min(-MARGIN, ...near.map(([, y]) => y - 0.3));
    const right = Math.max(this.width + 0.2, ...near.map(([x]) => x + 1.3));
    const bottom = Math.max(this.height + 0.2, ...near.map(([, y]) => y + 1.3));
    const viewBox = `${left} ${top} ${right - left} ${bottom - top}`;
    // setting it lays out the whole board again, even if it is the same
    if (this.element.getAttribute("viewBox") !== viewBox) this.element.setAttribute("viewBox", viewBox);
  }

  // Shows a position. `extras` may have `legal` (the moves of an overlay), `illegal` (a refused move) and `better` (the
  // estimate of a better move).
  show(position, extras = {}) {
    const cells = position.board.cells;
    if (cells !== this.shown) this.showCells(cells);
    this.layer.replaceChildren();
    const move = position.lastMove;
    if (extras.legal) this.layer.append(...this.legalMarks(extras.legal));
    if (move?.cells?.length) {
      const path = outlinePath(move.cells);
      this.layer.append(svg("path", { d: path, class: "last-move-under" }), svg("path", { d: path, class: "last-move" }));
    }
    this.showBetter(extras.better ?? null);
    this.setViewBox(extras.illegal?.cells ?? []);
    if (extras.illegal) this.layer.append(...this.illegalMarks(extras.illegal));
  }

  showCells(cells) {
    for (let index = 0; index < this.cells.length; index += 1) {
      if (cells[index] === this.shown[index]) continue;
      const color = COLOR_OF_LETTER[cells[index]] ?? "";
      const cell = this.cells[index];
      cell.setAttribute("class", color ? "cell" : "cell empty");
      cell.setAttribute("data-color", color);
      cell.setAttribute("aria-label", cellLabel(index % this.width, Math.floor(index / this.width), color));
      if (color) cell.setAttribute("fill", patternOf(color));
      else cell.removeAttribute("fill");
    }
    this.shown = cells;
    const byColor = {};
    for (let index = 0; index < cells.length; index += 1) {
      const color = COLOR_OF_LETTER[cells[index]];
      if (color) (byColor[color] ??= []).push([index % this.width, Math.floor(index / this.width)]);
    }
    this.outlines.replaceChildren(...Object.entries(byColor).map(([color, list]) =>
      svg("path", { d: outlinePath(list), class: `outline color-${color}` })));
  }

  legalMarks(moves) {
    const counts = new Map();
    for (const move of moves) {
      for (const [x, y] of move.cells ?? []) counts.set(`${x},${y}`, (counts.get(`${x},${y}`) ?? 0) + 1);
    }
    const most = Math.max(1, ...counts.values());
    return [...counts].map(([key, count]) => {
      const [x, y] = key.split(",").map(Number);
      return svg("circle", { cx: x + 0.5, cy: y + 0.5, r: 0.12 + 0.2 * Math.sqrt(count / most), class: "legal" });
    });
  }

  // Marks a move that would have been better, with a tick in each cell, and names it in the labels of its cells.
  showBetter(better) {
    for (const cell of this.better) this.labelCell(cell);
    this.better = better?.move.cells ?? [];
    if (!this.better.length) return;
    for (const cell of this.better) this.labelCell(cell, t("game.betterMark"));
    const path = outlinePath(this.better);
    this.layer.append(
      ...this.better.map(([x, y]) => svg("rect", { x, y, width: 1, height: 1, class: "better-cell", fill: patternOf(better.color ?? "BLUE"), "data-x": x, "data-y": y })),
      svg("path", { d: path, class: "better-under" }), svg("path", { d: path, class: "better" }),
      ...this.ticksOn(this.better));
  }

  labelCell([x, y], mark = "") {
    const cell = this.cellElement([x, y]);
    cell?.setAttribute("aria-label", cellLabel(x, y, cell.dataset.color || null, mark));
  }

  illegalMarks(illegal) {
    const cells = illegal.cells ?? [];
    const color = illegal.color ?? "BLUE";
    return [
      ...cells.map(([x, y]) => svg("rect", { x, y, width: 1, height: 1, class: "refused-cell", fill: patternOf(color), "data-x": x, "data-y": y })),
      svg("path", { d: outlinePath(cells), class: "refused-under" }),
      svg("path", { d: outlinePath(cells), class: "refused" }),
      ...this.crossesOn(illegal.offendingCells ?? []),
    ];
  }

  // Shows what a person is about to place: the cells, and whether the server allows them. `null` shows nothing.
  showGhost(ghost, hints = []) {
    const marks = hints.map(([x, y]) => svg("circle", { cx: x + 0.5, cy: y + 0.5, r: 0.16, class: "legal" }));
    if (ghost) {
      marks.push(...ghost.cells.map(([x, y]) => svg("rect", { x, y, width: 1, height: 1, fill: patternOf(ghost.color), class: ghost.isLegal ? "ghost" : "ghost not-legal" })));
      marks.push(svg("path", { d: outlinePath(ghost.cells), class: ghost.isLegal ? "ghost-outline" : "ghost-outline not-legal" }));
    }
    this.inputLayer.replaceChildren(...marks);
  }

  // Returns the cell [x, y] below a pointer, or null outside of the board.
  cellAt(event) {
    const matrix = this.element.getScreenCTM();
    if (!matrix) return null;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const [x, y] = [Math.floor(point.x), Math.floor(point.y)];
    return this.centerOf([x, y]) ? [x, y] : null;
  }
}

// One colour of a player: its points, whether it is to move, and the pieces that it has left.
class ColorRow {
  constructor(pieces, color) {
    this.pieces = pieces;
    this.color = color;
    this.count = el("span", { class: "count" });
    this.state = el("span", { class: "color-state" });
    this.remaining = el("ul", { class: "remaining", "aria-label": t("blokus.remaining", { color: colorName(color) }) });
    this.items = new Map(); // of that list, by name of the piece
    this.element = el("section", { class: "color-row" }, el("h3", {}, swatch(color), " ", colorName(color), " ", this.count, " ", this.state), this.remaining);
  }

  show(entry, isToMove) {
    // a colour that has placed everything cannot place more either, but has reached what it could
    const isComplete = entry.remaining.length === 0;
    this.element.classList.toggle("is-out", !entry.isInGame && !isComplete);
    setText(this.count, t("blokus.pointsOfColor", { points: entry.points ?? 0, count: entry.remaining.length }));
    setText(this.state, isComplete ? t("blokus.complete") : !entry.isInGame ? t("blokus.out") : isToMove ? t("game.toMove") : "");
    for (const [name, item] of this.items) {
      if (!entry.remaining.includes(name)) item.remove();
    }
    entry.remaining.forEach((name, index) => {
      if (!this.items.has(name)) this.items.set(name, remainingPiece(name, this.pieces[name], this.color));
      const item = this.items.get(name);
      const there = this.remaining.children[index] ?? null;
      if (there !== item) this.remaining.insertBefore(item, there);
    });
  }
}

// What one player has: its colours.
class PlayerDetails {
  constructor(game) {
    this.pieces = game.pieces ?? {};
    this.element = el("div", { class: "colors" });
    this.rows = new Map();
  }

  show(position, player, isEnded) {
    for (const entry of position.colors ?? []) {
      if (entry.player !== player) continue;
      let row = this.rows.get(entry.name);
      if (!row) {
        row = new ColorRow(this.pieces, entry.name);
        this.rows.set(entry.name, row);
        this.element.append(row.element);
      }
      row.show(entry, position.sideToMove?.color === entry.name && !isEnded);
    }
  }
}

addGame({
  ...table,
  name: "blokus",
  createThumbnail: () => new CellThumbnail(Object.entries(COLOR_OF_LETTER).map(([letters, color]) => ({ letters, form: "square", class: `hue-${color}` }))),
  createBoard(game, options = {}) {
    ensurePatterns();
    return new Board(game, options);
  },
  createPlayerDetails: (game) => new PlayerDetails(game),
  hasSkips: true,
  createInput: (view, choose) => new BlokusInput(view, choose),
  pieceName,
  // Samples of the colours of a player.
  colorsOf: (position, player) => (position.colors ?? []).filter((color) => color.player === player).map((color) => swatch(color.name)),
  // The move that led to a position, in words.
  describeMove(position) {
    const move = position.lastMove;
    if (!move) return "";
    const color = move.color ? colorName(move.color) : "";
    if (move.kind === "SET" && move.cells?.length) {
      const [x, y] = [Math.min(...move.cells.map((cell) => cell[0])), Math.min(...move.cells.map((cell) => cell[1]))];
      return t("blokus.placed", { color, piece: move.piece ? pieceName(move.piece) : t("blokus.aPiece"), x, y });
    }
    if (move.kind === "SKIP") return t("blokus.passed", { color });
    return move.text ?? "";
  },
  describeSide(side) {
    return side?.color ? tOr(`color.${side.color}`, side.color) : "";
  },
}, TEXTS);
