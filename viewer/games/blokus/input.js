// Placing a piece of Blokus by mouse, touch or keys.
//
// A person chooses a piece, turns it, moves it over the board and places it. The server's list of legal moves decides
// where it fits; turning is geometry only. Invariants: a move is sent only if it is one of that list; whatever the
// pointer can do, the keys can do too.

import { announce, button, el, setText } from "../../static/dom.js";
import { t } from "../../static/i18n.js";
import { cellsKey, colorName, flipped, normalized, pieceIcon, pieceName, rotated } from "./pieces.js";

function shifted(cells, [x, y]) {
  return cells.map(([cellX, cellY]) => [cellX + x, cellY + y]);
}

// Where the bounding box of a move begins.
function cornerOf(move) {
  return [0, 1].map((axis) => Math.min(...move.cells.map((cell) => cell[axis])));
}

// The cell of a piece that lies below the pointer: the one nearest to its middle.
function middleCell(cells) {
  const center = [0, 1].map((axis) => cells.reduce((sum, cell) => sum + cell[axis], 0) / cells.length);
  const distance = (cell) => (cell[0] - center[0]) ** 2 + (cell[1] - center[1]) ** 2;
  return cells.reduce((best, cell) => (distance(cell) < distance(best) ? cell : best));
}

export class BlokusInput {
  // `view` is the GameView whose board takes the moves. `choose(index)` is told the chosen legal move.
  constructor(view, choose) {
    this.board = view.board;
    this.pieces = view.record.game.pieces ?? {};
    this.choose = choose;
    this.legal = null;
    this.piece = null;
    this.cells = [];
    this.corner = [8, 8]; // where the bounding box of the piece begins
    this.isShown = false; // a ghost is drawn once the pointer or a key has placed it
    this.tray = el("div", { class: "tray", role: "radiogroup", "aria-label": t("seat.pieces"), onkeydown: (event) => this.trayKey(event) });
    this.hint = el("p", { class: "seat-hint", id: "seat-hint" });
    this.rotateButton = button(t("seat.rotate"), () => this.rotate());
    this.flipButton = button(t("seat.flip"), () => this.flip());
    this.nextButton = button(t("seat.nextPlace"), () => this.nextPlace(1));
    this.placeButton = button(t("seat.place"), () => this.place(), { class: "primary" });
    this.tools = el("div", { class: "tools" }, this.rotateButton, this.flipButton, this.nextButton, this.placeButton);
    this.keys = el("details", { class: "keys" }, el("summary", { text: t("seat.keysTitle") }), el("p", { text: t("seat.keys") }));
    this.element = el("div", { class: "seat-input" }, this.hint, this.tray, this.tools, this.keys);
    const board = this.board.element;
    board.setAttribute("tabindex", "0");
    board.setAttribute("aria-describedby", "seat-hint");
    board.classList.add("takes-moves");
    this.listeners = [
      ["pointermove", (event) => this.hover(event)],
      ["pointerleave", (event) => event.pointerType === "mouse" && this.hide()],
      ["pointerdown", (event) => this.press(event)],
      ["contextmenu", (event) => this.piece && (event.preventDefault(), this.rotate())],
      ["keydown", (event) => this.boardKey(event)],
    ];
    for (const [name, listener] of this.listeners) board.addEventListener(name, listener);
    this.request(null);
  }

  // Takes over the legal moves of the person's turn; null if it is not the person's turn.
  request(legal, position = null) {
    this.legal = legal;
    this.color = position?.sideToMove?.color ?? null;
    this.byCells = new Map();
    this.byPiece = new Map();
    for (const move of legal?.moves ?? []) {
      this.byCells.set(cellsKey(move.cells), move);
      if (!this.byPiece.has(move.piece)) this.byPiece.set(move.piece, []);
      this.byPiece.get(move.piece).push(move);
    }
    if (!this.byPiece.has(this.piece)) this.select(null);
    this.drawTray(position);
    this.draw();
  }

