// Drawing module of Piranhas: the board with both players' fish, the swarms that they form, the last move, and the moves
// of a seat.
//
// The row 0 is the lowest one. A player's fish differ from the other's in their shape as well: those of player 1 look to
// the right and are plain, those of player 2 look to the left and have stripes. The number on a fish is its size.

import { el, setText, svg } from "../../static/dom.js";
import { addGame } from "../../static/games.js";
import { number, t } from "../../static/i18n.js";
import { MoveButtons } from "../../static/move_buttons.js";
import { TEXTS } from "./texts.js";

const COLORS = ["RED", "BLUE"]; // of the players, as in the contest
const SIGNS = ["123", "abc"]; // of each player's fish by size, as in `board.cells`
const SCALES = [0.72, 0.9, 1.06];
const NEIGHBORS = [[1, 0], [0, 1], [1, 1], [-1, 1]]; // each pair of neighbours once

// Returns the player and the size (0 to 2) of the fish that a letter stands for, or null.
function fishOf(sign) {
  const player = SIGNS.findIndex((signs) => signs.includes(sign));
  return player < 0 ? null : { player, size: SIGNS[player].indexOf(sign) };
}

function colorName(player) {
  return t(`color.${COLORS[player]}`);
}

function cellName([x, y]) {
  return `(${x}, ${y})`;
}

// A fish in the middle of a cell. Paths are in a box from -.5 to .5.
function fish({ player, size }) {
  const scale = SCALES[size];
  const body = "M-.28 -.06C-.12 -.34 .28 -.36 .44 0C.28 .36 -.12 .34 -.28 .06L-.46 .24L-.4 0L-.46 -.24Z";
  const stripes = player === 1 ? svg("path", { d: "M.02 -.2V.2M.16 -.24V-.12M.16 .12V.24M-.1 -.12V.12", class: "stripes" }) : null;
  return svg("g", { transform: `scale(${player === 1 ? -scale : scale} ${scale})`, class: `fish fish-${COLORS[player]}` },
    svg("path", { d: body, class: "fish-body" }), stripes,
    svg("circle", { cx: 0.3, cy: -0.08, r: 0.045, class: "fish-eye" }));
}

function squid() {
  return svg("g", { class: "squid" },
    svg("path", { d: "M-.26 .08C-.3 -.44 .3 -.44 .26 .08C.24 .2 .4 .24 .36 .4C.26 .38 .2 .3 .16 .2C.14 .32 .12 .4 .04 .44C0 .34 .02 .28 0 .2C-.02 .28 0 .34 -.04 .44C-.12 .4 -.14 .32 -.16 .2C-.2 .3 -.26 .38 -.36 .4C-.4 .24 -.24 .2 -.26 .08Z", class: "squid-body" }),
    svg("circle", { cx: -0.1, cy: -0.08, r: 0.06, class: "fish-eye" }), svg("circle", { cx: 0.1, cy: -0.08, r: 0.06, class: "fish-eye" }));
}

class Board {
  constructor(game, options) {
    this.size = game.positions?.[0]?.board?.size ?? 10;
    this.onField = options.onField ?? null;
    this.shown = "";
    this.cells = [];
    const rows = [];
    for (let y = this.size - 1; y >= 0; y -= 1) {
      const row = svg("g", { role: "row" });
      for (let x = 0; x < this.size; x += 1) {
        const index = y * this.size + x;
        const listener = this.onField ? { onclick: () => this.onField(index) } : {};
        this.cells[index] = svg("rect", { x, y: this.size - 1 - y, width: 1, height: 1, class: "sea", role: "cell", "data-field": index, ...listener });
        row.append(this.cells[index]);
      }
      rows.push(row);
    }
    const numbers = [];
    for (let each = 0; each < this.size; each += 1) {
      numbers.push(svg("text", { x: each + 0.5, y: this.size + 0.42, class: "axis", text: each }), svg("text", { x: -0.32, y: this.size - each - 0.36, class: "axis", text: each }));
    }
    this.links = svg("g", { class: "marks", "aria-hidden": "true" });
    this.pieces = svg("g", { class: "marks", "aria-hidden": "true" });
    this.layer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.inputLayer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.element = svg("svg", { class: `board piranhas${this.onField ? " takes-clicks" : ""}`, role: "table", "aria-label": t("piranhas.board"), viewBox: `-.7 -.15 ${this.size + 0.85} ${this.size + 0.75}` },
      svg("g", { "aria-hidden": "true" }, numbers), rows, this.links, this.pieces, this.layer, this.inputLayer);
  }

  // Returns where the middle of a cell is drawn, or null outside of the board.
  centerOf([x, y]) {
    return x >= 0 && y >= 0 && x < this.size && y < this.size ? [x + 0.5, this.size - 0.5 - y] : null;
  }

