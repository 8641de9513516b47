// Drawing module of Penguins: the floes with their fish, both players' penguins, the last move, and the moves of a seat.
//
// The row 0 is the highest one; x grows by 2 from a floe to the next one in its row. A player's penguins differ from the
// other's in their shape as well: those of player 2 have a hat, and a stripe on the belly.

import { el, setText, svg } from "../../static/dom.js";
import { addGame } from "../../static/games.js";
import { number, t } from "../../static/i18n.js";
import { MoveButtons } from "../../static/move_buttons.js";
import { TEXTS } from "./texts.js";

const COLORS = ["RED", "BLUE"]; // of the players, as in the contest
const SIGNS = "RB"; // of each player's penguins, as in `board.cells`
const ROW = Math.sqrt(3) / 2; // between the middles of two rows; a floe is 1 wide
const RADIUS = 1 / Math.sqrt(3);
const FISH = { 1: [[0, 0]], 2: [[0, -0.14], [0, 0.14]], 3: [[0, -0.24], [0, 0], [0, 0.24]], 4: [[-0.19, -0.13], [0.19, -0.13], [-0.19, 0.13], [0.19, 0.13]] };

function colorName(player) {
  return t(`color.${COLORS[player]}`);
}

function cellName([x, y]) {
  return `(${x}, ${y})`;
}

function indexOf([x, y], size = 8) {
  return y * size + (x >> 1);
}

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
  return svg("g", { class: `penguin-${COLORS[player]}` },
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
    this.floes = [];
    const rows = [];
    const numbers = [];
    const height = (this.size - 1) * ROW + 2 * RADIUS;
    for (let y = 0; y < this.size; y += 1) {
      const row = svg("g", { role: "row" });
      for (let index = y * this.size; index < (y + 1) * this.size; index += 1) {
        const listener = this.onField ? { onclick: () => this.onField(index) } : {};
        this.floes[index] = svg("path", { d: hexagon(cellOf(index, this.size), 0.02), class: "floe", role: "cell", "data-field": index, ...listener });
        row.append(this.floes[index]);
      }
      rows.push(row);
      numbers.push(svg("text", { x: -0.3, y: middleOf([0, y])[1] + 0.12, class: "axis", text: y }));
    }
    for (let x = 0; x < 2 * this.size; x += 1) numbers.push(svg("text", { x: middleOf([x, 0])[0], y: height + 0.34, class: "axis", text: x }));
    this.pieces = svg("g", { class: "marks", "aria-hidden": "true" });
    this.layer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.inputLayer = svg("g", { class: "marks", "aria-hidden": "true" });
    this.element = svg("svg", { class: `board penguins${this.onField ? " takes-clicks" : ""}`, role: "table", "aria-label": t("penguins.board"), viewBox: `-.65 -.1 ${this.size + 1.3} ${height + 0.55}` },
      svg("g", { "aria-hidden": "true" }, numbers), rows, this.pieces, this.layer, this.inputLayer);
  }

  // Returns where the middle of a cell is drawn, or null outside of the board.
  centerOf([x, y]) {
    return x >= 0 && y >= 0 && x < 2 * this.size && y < this.size && (x + y) % 2 === 0 ? middleOf([x, y]) : null;
  }

  // Shows a position. `extras` may have `legal` (the moves of an overlay), `illegal` (a refused move), `previous` (the
  // position before) and `better` (the estimate of a better move).
  show(position, extras = {}) {
    if (position.board.cells !== this.shown) this.showCells(position.board.cells);
    const marks = [];
    for (const move of extras.legal ?? []) marks.push(...this.way(move, "legal-way"));
    const { lastMove: move } = position;
    if (move?.to) marks.push(...this.way(move, "last-way"), this.frame(move.to, "last-frame"));
    if (move?.to && move.from) marks.push(this.frame(move.from, "last-frame is-start"));
    if (extras.better?.move.to) marks.push(...this.way(extras.better.move, "better-way"), ...this.tick(extras.better.move.to));
    if (extras.illegal) marks.push(...this.refused(extras.illegal));
    this.layer.replaceChildren(...marks);
  }

  showCells(signs) {
    this.shown = signs;
    this.pieces.replaceChildren(...[...signs].flatMap((sign, index) => {
      const cell = cellOf(index, this.size);
      const player = SIGNS.indexOf(sign);
      const isWater = sign === ".";
      const content = player >= 0 ? t("penguins.penguin", { color: colorName(player) }) : isWater ? t("penguins.water") : t("penguins.floe", { count: sign });
      this.floes[index].setAttribute("aria-label", t("penguins.cell", { x: cell[0], y: cell[1], content }));
      this.floes[index].classList.toggle("is-water", isWater);
      if (isWater) return [];
      const [x, y] = middleOf(cell);
      return [svg("g", { transform: `translate(${x} ${y})` }, player >= 0 ? penguin(player) : fishSigns(sign))];
    }));
  }

  // An arrow from the start of a move to its target; a ring for a penguin that is placed.
  way(move, name) {
    if (!move.to) return [];
    const end = this.centerOf(move.to);
    if (!move.from) return ["way-under", name].map((each) => svg("circle", { cx: end[0], cy: end[1], r: 0.36, class: each }));
    const start = this.centerOf(move.from);
    const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const tip = [end[0] - 0.4 * ux, end[1] - 0.4 * uy]; // at the border of the cell, not on the penguin
    const wing = (side) => `${tip[0] - 0.22 * ux - side * 0.15 * uy} ${tip[1] - 0.22 * uy + side * 0.15 * ux}`;
    const d = `M${start[0]} ${start[1]}L${tip[0]} ${tip[1]}M${wing(1)}L${tip[0]} ${tip[1]}L${wing(-1)}`;
    return [svg("path", { d, class: "way-under" }), svg("path", { d, class: name })];
  }

  frame(cell, name) {
    return svg("path", { d: hexagon(cell, 0.07), class: name });
  }

  tick(cell) {
    const [x, y] = this.centerOf(cell);
    return ["better-tick-under", "better-tick"].map((name) => svg("path", { d: `M${x - 0.24} ${y + 0.02}l.18 .2l.32 -.42`, class: name }));
  }

  refused(illegal) {
    const known = (cells) => (cells ?? []).filter((cell) => this.centerOf(cell));
    const crosses = known(illegal.offendingCells).map((cell) => {
      const [x, y] = this.centerOf(cell);
      return svg("path", { d: `M${x - 0.3} ${y - 0.3}l.6 .6m0 -.6l-.6 .6`, class: "offending", "data-x": cell[0], "data-y": cell[1] });
    });
    return [...known(illegal.cells).map((cell) => this.frame(cell, "refused")), ...crosses];
  }

  // Shows what a person may choose: the penguins that can move, or the chosen one and its targets; null shows nothing.
  showChoice(choice) {
    const starts = choice?.starts ?? [];
    const targets = choice?.targets ?? [];
    this.inputLayer.replaceChildren(
      ...starts.map((cell) => this.frame(cell, "can-move")),
      ...(choice?.chosen ? [this.frame(choice.chosen, "chosen")] : []),
      ...targets.map((cell) => {
        const [x, y] = this.centerOf(cell);
        return svg("circle", { cx: x, cy: y, r: 0.36, class: "target-ring" });
      }));
    const open = new Set([...starts, ...targets].map((cell) => indexOf(cell, this.size)));
    this.floes.forEach((floe, index) => floe.classList.toggle("is-open", open.has(index)));
  }
}

