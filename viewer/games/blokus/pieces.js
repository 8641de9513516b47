// Colours and pieces of Blokus: their patterns, small pictures, and turning a piece.
//
// Invariants: a colour is never told by its hue alone: each has a pattern. A piece is a list of cells [x, y] whose
// bounding box begins at (0, 0).

import { el, svg } from "../../static/dom.js";
import { t, tOr } from "../../static/i18n.js";

export const COLORS = ["BLUE", "YELLOW", "RED", "GREEN"];
export const COLOR_OF_LETTER = { B: "BLUE", Y: "YELLOW", R: "RED", G: "GREEN" };

export function colorName(color) {
  return t(`color.${color}`);
}

// The name of a piece in words, and the one of the wire beside it.
export function pieceName(piece) {
  const words = tOr(`piece.${piece}`, "");
  return words ? `${words} (${piece})` : String(piece);
}

const MARKS = {
  BLUE: () => [svg("circle", { cx: 0.5, cy: 0.5, r: 0.17, class: "mark-fill" })],
  YELLOW: () => [svg("path", { d: "M-.1 .6L.6 -.1M.4 1.1L1.1 .4", class: "mark-line" })],
  RED: () => [svg("path", { d: "M.28 .28L.72 .72M.72 .28L.28 .72", class: "mark-line" })],
  GREEN: () => [svg("path", { d: "M0 .3H1M0 .7H1", class: "mark-line" })],
};

// Puts the patterns into the document, once. They are referred to by id from all pictures.
export function ensurePatterns() {
  if (document.getElementById("pattern-BLUE")) return;
  const patterns = COLORS.map((color) =>
    svg("pattern", { id: `pattern-${color}`, width: 1, height: 1, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 1, height: 1, class: `hue-${color}` }), MARKS[color]()));
  document.body.append(svg("svg", { class: "definitions", width: 0, height: 0, "aria-hidden": "true" }, svg("defs", {}, patterns)));
}

export function patternOf(color) {
  return `url(#pattern-${color})`;
}

// Returns the cells moved so that their bounding box begins at (0, 0), in reading order.
export function normalized(cells) {
  const left = Math.min(...cells.map(([x]) => x));
  const top = Math.min(...cells.map(([, y]) => y));
  return cells.map(([x, y]) => [x - left, y - top]).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
}

export function rotated(cells) {
  return normalized(cells.map(([x, y]) => [-y, x]));
}

export function flipped(cells) {
  return normalized(cells.map(([x, y]) => [-x, y]));
}

// Returns a text that is equal for equal sets of cells.
export function cellsKey(cells) {
  return [...cells].sort((a, b) => a[1] - b[1] || a[0] - b[0]).map(([x, y]) => `${x},${y}`).join(" ");
}

// Returns the outline of a set of cells as path data: the edges that no two of its cells share.
export function outlinePath(cells) {
  const own = new Set(cells.map(([x, y]) => `${x},${y}`));
  const parts = [];
  for (const [x, y] of cells) {
    if (!own.has(`${x},${y - 1}`)) parts.push(`M${x} ${y}h1`);
    if (!own.has(`${x},${y + 1}`)) parts.push(`M${x} ${y + 1}h1`);
    if (!own.has(`${x - 1},${y}`)) parts.push(`M${x} ${y}v1`);
    if (!own.has(`${x + 1},${y}`)) parts.push(`M${x + 1} ${y}v1`);
  }
  return parts.join("");
}

// Returns a small picture of a piece.
export function pieceIcon(cells, color, scale = 7) {
  const width = 1 + Math.max(...cells.map(([x]) => x));
  const height = 1 + Math.max(...cells.map(([, y]) => y));
  return svg("svg", {
    class: `piece color-${color}`, viewBox: `-.1 -.1 ${width + 0.2} ${height + 0.2}`,
    width: Math.round((width + 0.2) * scale), height: Math.round((height + 0.2) * scale), "aria-hidden": "true",
  },
  cells.map(([x, y]) => svg("rect", { x, y, width: 1, height: 1, fill: patternOf(color), class: "piece-cell" })),
  svg("path", { d: outlinePath(cells), class: "outline" }));
}

// A sample of a colour with its pattern.
export function swatch(color) {
  return svg("svg", { class: "swatch", viewBox: "0 0 2 2", width: 16, height: 16, "aria-hidden": "true" },
    svg("rect", { width: 2, height: 2, fill: patternOf(color) }));
}

// Returns a piece that a colour has not placed yet, as an item of a list: a small picture.
export function remainingPiece(name, cells, color) {
  return el("li", { title: pieceName(name) }, cells ? pieceIcon(cells, color, 6) : name, el("span", { class: "visually-hidden", text: pieceName(name) }));
}
