// Charts of a whole game: points, what programs think that their positions are worth, legal moves, think time. Plain SVG, drawn in the width there is.
//
// Invariants: the two players differ by hue and by the kind of line or bar. A click goes to the ply below the pointer.

import { el, svg } from "./dom.js";
import { duration, number, shortNumber, t } from "./i18n.js";
import { valuesOf } from "./thinking.js";

const HEIGHT = 130;
const LEFT = 50;
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 20;

// Returns a step of an axis (1, 2 or 5 times a power of ten) that gives at most `count` steps up to `most`.
export function niceStep(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? power;
}

class Chart {
  // `series` are functions of a record: each gives, for one player, a list of [ply, value]. `limit` gives a value to
  // draw as a line, or null. `format` puts a value into words; two lines of the grid are `smallestStep` apart or more.
  constructor({ title, kind, values, smallestStep = 1, limit = () => null, format = (value) => number(value) }, onPly) {
    this.title = title;
    this.kind = kind;
    this.smallestStep = smallestStep;
    this.values = values;
    this.limit = limit;
    this.format = format;
    this.onPly = onPly;
    this.width = 0;
    this.cursor = svg("line", { class: "chart-cursor", y1: TOP, y2: HEIGHT - BOTTOM });
    this.picture = svg("svg", { class: "chart", role: "img", height: HEIGHT, onclick: (event) => this.click(event) });
    this.summary = el("span", { class: "chart-values" });
    this.element = el("figure", { class: "chart-figure" }, el("figcaption", {}, el("span", { class: "chart-title", text: title }), " ", this.summary), this.picture);
  }

  x(ply) {
    const span = Math.max(1, this.last - this.first);
    return LEFT + ((ply - this.first) / span) * (this.width - LEFT - RIGHT);
  }

  y(value) {
    return HEIGHT - BOTTOM - ((value - this.least) / (this.most - this.least)) * (HEIGHT - TOP - BOTTOM);
  }

