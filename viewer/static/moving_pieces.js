// Games in which a piece goes from one cell to another, or is placed on one: how such moves are drawn on the board, and
// how a person chooses one.
//
// A board of such a game has `cells` (the elements of its cells), `indexOf(cell)` (the place of a cell in them),
// `centerOf(cell)`, `frame(cell, class)` (a mark around a cell), and `crossesOn(cells)` and `ticksOn(cells)` as a GridBoard.

import { el, setText, svg } from "./dom.js";
import { MoveButtons } from "./move_buttons.js";

const BEFORE_MIDDLE = 0.42; // where an arrow ends, so that it does not cover the piece
const WING = [0.26, 0.17]; // how far the wings of its tip go back and aside

export function cellName([x, y]) {
  return `(${x},\u00a0${y})`;
}

// Returns an arrow from the start of a move to its target; a ring for a piece that is placed.
export function way(board, move, name) {
  if (!move.to) return [];
  const [end, start] = [board.centerOf(move.to), move.from ? board.centerOf(move.from) : null];
  if (!start) return ["way-under", name].map((each) => svg("circle", { cx: end[0], cy: end[1], r: 0.36, class: `move-way ${each}` }));
  const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const tip = [end[0] - BEFORE_MIDDLE * ux, end[1] - BEFORE_MIDDLE * uy];
  const wing = (side) => `${tip[0] - WING[0] * ux - side * WING[1] * uy} ${tip[1] - WING[0] * uy + side * WING[1] * ux}`;
  const d = `M${start[0]} ${start[1]}L${tip[0]} ${tip[1]}M${wing(1)}L${tip[0]} ${tip[1]}L${wing(-1)}`;
  return ["way-under", name].map((each) => svg("path", { d, class: `move-way ${each}` }));
}

// Returns the marks of the last move, of a better one and of a refused one, which are above the pieces.
export function moveMarks(board, { lastMove: move }, { better, illegal }) {
  const known = (cells) => (cells ?? []).filter((cell) => board.centerOf(cell));
  const marks = [];
  if (move?.to) marks.push(...way(board, move, "last-way is-last"), board.frame(move.to, "last-frame is-last"));
  if (move?.to && move.from) marks.push(board.frame(move.from, "last-frame is-start"));
  if (better?.move.to) marks.push(...way(board, better.move, "better-way"), ...board.ticksOn([better.move.to]));
  marks.push(...known(illegal?.cells).map((cell) => board.frame(cell, "refused")), ...board.crossesOn(known(illegal?.offendingCells)));
  return marks;
}

// The cell by which a move is grouped: that of its piece, or that on which one is placed.
function groupOf(move) {
  return move.from ?? move.to ?? null;
}

// Choosing a move: a piece on the board and then its target, a cell to place one on, or one of the buttons, which are the
// same moves.
export class PieceInput extends MoveButtons {
  // `hint(from, move)` says what to choose: the target of the piece on `from`; null: a piece, or a place as for `move`.
  constructor(view, choose, hint) {
    const { board } = view;
    const targetOf = (move) => (groupOf(move) ? board.indexOf(groupOf(move)) : null);
    super({ ...view.drawing, targetOf }, choose);
    this.targetOf = targetOf;
    this.board = board;
    this.hintOf = hint;
    this.tools = el("div"); // for a button to pass, which nobody may here
  }

  request(legal, position = null) {
    this.moves = legal?.moves ?? [];
    super.request(legal, position);
  }

  // Shows the moves of the piece on one cell; null shows those of all.
  show(field) {
    super.show(field);
    if (!this.board) return; // called by the constructor
    const own = field === null ? [] : this.moves.filter((move) => this.targetOf(move) === field);
    this.field = own.length ? field : null;
    if (own.length) this.mark([own[0].from], "chosen", own.map((move) => move.to));
    else this.mark([...new Map(this.moves.map((move) => [this.targetOf(move), groupOf(move)])).values()], "can-move");
    if (this.isAsked) setText(this.hint, this.hintOf(own[0]?.from ?? null, this.moves[0]));
  }

  // Marks the cells of pieces, and the targets of one of them.
  mark(cells, name, targets = []) {
    const { board } = this;
    const rings = targets.map((cell) => {
      const [cx, cy] = board.centerOf(cell);
      return svg("circle", { cx, cy, r: 0.33, class: "target-ring" });
    });
    board.inputLayer.replaceChildren(...cells.map((cell) => board.frame(cell, name)), ...rings);
    const open = new Set([...(name === "chosen" ? [] : cells), ...targets].map((cell) => board.indexOf(cell)));
    board.cells.forEach((cell, index) => cell.classList.toggle("is-open", open.has(index)));
  }

  // A click on a cell of the board.
  pick(field) {
    const move = this.moves.find((each) => (each.from ? this.targetOf(each) === this.field : true) && each.to && this.board.indexOf(each.to) === field);
    if (move) this.choose(move.index);
    else this.show(this.moves.some((each) => this.targetOf(each) === field) && field !== this.field ? field : null);
  }
}
