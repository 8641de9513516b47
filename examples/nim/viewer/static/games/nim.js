// Drawing module of Nim: a row of sticks; those that were taken are outlines.

import { svg } from "../dom.js";
import { t } from "../i18n.js";
import { table } from "./table.js";

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

export const nim = { ...table, name: "nim", createBoard: () => new Sticks() };
