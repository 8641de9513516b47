// Boards so small that only what belongs to whom can be seen, for lists of games.

import { svg } from "./dom.js";

const FORMS = {
  square: (x, y) => `M${x} ${y}h1v1h-1z`,
  small: (x, y) => `M${x + 0.1} ${y + 0.1}h.8v.8h-.8z`,
  round: (x, y) => `M${x + 0.05} ${y + 0.5}a.45 .45 0 1 0 .9 0a.45 .45 0 1 0 -.9 0`,
};

// A board of cells, which are given as letters, row by row.
export class CellThumbnail {
  // Each of `kinds` has the letters of some cells, their form (square, small or round), and a class. `isUpward` says
  // whether the first row is the lowest one.
  constructor(kinds, { isUpward = false } = {}) {
    this.kinds = kinds;
    this.isUpward = isUpward;
    this.paths = kinds.map((kind) => svg("path", { class: kind.class }));
    this.element = svg("svg", { class: "thumbnail-board", "aria-hidden": "true" }, this.paths);
  }

  show({ width, cells }) {
    this.element.setAttribute("viewBox", `0 0 ${width} ${width}`);
    this.kinds.forEach(({ letters, form }, order) => {
      const marks = [...cells].map((letter, index) => {
        const row = Math.floor(index / width);
        return letters.includes(letter) ? FORMS[form](index % width, this.isUpward ? width - 1 - row : row) : "";
      });
      this.paths[order].setAttribute("d", marks.join(""));
    });
  }
}

// How far both players of a race have come: a round mark and a square one, each on a way of its own.
export class RaceThumbnail {
  // `sharesOf(picture)` returns for each player the share of the way that is behind it.
  constructor(sharesOf) {
    this.sharesOf = sharesOf;
    this.marks = [svg("circle", { class: "team-dot-RED", cy: 6, r: 3 }), svg("rect", { class: "team-dot-BLUE", y: 11, width: 6, height: 6 })];
    this.element = svg("svg", { class: "thumbnail-board", viewBox: "0 0 40 20", "aria-hidden": "true" }, svg("path", { class: "thumbnail-way", d: "M4 6h32M4 14h32" }), this.marks);
  }

  show(picture) {
    const [first, second] = this.sharesOf(picture).map((share) => 4 + 32 * Math.min(1, share));
    this.marks[0].setAttribute("cx", String(first));
    this.marks[1].setAttribute("x", String(second - 3));
  }
}
