// A board of square cells with numbers at two of its sides, and what is drawn in the same way on every such board.

import { svg } from "./dom.js";

export class GridBoard {
  // - `width`, `height`: the number of cells in a row and of rows.
  // - `isUpward`: whether the row 0 is the lowest one.
  // - `attributesOf(x, y)`: the attributes of a cell.
  // - `layers`: elements that are drawn above the cells.
  // - `attributes`: those of the board.
  constructor({ width, height, isUpward = false, attributesOf, layers }, attributes) {
    this.width = width;
    this.height = height;
    this.isUpward = isUpward;
    this.cells = []; // row by row, beginning with the row 0
    const columns = [...Array(width).keys()];
    const rows = [...Array(height).keys()].map((row) => svg("g", { role: "row" }, columns.map((x) => {
      const y = this.topOf(row);
      this.cells[y * width + x] = svg("rect", { x, y: row, width: 1, height: 1, ...attributesOf(x, y) });
      return this.cells[y * width + x];
    })));
    const axis = (x, y, text) => svg("text", { x, y, class: "axis", text });
    const numbers = [...columns.map((x) => axis(x + 0.5, isUpward ? height + 0.5 : -0.3, x)), ...rows.map((_, y) => axis(-0.5, this.topOf(y) + 0.68, y))];
    this.element = svg("svg", { ...attributes, class: `board grid-board ${attributes.class}` }, svg("g", { "aria-hidden": "true" }, numbers), rows, layers);
  }

  // Returns where a row begins, and the row that begins there.
  topOf(y) {
    return this.isUpward ? this.height - 1 - y : y;
  }

  // Returns where the middle of a cell is drawn, or null outside of the board.
  centerOf([x, y]) {
    return x >= 0 && y >= 0 && x < this.width && y < this.height ? [x + 0.5, this.topOf(y) + 0.5] : null;
  }

  cellElement([x, y]) {
    return this.cells[y * this.width + x];
  }

  // Returns a cross for each cell that breaks a rule, which may be outside of the board.
  crossesOn(cells) {
    return crossesOn(cells.map(([x, y]) => [x + 0.5, this.topOf(y) + 0.5]), cells);
  }

  // Returns a tick for each cell of a better move.
  ticksOn(cells) {
    return ticksOn(cells.map(([x, y]) => [x + 0.5, this.topOf(y) + 0.5]));
  }
}

// Returns a cross around each of `centers`, which are the middles of `cells`.
export function crossesOn(centers, cells) {
  return centers.map(([x, y], order) => svg("path", { d: `M${x - 0.35} ${y - 0.35}l.7 .7m0 -.7l-.7 .7`, class: "offending", "data-x": cells[order][0], "data-y": cells[order][1] }));
}

// Returns a tick around each of `centers`.
export function ticksOn(centers) {
  return centers.flatMap(([x, y]) => ["better-tick-under", "better-tick"].map((name) => svg("path", { d: `M${x - 0.24} ${y + 0.02}l.18 .2l.32 -.42`, class: name })));
}
