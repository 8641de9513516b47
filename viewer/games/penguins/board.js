// Drawing module of Penguins: the floes with their fish, both players' penguins, the last move, and the moves of a seat.
//
// The row 0 is the highest one; x grows by 2 from a floe to the next one in its row. A player's penguins differ from the
// other's in their shape as well: those of player 2 have a hat, and a stripe on the belly.

import { el, svg } from "../../static/dom.js";
import { addGame } from "../../static/games.js";
import { crossesOn, ticksOn } from "../../static/grid_board.js";
import { Holdings } from "../../static/holdings.js";
import { number, t } from "../../static/i18n.js";
import { PieceInput, cellName, moveMarks, way } from "../../static/moving_pieces.js";
import { TEAMS, teamDrawing, teamName } from "../../static/teams.js";
import { TEXTS } from "./texts.js";

const SIGNS = "RB"; // of each player's penguins, as in `board.cells`
const ROW = Math.sqrt(3) / 2; // between the middles of two rows; a floe is 1 wide
const RADIUS = 1 / Math.sqrt(3);
const FISH = { 1: [[0, 0]], 2: [[0, -0.14], [0, 0.14]], 3: [[0, -0.24], [0, 0], [0, 0.24]], 4: [[-0.19, -0.13], [0.19, -0.13], [-0.19, 0.13], [0.19, 0.13]] };

function cellOf(index, size) {
  const y = Math.floor(index / size);
  return [2 * (index % size) + (y % 2), y];
}

function middleOf([x, y]) {
  return [x / 2 + 0.5, y * ROW + RADIUS];
}

// The corners of a hexagon around the middle of a cell, smaller by `margin`.
function hexagon(cell, margin) {
  const [x, y] = middleOf(cell);
  const [side, top] = [0.5 - margin, RADIUS - margin];
  return `M${x} ${y - top}L${x + side} ${y - top / 2}V${y + top / 2}L${x} ${y + top}L${x - side} ${y + top / 2}V${y - top / 2}Z`;
}

function fishSigns(count) {
  const d = "M-.15 0C-.07 -.1 .07 -.1 .12 -.01L.2 -.08V.08L.12 .01C.07 .1 -.07 .1 -.15 0Z";
  return (FISH[count] ?? []).map(([x, y]) => svg("path", { d, transform: `translate(${x} ${y})`, class: "fish-sign" }));
}

// A penguin in the middle of a cell.
function penguin(player) {
  const isSecond = player === 1;
  return svg("g", { class: `team-${TEAMS[player]}` },
    svg("path", { d: "M0 -.36C.16 -.36 .19 -.2 .18 -.12C.3 0 .33 .14 .27 .2C.25 .16 .24 .12 .22 .1C.24 .26 .16 .38 0 .38C-.16 .38 -.24 .26 -.22 .1C-.24 .12 -.25 .16 -.27 .2C-.33 .14 -.3 0 -.18 -.12C-.19 -.2 -.16 -.36 0 -.36Z", class: "penguin-body" }),
    svg("ellipse", { cx: 0, cy: 0.14, rx: 0.12, ry: 0.19, class: "penguin-belly" }),
    svg("circle", { cx: -0.07, cy: -0.22, r: 0.035, class: "penguin-eye" }), svg("circle", { cx: 0.07, cy: -0.22, r: 0.035, class: "penguin-eye" }),
    svg("path", { d: "M-.06 -.16H.06L0 -.08Z", class: "penguin-beak" }),
    isSecond ? svg("path", { d: "M-.1 .1H.1M-.1 .2H.1", class: "stripes" }) : null,
    isSecond ? svg("path", { d: "M-.16 -.29L0 -.52L.16 -.29C.05 -.33 -.05 -.33 -.16 -.29Z", class: "penguin-hat" }) : null);
}

class Board {
  constructor(game, options) {
    this.size = game.positions?.[0]?.board?.size ?? 8;
    this.onField = options.onField ?? null;
    this.shown = "";
    this.cells = [];
    const rows = [];
    const numbers = [];
    const height = (this.size - 1) * ROW + 2 * RADIUS;
    for (let y = 0; y < this.size; y += 1) {
      const row = svg("g", { role: "row" });
      for (let index = y * this.size; index < (y + 1) * this.size; index += 1) {
        const listener = this.onField ? { onclick: () => this.onField(index) } : {};
        this.cells[index] = svg("path", { d: hexagon(cellOf(index, this.size), 0.02), class: "floe", role: "cell", "data-field": index, ...listener });
        row.append(this.cells[index]);
      }
      rows.push(row);
      numbers.push(svg("text", { x: -0.3, y: middleOf([0, y])[1] + 0.12, class: "axis", text: y }));
    }
    for (let x = 0; x < 2 * this.size; x += 1) numbers.push(svg("text", { x: middleOf([x, 0])[0], y: height + 0.34, class: "axis", text: x }));
    this.legalLayer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.pieces = svg("g", { class: "marks", "aria-hidden": "true" });
    this.layer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.inputLayer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.element = svg("svg", { class: `board moving-pieces penguins${this.onField ? " takes-clicks" : ""}`, role: "table", "aria-label": t("penguins.board"), viewBox: `-.65 -.1 ${this.size + 1.3} ${height + 0.55}` },
      svg("g", { "aria-hidden": "true" }, numbers), rows, this.legalLayer, this.pieces, this.layer, this.inputLayer);
  }