  drawTray(position) {
    const entry = (position?.colors ?? []).find((color) => color.name === this.color);
    const hadFocus = this.tray.contains(document.activeElement);
    const names = this.legal && entry ? entry.remaining : [];
    this.choices = names.map((name) => {
      const isPlayable = this.byPiece.has(name);
      const isChecked = name === this.piece;
      return el("button", {
        type: "button", role: "radio", class: "choice", "data-piece": name, "aria-checked": String(isChecked), title: pieceName(name),
        "aria-label": t("seat.piece", { piece: pieceName(name), count: this.byPiece.get(name)?.length ?? 0 }),
        "aria-disabled": isPlayable ? null : "true", tabindex: "-1", onclick: () => isPlayable && this.select(name),
      }, pieceIcon(this.pieces[name] ?? [[0, 0]], this.color, 9));
    });
    this.tray.replaceChildren(...this.choices);
    this.tray.hidden = this.choices.length === 0;
    const start = this.choices.find((choice) => choice.dataset.piece === this.piece) ?? this.playable()[0];
    if (start) start.tabIndex = 0;
    if (hadFocus) start?.focus();
  }

  playable() {
    return this.choices.filter((choice) => this.byPiece.has(choice.dataset.piece));
  }

  select(name) {
    this.piece = name;
    this.cells = name ? normalized(this.byPiece.get(name)[0].cells) : [];
    for (const choice of this.choices ?? []) {
      const isChecked = choice.dataset.piece === name;
      choice.setAttribute("aria-checked", String(isChecked));
      choice.tabIndex = isChecked ? 0 : -1;
    }
    if (name) {
      this.cells = normalized(this.pieces[name] ?? this.cells);
      // an orientation that fits somewhere is a better start than one that fits nowhere
      if (!this.places().length) this.cells = normalized(this.byPiece.get(name)[0].cells);
      announce(t("seat.chosen", { piece: pieceName(name), count: this.byPiece.get(name).length }));
    }
    this.keepInside();
    this.draw();
  }

  // The legal moves of the chosen piece as it is turned now.
  places() {
    const shape = cellsKey(this.cells);
    return (this.byPiece.get(this.piece) ?? []).filter((move) => cellsKey(normalized(move.cells)) === shape);
  }

  keepInside() {
    if (!this.cells.length) return;
    this.corner = [0, 1].map((axis) => {
      const size = 1 + Math.max(...this.cells.map((cell) => cell[axis]));
      const limit = (axis ? this.board.height : this.board.width) - size;
      return Math.max(0, Math.min(limit, this.corner[axis]));
    });
  }

  ghostCells() {
    return shifted(this.cells, this.corner);
  }

  move() {
    return this.piece ? this.byCells.get(cellsKey(this.ghostCells())) ?? null : null;
  }

  draw() {
    const move = this.move();
    const hints = this.piece ? this.places().flatMap((place) => place.cells) : [];
    const dots = new Map(hints.map((cell) => [cell.join(), cell]));
    const ghost = this.piece && this.isShown ? { cells: this.ghostCells(), color: this.color, isLegal: Boolean(move && move.piece === this.piece) } : null;
    this.board.showGhost(ghost, [...dots.values()]);
    const isMine = Boolean(this.legal);
    for (const tool of [this.rotateButton, this.flipButton, this.nextButton]) tool.disabled = !this.piece;
    this.placeButton.disabled = !(ghost && ghost.isLegal);
    this.tools.hidden = !isMine;
    this.keys.hidden = !isMine;
    if (!isMine) setText(this.hint, t("seat.notYourTurn"));
    else if (!this.piece) setText(this.hint, t("seat.choosePiece", { color: colorName(this.color) }));
    else if (!this.places().length) setText(this.hint, t("seat.turnIt", { piece: pieceName(this.piece) }));
    else setText(this.hint, t("seat.putIt", { piece: pieceName(this.piece) }));
  }

  say() {
    if (!this.piece) return;
    const [x, y] = this.corner;
    announce(t(this.move() ? "seat.fits" : "seat.fitsNot", { x, y }));
  }

  rotate() {
    this.turn(rotated(this.cells));
  }

  flip() {
    this.turn(flipped(this.cells));
  }

