// What a player has, as a list of names and values beside the board.

import { el } from "./dom.js";
import { number } from "./i18n.js";

export class Holdings {
  // `rowsOf(player)` returns [name, value, isLong] for each row, from the player of a position. A row without a value is
  // left out; a long value has a line of its own.
  constructor(rowsOf) {
    this.rowsOf = rowsOf;
    this.element = el("dl", { class: "holdings" });
  }

  show(position, player) {
    const rows = this.rowsOf(position.players?.[player] ?? {}).filter(([, value]) => value !== undefined);
    this.element.replaceChildren(...rows.map(([name, value, isLong]) => el("div", { class: isLong ? "is-long" : null },
      el("dt", { text: name }), el("dd", { text: typeof value === "number" ? number(value) : value }))));
  }
}
