// Choosing a move from a list of buttons: the input of every game whose drawing module has no input of its own.

import { button, el, setText } from "./dom.js";
import { t } from "./i18n.js";

export class MoveButtons {
  // `drawing` puts a move into words; `choose(index)` is told the chosen legal move.
  constructor(drawing, choose) {
    this.drawing = drawing;
    this.choose = choose;
    this.hint = el("p", { class: "seat-hint" });
    this.list = el("ul", { class: "move-buttons takes-keys" });
    this.all = button(t("seat.allMoves"), () => this.show(null), { class: "small" });
    this.element = el("div", { class: "seat-input" }, this.hint, this.all, this.list);
    this.request(null);
  }

  request(legal, position = null) {
    const hadFocus = this.list.contains(document.activeElement) || document.activeElement === document.body;
    const moves = legal?.moves ?? [];
    this.isAsked = Boolean(legal);
    this.list.replaceChildren(...moves.map((move) => {
      const target = position ? this.drawing.targetOf(move, position) : null;
      return el("li", {}, button(this.drawing.describeLegalMove(move, position), () => this.choose(move.index), { "data-index": move.index, "data-field": target, class: "move-choice" }));
    }));
    this.show(null);
    if (hadFocus && moves.length) this.list.querySelector("button").focus();
  }

  // Shows the moves that lead to one field of the board; null shows all of them.
  show(field) {
    for (const item of this.list.children) item.hidden = field !== null && item.firstChild.dataset.field !== String(field);
    this.all.hidden = field === null;
    setText(this.hint, t(!this.isAsked ? "seat.notYourTurn" : field === null ? "seat.chooseMove" : "seat.chooseOfField", { field: field ?? "" }));
  }

  // A click on a field of the board: plays the move that leads there or, if there are several, shows only those.
  pick(field) {
    const choices = [...this.list.querySelectorAll(`[data-field="${Number(field)}"]`)];
    if (choices.length === 1) choices[0].click();
    else if (choices.length) {
      this.show(field);
      choices[0].focus();
    }
  }

  dispose() {}
}