  // Returns where the middle of a cell is drawn, or null outside of the board.
  centerOf([x, y]) {
    return x >= 0 && y >= 0 && x < 2 * this.size && y < this.size && (x + y) % 2 === 0 ? middleOf([x, y]) : null;
  }

  // Shows a position. `extras` may have `legal` (the moves of an overlay), `illegal` (a refused move), `previous` (the
  // position before) and `better` (the estimate of a better move).
  show(position, extras = {}) {
    if (position.board.cells !== this.shown) this.showCells(position.board.cells);
    this.legalLayer.replaceChildren(...(extras.legal ?? []).flatMap((move) => way(this, move, "legal-way")));
    this.layer.replaceChildren(...moveMarks(this, position, extras));
  }

  indexOf([x, y]) {
    return y * this.size + (x >> 1);
  }

  showCells(signs) {
    this.shown = signs;
    this.pieces.replaceChildren(...[...signs].flatMap((sign, index) => {
      const cell = cellOf(index, this.size);
      const player = SIGNS.indexOf(sign);
      const isWater = sign === ".";
      const content = player >= 0 ? t("penguins.penguin", { color: teamName(player) }) : isWater ? t("penguins.water") : t("penguins.floe", { count: sign });
      this.cells[index].setAttribute("aria-label", t("penguins.cell", { x: cell[0], y: cell[1], content }));
      this.cells[index].classList.toggle("is-water", isWater);
      if (isWater) return [];
      const [x, y] = middleOf(cell);
      return [svg("g", { transform: `translate(${x} ${y})` }, player >= 0 ? penguin(player) : fishSigns(sign))];
    }));
  }

  frame(cell, name) {
    return svg("path", { d: hexagon(cell, 0.07), class: name });
  }

  crossesOn(cells) {
    return crossesOn(cells.map((cell) => this.centerOf(cell)), cells);
  }

  ticksOn(cells) {
    return ticksOn(cells.map((cell) => this.centerOf(cell)));
  }
}

// A board so small that only the penguins and the water can be seen: squares and circles.
class Thumbnail {
  constructor() {
    this.paths = TEAMS.map((team) => svg("path", { class: `team-dot-${team}` }));
    this.floes = svg("path", { class: "dot-floe" });
    this.element = svg("svg", { class: "thumbnail-board penguins", viewBox: `0 0 8.5 ${7 * ROW + 2 * RADIUS}`, "aria-hidden": "true" }, this.floes, this.paths);
  }

  show({ size, cells }) {
    const shapes = [(x, y) => `M${x - 0.36} ${y - 0.36}h.72v.72h-.72z`, (x, y) => `M${x - 0.4} ${y}a.4 .4 0 1 0 .8 0a.4 .4 0 1 0 -.8 0`];
    const found = [[], []];
    const floes = [];
    [...cells].forEach((sign, index) => {
      const player = SIGNS.indexOf(sign);
      if (player >= 0) found[player].push(shapes[player](...middleOf(cellOf(index, size))));
      else if (sign !== ".") floes.push(hexagon(cellOf(index, size), 0.08));
    });
    this.floes.setAttribute("d", floes.join(""));
    this.paths.forEach((path, player) => path.setAttribute("d", found[player].join("")));
  }
}

addGame(teamDrawing({
  name: "penguins",
  createThumbnail: () => new Thumbnail(),
  createBoard: (game, options = {}) => new Board(game, options),
  createPlayerDetails: () => new Holdings(({ fish = 0, toPlace = 0, stuck = 0 }) => [[t("penguins.fish"), fish], [t("penguins.toPlace"), toPlace], [t("penguins.stuck"), stuck]]),
  createInput: (view, choose) => new PieceInput(view, choose, (from, move) => (from ? t("penguins.chooseTarget", { from: cellName(from) }) : t(move?.from ? "penguins.choosePenguin" : "penguins.choosePlace"))),
  moveText(move) {
    if (!move.to) return move.text ?? "";
    if (!move.from) return t("penguins.place", { to: cellName(move.to) });
    const ends = t("penguins.slide", { from: cellName(move.from), to: cellName(move.to) });
    return Number.isInteger(move.fish) ? `${ends}, ${t("penguins.gets", { fish: move.fish })}` : ends;
  },
  describeLegalMove(move) {
    if (!move.to) return move.text ?? "";
    if (!move.from) return t("penguins.place", { to: cellName(move.to) });
    return [el("span", { text: t("penguins.slide", { from: cellName(move.from), to: cellName(move.to) }) }), el("small", { text: t("penguins.gets", { fish: move.fish }) })];
  },
  pointsText: (position, player) => t("penguins.points", { points: number(position.players?.[player]?.fish ?? 0) }),
}), TEXTS);
