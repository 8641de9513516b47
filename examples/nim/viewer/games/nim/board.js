// Drawing module of Nim: a row of sticks; those that were taken are outlines.

import { svg } from "../../static/dom.js";
import { table } from "../../static/field_table.js";
import { addGame } from "../../static/games.js";
import { t } from "../../static/i18n.js";

class Sticks {
  constructor() {
    this.element = svg("svg", { class: "board nim", viewBox: "0 0 15 5", role: "img", stroke: "currentColor" });
  }

  show({ sticks }) {
    this.element.setAttribute("aria-label", t("nim.sticks", { sticks }));
    this.element.replaceChildren(...Array.from({ length: 15 }, (_, index) => svg("rect", {
      x: index + 0.3, y: 0.5, width: 0.4, height: 4, "stroke-width": 0.04, fill: index < sticks ? "currentColor" : "none",
    })));
  }
}

addGame({ ...table, name: "nim", createBoard: () => new Sticks() }, {
  "game.nim": ["Nim", "Nim"],
  "nim.sticks": ["{sticks} Hölzer", "{sticks} sticks"],
});