  draw(record, width) {
    this.width = width;
    this.first = record.firstPly;
    this.last = Math.max(record.lastPly, this.first + 1);
    this.data = [0, 1].map((player) => this.values(record, player));
    const limit = this.limit(record);
    const all = this.data.flat().map(([, value]) => value);
    this.isEmpty = all.length === 0 || record.lastPly === record.firstPly;
    this.element.hidden = this.isEmpty;
    if (this.isEmpty) return;
    const largest = Math.max(...all, 0);
    // a limit far above all values would flatten them: it is then named at the upper edge instead of drawn in scale
    const isLimitNear = limit !== null && limit <= largest * 3;
    this.most = Math.max(largest, isLimitNear ? limit : 0, 1e-6) * 1.05;
    this.least = Math.min(...all, 0) * 1.05;
    const parts = [];
    const step = Math.max(this.smallestStep, niceStep(this.most - this.least, this.least < 0 ? 5 : 3));
    for (let count = Math.ceil(this.least / step); count * step <= this.most; count += 1) {
      const value = count * step || 0; // and not -0
      const y = this.y(value);
      parts.push(svg("line", { class: "chart-grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
      parts.push(svg("text", { class: "chart-label", x: LEFT - 5, y: y + 4, "text-anchor": "end", text: this.format(value) }));
    }
    const plyStep = Math.max(1, niceStep(this.last - this.first, Math.max(2, Math.floor(width / 70))));
    for (let ply = Math.ceil(this.first / plyStep) * plyStep; ply <= this.last; ply += plyStep) {
      parts.push(svg("text", { class: "chart-label", x: this.x(ply), y: HEIGHT - 5, "text-anchor": "middle", text: number(ply) }));
    }
    this.data.forEach((points, player) => parts.push(...(this.kind === "bars" ? this.bars(points, player) : this.line(points, player))));
    if (limit !== null) {
      const y = isLimitNear ? this.y(limit) : TOP;
      parts.push(svg("line", { class: "chart-limit", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
      parts.push(svg("text", { class: "chart-limit-label", x: width - RIGHT, y: y < TOP + 14 ? y + 13 : y - 4, "text-anchor": "end", text: t("chart.limit", { value: this.format(limit) }) + (isLimitNear ? "" : " ↑") }));
    }
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.picture.setAttribute("width", width);
    this.picture.replaceChildren(...parts, this.cursor);
    const ends = this.data.map((points, player) => t("chart.last", { player: player + 1, value: points.length ? this.format(points[points.length - 1][1]) : "–" }));
    this.picture.setAttribute("aria-label", `${this.title}: ${ends.join(", ")}`);
  }

  line(points, player) {
    if (!points.length) return [];
    const path = points.map(([ply, value], index) => `${index ? "L" : "M"}${this.x(ply).toFixed(1)} ${this.y(value).toFixed(1)}`).join("");
    return [svg("path", { d: path, class: `chart-line player-${player}` })];
  }

  bars(points, player) {
    const width = Math.min(16, Math.max(1.2, (this.width - LEFT - RIGHT) / (this.last - this.first + 1) - 1));
    return points.map(([ply, value]) => {
      const y = this.y(value);
      return svg("rect", { class: `chart-bar player-${player}`, x: this.x(ply) - width / 2, y, width, height: Math.max(0.8, HEIGHT - BOTTOM - y) });
    });
  }

  mark(ply) {
    if (this.isEmpty) return;
    const x = this.x(ply);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    const value = (points) => points.filter(([at]) => at <= ply).pop()?.[1];
    const texts = this.data.map((points, player) => {
      const found = value(points);
      return t("chart.value", { player: player + 1, value: found === undefined ? "–" : this.format(found) });
    });
    this.summary.textContent = texts.join(" · ");
  }

  click(event) {
    const box = this.picture.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    this.onPly(Math.round(this.first + share * (this.last - this.first)));
  }
}

function pointsOf(record, player) {
  return record.positions.map((position) => [position.ply, position.players?.[player]?.points ?? 0]);
}

function legalOf(record, player) {
  return record.positions.filter((position) => position.legalMoves?.[player] !== undefined && position.legalMoves[player] !== null)
    .map((position) => [position.ply, position.legalMoves[player]]);
}

function thinkOf(record, player) {
  return [...record.infos.values()].filter((info) => info.player === player && info.thinkSeconds !== null && info.thinkSeconds !== undefined)
    .sort((a, b) => a.ply - b.ply).map((info) => [info.ply, info.thinkSeconds]);
}

// A program may think about a move that is not played yet.
function valuesUpToNow(record, player) {
  return valuesOf(record, player).filter(([ply]) => ply <= record.lastPly);
}

// The charts of a game, kept at the width of their column.
export class Charts {
  constructor(record, onPly) {
    this.record = record;
    this.charts = [
      new Chart({ title: t("chart.points"), kind: "line", values: pointsOf }, onPly),
      new Chart({ title: t("chart.worth"), kind: "line", values: valuesUpToNow, smallestStep: 0, format: shortNumber }, onPly),
      new Chart({ title: t("chart.legal"), kind: "line", values: legalOf }, onPly),
      new Chart({ title: t("chart.think"), kind: "bars", values: thinkOf, smallestStep: 0.001, limit: (r) => r.game.softLimitSeconds ?? null, format: duration }, onPly),
    ];
    const legend = el("p", { class: "chart-legend" }, [0, 1].map((player) =>
      el("span", {}, svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, svg("path", { d: "M1 5H27", class: `chart-line player-${player}` })), " ", record.playerName(player))));
    this.element = el("div", { class: "charts" }, legend, this.charts.map((chart) => chart.element));
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.element);
    this.ply = 0;
    this.drawn = "";
  }

  redraw() {
    const width = Math.floor(this.element.clientWidth);
    if (width < 50) return;
    const state = `${width} ${this.record.positions.length} ${this.record.infos.size} ${this.record.thinkingChanges}`;
    if (state !== this.drawn) {
      this.drawn = state;
      for (const chart of this.charts) chart.draw(this.record, width);
    }
    this.mark(this.ply);
  }

  mark(ply) {
    this.ply = ply;
    if (this.drawn) for (const chart of this.charts) chart.mark(ply);
  }

  dispose() {
    this.observer.disconnect();
  }
}