// The field by which a move is grouped in the list of buttons: that of its penguin, or where one is placed.
function targetOf(move) {
  const cell = move.from ?? move.to;
  return cell ? indexOf(cell) : null;
}

// Choosing a move: a penguin on the board and then its target, a floe to place one on, or one of the buttons, which are
// the same moves.
class PenguinInput extends MoveButtons {
  constructor(view, choose) {
    super(view.drawing, choose);
    this.board = view.board;
    this.tools = el("div"); // for a button to pass, which nobody may here
  }

  request(legal, position = null) {
    this.moves = legal?.moves ?? [];
    super.request(legal, position);
  }

  // Shows the moves of the penguin on one field; null shows those of all.
  show(field) {
    super.show(field);
    if (!this.board) return; // called by the constructor
    const own = field === null ? [] : this.moves.filter((move) => targetOf(move) === field);
    this.field = own.length ? field : null;
    const starts = new Map(this.moves.map((move) => [targetOf(move), move.from ?? move.to]));
    this.board.showChoice(!this.moves.length ? null : own.length ? { chosen: own[0].from, targets: own.map((move) => move.to) } : { starts: [...starts.values()] });
    if (this.isAsked) setText(this.hint, own.length ? t("penguins.chooseTarget", { from: cellName(own[0].from) }) : t(this.moves[0]?.from ? "penguins.choosePenguin" : "penguins.choosePlace"));
  }

  // A click on a field of the board.
  pick(field) {
    const move = this.moves.find((each) => (each.from ? targetOf(each) === this.field : true) && indexOf(each.to) === field);
    if (move) this.choose(move.index);
    else this.show(this.moves.some((each) => targetOf(each) === field) && field !== this.field ? field : null);
  }
}

class PlayerDetails {
  constructor() {
    this.element = el("dl", { class: "holdings" });
  }

  show(position, player) {
    const { fish = 0, toPlace = 0, stuck = 0 } = position.players?.[player] ?? {};
    const rows = [[t("penguins.fish"), fish], [t("penguins.toPlace"), toPlace], [t("penguins.stuck"), stuck]];
    this.element.replaceChildren(...rows.map(([label, value]) => el("div", {}, el("dt", { text: label }), el("dd", { text: number(value) }))));
  }
}

// A board so small that only the penguins and the water can be seen: squares and circles.
class Thumbnail {
  constructor() {
    this.paths = COLORS.map((color) => svg("path", { class: `dot-${color}` }));
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

addGame({
  name: "penguins",
  createThumbnail: () => new Thumbnail(),
  createBoard: (game, options = {}) => new Board(game, options),
  createPlayerDetails: () => new PlayerDetails(),
  createInput: (view, choose) => new PenguinInput(view, choose),
  describeMove(position) {
    const move = position.lastMove;
    if (!move) return "";
    if (!move.to) return move.text ?? "";
    const ends = { color: colorName(move.player ?? 0), from: move.from ? cellName(move.from) : "", to: cellName(move.to) };
    if (!move.from) return t("penguins.placed", ends);
    return Number.isInteger(move.fish) ? t("penguins.movedFor", { ...ends, fish: move.fish }) : t("penguins.moved", ends);
  },
  describeLegalMove(move) {
    if (!move.to) return move.text ?? "";
    if (!move.from) return t("penguins.place", { to: cellName(move.to) });
    return [el("span", { text: t("penguins.slide", { from: cellName(move.from), to: cellName(move.to) }) }), el("small", { text: t("penguins.gets", { fish: move.fish }) })];
  },
  targetOf,
  pieceName: String,
  pointsText: (_position, player) => t("penguins.points", { points: number(_position.players?.[player]?.fish ?? 0) }),
  describeSide: (side) => (side ? colorName(side.player) : ""),
}, TEXTS);