  turn(cells) {
    if (!this.piece) return;
    this.cells = cells;
    this.keepInside();
    this.draw();
    this.say();
  }

  // Puts the ghost on the next legal place of the chosen piece, in any orientation.
  nextPlace(by) {
    const moves = this.byPiece.get(this.piece) ?? [];
    if (!moves.length) return;
    const current = this.isShown ? moves.indexOf(this.move()) : -1;
    const next = moves[(current + by + moves.length) % moves.length] ?? moves[0];
    this.cells = normalized(next.cells);
    this.corner = cornerOf(next);
    this.isShown = true;
    this.draw();
    this.say();
  }

  nextPiece(by) {
    const names = this.playable().map((choice) => choice.dataset.piece);
    if (!names.length) return;
    const index = names.indexOf(this.piece);
    this.select(names[index < 0 ? (by > 0 ? 0 : names.length - 1) : (index + by + names.length) % names.length]);
    this.isShown = true;
    this.draw();
  }

  // Moves the piece below the pointer: with its middle there if that is legal, otherwise to the nearest legal place
  // that covers the cell, otherwise with its middle there all the same.
  point(cell) {
    const [x, y] = middleCell(this.cells);
    this.corner = [cell[0] - x, cell[1] - y];
    this.keepInside();
    this.isShown = true;
    if (!this.move()) {
      const near = this.places().filter((move) => move.cells.some((covered) => covered[0] === cell[0] && covered[1] === cell[1])).map(cornerOf);
      const distance = (corner) => Math.abs(corner[0] - this.corner[0]) + Math.abs(corner[1] - this.corner[1]);
      if (near.length) this.corner = near.reduce((best, corner) => (distance(corner) < distance(best) ? corner : best));
    }
    this.draw();
  }

  hover(event) {
    const cell = this.board.cellAt(event);
    if (cell && this.piece && event.pointerType === "mouse") this.point(cell);
  }

  hide() {
    this.isShown = false;
    this.draw();
  }

  // A click places the piece. A finger covers what it touches: the first touch moves the piece there, and a touch on
  // the piece places it.
  press(event) {
    const cell = this.board.cellAt(event);
    if (event.button !== 0 || !this.piece || !cell) return;
    const isOnGhost = this.isShown && this.ghostCells().some(([x, y]) => x === cell[0] && y === cell[1]);
    if (event.pointerType !== "mouse" && isOnGhost && this.move()) {
      this.place();
      return;
    }
    this.point(cell);
    if (event.pointerType === "mouse" && this.move()) this.place();
    else this.say();
  }

  place() {
    const move = this.move();
    if (!move || move.piece !== this.piece) {
      this.say();
      return;
    }
    this.piece = null;
    this.isShown = false;
    this.choose(move.index);
  }

  boardKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.legal) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (step) {
      if (!this.piece) this.nextPiece(1);
      this.corner = [this.corner[0] + step[0], this.corner[1] + step[1]];
      this.keepInside();
      this.isShown = true;
      this.draw();
      this.say();
    } else if (event.key === "Enter" || event.key === " ") this.place();
    else if (event.key === "Escape") this.select(null);
    else if (!this.letterKey(event.key)) return;
    event.preventDefault();
  }

  // The keys that work on the board and on the pieces alike. Returns whether the key is one of them.
  letterKey(key) {
    switch (key.toLowerCase()) {
      case "r": this.rotate(); return true;
      case "f": this.flip(); return true;
      case "n": this.nextPiece(1); return true;
      case "b": this.nextPiece(-1); return true;
      case "j": this.nextPlace(1); return true;
      case "h": this.nextPlace(-1); return true;
      default: return false;
    }
  }

  trayKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by) {
      this.nextPiece(by);
      this.choices.find((choice) => choice.dataset.piece === this.piece)?.focus();
    } else if (event.key === "Enter" && event.target.getAttribute("aria-checked") === "true") this.board.element.focus();
    else if (!this.letterKey(event.key)) return;
    event.preventDefault();
  }

  dispose() {
    for (const [name, listener] of this.listeners) this.board.element.removeEventListener(name, listener);
  }
}