  // Shows a position. `extras` may have `legal` (the moves of an overlay), `illegal` (a refused move), `previous` (the
  // position before) and `better` (the estimate of a better move).
  show(position, extras = {}) {
    const signs = position.board.cells;
    const heaviest = new Set((position.players ?? []).flatMap((player) => player.swarmCells ?? []).map(cellName));
    if (signs !== this.shown) this.showCells(signs, heaviest);
    const marks = [];
    for (const move of extras.legal ?? []) marks.push(...this.way(move, "legal-way"));
    const { lastMove: move } = position;
    if (move?.to) marks.push(...this.way(move, "last-way"), this.frame(move.to, "last-frame"), this.frame(move.from, "last-frame is-start"));
    if (extras.better?.move.to) marks.push(...this.way(extras.better.move, "better-way"), ...this.tick(extras.better.move.to));
    if (extras.illegal) marks.push(...this.refused(extras.illegal));
    this.layer.replaceChildren(...marks);
  }

  showCells(signs, heaviest) {
    this.shown = signs;
    const pieces = [];
    const links = [];
    [...signs].forEach((sign, index) => {
      const cell = [index % this.size, Math.floor(index / this.size)];
      const found = fishOf(sign);
      const content = found ? t("piranhas.fish", { color: colorName(found.player), size: found.size + 1 }) : t(sign === "x" ? "piranhas.squid" : "piranhas.empty");
      const label = found && heaviest.has(cellName(cell)) ? `${content}, ${t("piranhas.inSwarm")}` : content;
      this.cells[index].setAttribute("aria-label", t("piranhas.cell", { x: cell[0], y: cell[1], content: label }));
      if (!found && sign !== "x") return;
      const [x, y] = this.centerOf(cell);
      pieces.push(svg("g", { transform: `translate(${x} ${y})` }, found ? [fish(found), svg("text", { x: found.player === 1 ? 0.04 : -0.04, y: 0.12, class: "fish-size", text: found.size + 1 })] : squid()));
      if (!found) return;
      for (const [dx, dy] of NEIGHBORS) {
        const [otherX, otherY] = [cell[0] + dx, cell[1] + dy];
        const center = this.centerOf([otherX, otherY]);
        if (!center || fishOf(signs[otherY * this.size + otherX])?.player !== found.player) continue;
        const isHeaviest = heaviest.has(cellName(cell));
        links.push(svg("path", { d: `M${x} ${y}L${center[0]} ${center[1]}`, class: `link link-${COLORS[found.player]}${isHeaviest ? " is-heaviest" : ""}` }));
      }
    });
    this.pieces.replaceChildren(...pieces);
    this.links.replaceChildren(...links);
  }

  // An arrow from the start of a move to its target.
  way(move, name) {
    if (!move.from || !move.to) return [];
    const [start, end] = [this.centerOf(move.from), this.centerOf(move.to)];
    const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const tip = [end[0] - 0.42 * ux, end[1] - 0.42 * uy]; // at the border of the cell, not on the fish
    const wing = (side) => `${tip[0] - 0.26 * ux - side * 0.17 * uy} ${tip[1] - 0.26 * uy + side * 0.17 * ux}`;
    const d = `M${start[0]} ${start[1]}L${tip[0]} ${tip[1]}M${wing(1)}L${tip[0]} ${tip[1]}L${wing(-1)}`;
    return [svg("path", { d, class: "way-under" }), svg("path", { d, class: name })];
  }

  frame([x, y], name) {
    return svg("rect", { x: x + 0.06, y: this.size - 0.94 - y, width: 0.88, height: 0.88, rx: 0.12, class: name });
  }

  tick(cell) {
    const [x, y] = this.centerOf(cell);
    return ["better-tick-under", "better-tick"].map((name) => svg("path", { d: `M${x - 0.24} ${y + 0.02}l.18 .2l.32 -.42`, class: name }));
  }

  refused(illegal) {
    const known = (cells) => (cells ?? []).filter((cell) => this.centerOf(cell));
    const crosses = known(illegal.offendingCells).map((cell) => {
      const [x, y] = this.centerOf(cell);
      return svg("path", { d: `M${x - 0.35} ${y - 0.35}l.7 .7m0 -.7l-.7 .7`, class: "offending", "data-x": cell[0], "data-y": cell[1] });
    });
    return [...known(illegal.cells).map((cell) => this.frame(cell, "refused")), ...crosses];
  }

