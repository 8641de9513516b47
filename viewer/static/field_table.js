// Drawing module of a game that has none of its own: the fields of a position as a table.

import { el } from "./dom.js";
import { t } from "./i18n.js";

function valueText(value) {
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
}

function rowsOf(fields) {
  return Object.entries(fields ?? {}).map(([label, value]) =>
    el("tr", {}, el("th", { scope: "row", text: label }), el("td", { text: valueText(value) })));
}

class FieldTable {
  constructor() {
    this.body = el("tbody");
    this.element = el("table", { class: "board field-table" }, el("caption", { text: t("table.caption") }), this.body);
  }

  show(position) {
    this.body.replaceChildren(...rowsOf(position.fields));
  }
}

class PlayerFields {
  constructor() {
    this.element = el("table", { class: "player-fields" });
  }

  show(position, player) {
    this.element.replaceChildren(el("tbody", {}, rowsOf(position.players?.[player]?.fields)));
  }
}

export const table = {
  name: "table",
  createBoard: () => new FieldTable(),
  createPlayerDetails: () => new PlayerFields(),
  describeMove: (position) => position.lastMove?.text ?? "",
  describeLegalMove: (move) => move.text ?? "",
  pieceName: String,
  targetOf: () => null,
  describeSide: (side) => side?.color ?? "",
};
