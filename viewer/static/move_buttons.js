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
    this.element = el("div", { class: "seat-input" }, this.hint, this.list);
    this.request(null);
  }

  request(legal, position = null) {
    const hadFocus = this.list.contains(document.activeElement) || document.activeElement === document.body;
    const moves = legal?.moves ?? [];
    setText(this.hint, legal ? t("seat.chooseMove") : t("seat.notYourTurn"));
    this.list.replaceChildren(...moves.map((move) => {
      const target = position ? this.drawing.targetOf(move, position) : null;
      return el("li", {}, button(this.drawing.describeLegalMove(move), () => this.choose(move.index), { "data-index": move.index, "data-field": target, class: "move-choice" }));
    }));
    if (hadFocus && moves.length) this.list.querySelector("button").focus();
  }

  // A click on a field of the board: goes to the first move that leads there.
  pick(field) {
    this.list.querySelector(`[data-field="${Number(field)}"]`)?.focus();
  }

  dispose() {}
}