  // Shows what a person may choose: the fish that can move, or the chosen one and its targets; null shows nothing.
  showChoice(choice) {
    const starts = choice?.starts ?? [];
    const targets = choice?.targets ?? [];
    this.inputLayer.replaceChildren(
      ...starts.map((cell) => this.frame(cell, "can-move")),
      ...(choice?.chosen ? [this.frame(choice.chosen, "chosen")] : []),
      ...targets.map((cell) => {
        const [x, y] = this.centerOf(cell);
        return svg("circle", { cx: x, cy: y, r: 0.3, class: "target-ring" });
      }));
    const open = new Set([...starts, ...targets].map(cellName));
    this.cells.forEach((cell, index) => cell.classList.toggle("is-open", open.has(cellName([index % this.size, Math.floor(index / this.size)]))));
  }
}

// Choosing a move: a fish on the board and then its target, or one of the buttons, which are the same moves.
class FishInput extends MoveButtons {
  constructor(view, choose) {
    super(view.drawing, choose);
    this.board = view.board;
    this.tools = el("div"); // for a button to pass, which nobody may here
  }

  request(legal, position = null) {
    this.moves = legal?.moves ?? [];
    super.request(legal, position);
  }

  // Shows the moves of the fish on one cell; null shows those of all fish.
  show(field) {
    super.show(field);
    if (!this.board) return; // called by the constructor
    const own = field === null ? [] : this.moves.filter((move) => targetOf(move) === field);
    this.field = own.length ? field : null;
    const starts = new Map(this.moves.map((move) => [cellName(move.from), move.from]));
    this.board.showChoice(!this.moves.length ? null : own.length ? { chosen: own[0].from, targets: own.map((move) => move.to) } : { starts: [...starts.values()] });
    if (this.isAsked) setText(this.hint, own.length ? t("piranhas.chooseTarget", { from: cellName(own[0].from) }) : t("piranhas.chooseFish"));
  }

  // A click on a cell of the board.
  pick(field) {
    const move = this.moves.find((each) => targetOf(each) === this.field && indexOf(each.to) === field);
    if (move) this.choose(move.index);
    else this.show(this.moves.some((each) => targetOf(each) === field) && field !== this.field ? field : null);
  }
}

function indexOf([x, y]) {
  return y * 10 + x;
}

// The cell by which a move is grouped in the list of buttons: that of its fish.
function targetOf(move) {
  return move.from ? indexOf(move.from) : null;
}

class PlayerDetails {
  constructor() {
    this.element = el("dl", { class: "holdings" });
  }

  show(position, player) {
    const { swarm = 0, fish: count = 0, swarms = 0 } = position.players?.[player] ?? {};
    const rows = [[t("piranhas.swarm"), swarm], [t("piranhas.count"), count], [t("piranhas.swarms"), swarms]];
    this.element.replaceChildren(...rows.map(([label, value]) => el("div", {}, el("dt", { text: label }), el("dd", { text: number(value) }))));
  }
}

// A board so small that only the players' fish can be seen: squares and circles.
class Thumbnail {
  constructor() {
    this.paths = COLORS.map((color) => svg("path", { class: `dot-${color}` }));
    this.element = svg("svg", { class: "thumbnail-board", viewBox: "0 0 10 10", "aria-hidden": "true" }, this.paths);
  }

  show({ size, cells }) {
    const shapes = [(x, y) => `M${x + 0.1} ${y + 0.1}h.8v.8h-.8z`, (x, y) => `M${x + 0.05} ${y + 0.5}a.45 .45 0 1 0 .9 0a.45 .45 0 1 0 -.9 0`];
    const found = [[], []];
    [...cells].forEach((sign, index) => {
      const each = fishOf(sign);
      if (each) found[each.player].push(shapes[each.player](index % size, size - 1 - Math.floor(index / size)));
    });
    this.paths.forEach((path, player) => path.setAttribute("d", found[player].join("")));
  }
}

addGame({
  name: "piranhas",
  createThumbnail: () => new Thumbnail(),
  createBoard: (game, options = {}) => new Board(game, options),
  createPlayerDetails: () => new PlayerDetails(),
  createInput: (view, choose) => new FishInput(view, choose),
  describeMove(position) {
    const move = position.lastMove;
    if (!move) return "";
    if (!move.to) return move.text ?? "";
    const ends = { color: colorName(move.player ?? 0), from: cellName(move.from), to: cellName(move.to) };
    return Number.isInteger(move.eaten) ? t("piranhas.ate", { ...ends, size: move.eaten }) : t("piranhas.moved", ends);
  },
  describeLegalMove(move) {
    if (!move.to) return move.text ?? "";
    const ends = el("span", { text: t("piranhas.choice", { from: cellName(move.from), to: cellName(move.to) }) });
    return Number.isInteger(move.eaten) ? [ends, el("small", { text: t("piranhas.eats", { size: move.eaten }) })] : ends;
  },
  targetOf,
  pieceName: String,
  pointsText: (_position, player) => t("piranhas.points", { points: number(_position.players?.[player]?.swarm ?? 0) }),
  describeSide: (side) => (side ? colorName(side.player) : ""),
}, TEXTS);
