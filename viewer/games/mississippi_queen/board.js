// Drawing module of Mississippi Queen: the river of hexes as far as it can be seen, both ships, and what they have.
//
// A hex (q, r) lies at x = q + r / 2, y = r · √3 / 2; its neighbours are one unit away. Directions are numbered clockwise
// from the right. Every kind of field has a shape or a pattern of its own; ships have a number and a bow.

import { el, svg } from "../../static/dom.js";
import { addGame } from "../../static/games.js";
import { Holdings } from "../../static/holdings.js";
import { t } from "../../static/i18n.js";
import { TEAMS, teamDrawing, teamName } from "../../static/teams.js";
import { RaceThumbnail } from "../../static/thumbnails.js";
import { MoveBuilder } from "./input.js";
import { Boat, actionText, centerOf, key, placesOf, stepFrom, unseenPlaces } from "./river.js";
import { TEXTS } from "./texts.js";

const CORNERS = [0, 1, 2, 3, 4, 5].map((corner) => {
  const angle = Math.PI * (corner / 3 + 1 / 6);
  return [0.577 * Math.cos(angle), 0.577 * Math.sin(angle)];
});
const LAST_COLUMN = 39; // of the whole river
const HEX = CORNERS.map(([x, y]) => `${x.toFixed(3)},${y.toFixed(3)}`).join(" ");

// Pictograms around (0, 0). The name of a field is also its label, so they are only decoration.
const SIGNS = {
  i: () => [svg("path", { d: "M-.36 .22Q0 -.06 .36 .22Z", class: "mq-land" }), svg("path", { d: "M0 .12Q-.04 -.12 .04 -.28M.04 -.28Q-.2 -.36 -.26 -.16M.04 -.28Q.26 -.36 .3 -.14M.04 -.28Q.02 -.42 -.1 -.42", class: "mq-palm" })],
  s: () => [[-0.2, -0.1], [0.05, -0.18], [0.22, 0], [-0.08, 0.06], [0.1, 0.2], [-0.22, 0.18]].map(([cx, cy]) => svg("circle", { cx, cy, r: 0.05, class: "mq-sand" })),
  g: () => [0, 1, 2, 3].flatMap((row) => [0, 1, 2, 3].filter((column) => (row + column) % 2 === 0).map((column) => svg("rect", { x: -0.28 + 0.14 * column, y: -0.28 + 0.14 * row, width: 0.14, height: 0.14, class: "mq-flag" }))),
};

// A pier: a house on land, its number of passengers, and a jetty to the field where they board.
function pierSign(direction, passengers) {
  return [
    svg("rect", { x: 0.2, y: -0.09, width: 0.34, height: 0.18, class: "mq-jetty", transform: `rotate(${60 * direction})` }),
    svg("path", { d: "M-.24 .24V-.06L0 -.3L.24 -.06V.24Z", class: "mq-house" }),
    svg("text", { y: 0.19, class: "mq-count", text: passengers }),
  ];
}

function currentSign(flow) {
  return svg("path", { d: "M-.24 -.13L-.1 0L-.24 .13M-.02 -.13L.12 0L-.02 .13", class: "mq-current", transform: `rotate(${60 * flow})` });
}

function directionName(direction) {
  return t(`mq.direction.${direction}`);
}

class RiverBoard {
  constructor(game, options) {
    this.onField = options.onField ?? null;
    this.fields = svg("g", {});
    this.ships = svg("g", { class: "marks", "aria-hidden": "true" });
    this.targets = svg("g", { class: "marks", "aria-hidden": "true" });
    this.bounds = null;
    this.drawn = "";
    this.cells = new Map();
    this.plan = null;
    this.element = svg("svg", { class: `board mississippi_queen${this.onField ? " takes-clicks" : ""}`, role: "list", "aria-label": t("mq.river") }, this.fields, this.ships, this.targets);
    for (const position of [game.positions?.[0], game.positions?.at(-1)]) if (position) this.widen(position.river);
  }

  // The picture never gets smaller while a game is looked at, so that it does not jump.
  widen(river) {
    const points = [...(river?.segments ?? []).flatMap(placesOf), ...unseenPlaces(river)].map(centerOf);
    if (!points.length) return;
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    const here = [Math.min(...xs) - 0.8, Math.min(...ys) - 0.8, Math.max(...xs) + 0.8, Math.max(...ys) + 0.8];
    this.bounds = this.bounds ? here.map((value, index) => (index < 2 ? Math.min : Math.max)(value, this.bounds[index])) : here;
    const [left, top, right, bottom] = this.bounds;
    this.element.setAttribute("viewBox", [left, top, right - left, bottom - top].map((value) => value.toFixed(2)).join(" "));
  }

  drawRiver(river) {
    const text = JSON.stringify(river);
    if (text === this.drawn) return;
    this.drawn = text;
    this.widen(river);
    this.cells = new Map();
    const segments = river?.segments ?? [];
    const drawn = segments.flatMap((segment, index) => {
      const piers = new Map(segment.piers.map(([place, direction, passengers]) => [place, { direction, passengers }]));
      const onward = segments[index + 1]?.direction ?? river.next;
      const middle = key(segment.center);
      return placesOf(segment).map((place, cell) => {
        const letter = segment.fields[cell];
        const hasCurrent = segment.currents.includes(cell);
        const pier = piers.get(cell);
        const name = t("mq.field", { segment: index + 1, column: Math.floor(cell / 5) + 1, row: (cell % 5) + 1 });
        const kind = letter === "p" ? t("mq.p", { count: pier?.passengers ?? 0, direction: directionName(pier?.direction ?? 0) }) : t(`mq.${letter}`);
        const isBefore = key(place) === middle || key(stepFrom(place, segment.direction)) === middle;
        const [x, y] = centerOf(place);
        const listener = this.onField ? { onclick: () => this.onField(key(place)) } : {};
        const element = svg("g", { role: "listitem", class: `mq-field mq-is-${letter}`, transform: `translate(${x.toFixed(3)} ${y.toFixed(3)})`, "data-field": key(place), ...listener },
          svg("polygon", { points: HEX, class: "mq-hex" }),
          hasCurrent ? currentSign((isBefore ? segment.direction : onward) + 3) : null,
          pier ? pierSign(pier.direction, pier.passengers) : SIGNS[letter]?.() ?? null);
        if (!this.cells.has(key(place))) this.cells.set(key(place), { element, label: [name, kind, hasCurrent ? t("mq.current") : null].filter(Boolean).join(", "), name, hasCurrent, isFree: !"ip".includes(letter) });
        return element;
      });
    });
    const unseen = unseenPlaces(river).map((place) => {
      const [x, y] = centerOf(place);
      return svg("polygon", { points: HEX, class: "mq-unseen", transform: `translate(${x.toFixed(3)} ${y.toFixed(3)})` });
    });
    this.fields.replaceChildren(...unseen, ...drawn);
  }

  // Returns what a field is called.
  nameOf(place) {
    return this.cells.get(key(place))?.name ?? `(${place})`;
  }

  // Returns where the middle of a field is drawn, or null if there is none.
  centerOf(place) {
    return this.cells.has(key(place)) ? centerOf(place) : null;
  }

  show(position, extras = {}) {
    this.position = position;
    this.drawRiver(position.river);
    const ends = new Set();
    const mover = position.players?.[position.sideToMove?.player];
    for (const move of this.plan ? [] : extras.legal ?? []) if (mover) ends.add(key(new Boat(mover, this).after(move.actions).place));
    for (const [place, cell] of this.cells) {
      cell.ships = (position.players ?? []).map((player, seat) => (key(player.position) === place ? t("mq.isHere", { number: seat + 1, color: teamName(seat), direction: directionName(player.direction) }) : null));
    }
    const before = extras.previous?.players?.[position.lastMove?.player];
    const moved = position.players?.[position.lastMove?.player];
    const better = extras.better ? extras.previous?.players?.[extras.better.player] : null;
    this.ships.replaceChildren(...[
      before && moved && key(before.position) !== key(moved.position) ? this.way(new Boat(before, this).after(position.lastMove.actions)) : null,
      ...(position.players ?? []).map((player, seat) => this.ship(player, seat, position)),
      better ? this.ghost(new Boat(better, this).after(extras.better.move.actions), extras.better.player, "mq-better") : null,
    ].filter(Boolean));
    if (this.plan) this.showPlan(this.plan);
    else this.markTargets([...ends]);
  }

  ship(player, seat, position) {
    const [x, y] = centerOf(player.position);
    const [first, second] = position.players;
    const shift = key(first.position) === key(second.position) ? (seat ? 0.16 : -0.16) : 0;
    const isLast = position.lastMove?.player === seat;
    return svg("g", { class: `mq-ship team-${TEAMS[seat]}${isLast ? " is-last" : ""}${player.isStuck ? " is-stuck" : ""}`, transform: `translate(${(x + shift).toFixed(3)} ${(y + shift).toFixed(3)})`, "data-field": key(player.position) },
      svg("path", { d: seat ? "M.46 0L.2 .25H-.36V-.25H.2Z" : "M.46 0Q.3 .26 0 .26H-.2Q-.42 .2 -.42 0Q-.42 -.2 -.2 -.26H0Q.3 -.26 .46 0Z", class: "mq-hull", transform: `rotate(${60 * player.direction})` }),
      svg("text", { y: 0.13, class: "mq-number", text: seat + 1 }));
  }

  ghost(boat, seat, name) {
    const [x, y] = centerOf(boat.place);
    return svg("g", { class: name, transform: `translate(${x.toFixed(3)} ${y.toFixed(3)})` },
      svg("path", { d: "M.46 0L.2 .25H-.36V-.25H.2Z", transform: `rotate(${60 * boat.direction})`, class: `mq-outline mq-outline-${TEAMS[seat]}` }));
  }

  way(boat) {
    return svg("path", { d: `M${boat.way.map((place) => centerOf(place).map((value) => value.toFixed(3)).join(" ")).join("L")}`, class: "mq-way" });
  }

  markTargets(places) {
    this.targets.replaceChildren(...places.filter((place) => this.cells.has(place)).map((place) => {
      const [x, y] = centerOf(place.split(",").map(Number));
      return svg("circle", { cx: x.toFixed(3), cy: y.toFixed(3), r: 0.44, class: "mq-target" });
    }));
    for (const [place, cell] of this.cells) {
      const isTarget = places.includes(place);
      cell.element.classList.toggle("is-target", isTarget);
      cell.element.setAttribute("aria-label", [cell.label, ...cell.ships ?? [], isTarget ? t("mq.target") : null].filter(Boolean).join(", "));
    }
  }

  // Shows a move that is being put together: the ship where it would be, and the fields that it can go to; null ends it.
  showPlan(plan) {
    this.plan = plan;
    this.element.querySelector(".mq-plan")?.remove();
    if (!plan) return this.markTargets([]);
    this.markTargets([...plan.targets.keys()]);
    if (plan.boat.way.length > 1 || plan.isTurned) this.ships.prepend(svg("g", { class: "mq-plan" }, this.way(plan.boat), this.ghost(plan.boat, plan.seat, "mq-ghost")));
  }
}

function describeActions(move) {
  return move.actions?.length ? move.actions.map(actionText).join(", ") : t("mq.nothing");
}

addGame(teamDrawing({
  name: "mississippi_queen",
  createThumbnail: () => new RaceThumbnail(({ ways }) => ways.map((way) => way / LAST_COLUMN)),
  createBoard: (game, options = {}) => new RiverBoard(game, options),
  createPlayerDetails: () => new Holdings(({ passengers, speed, coal, direction, freeTurns, isStuck }) => [
    [t("mq.passengers"), passengers],
    [t("mq.speed"), speed],
    [t("mq.coal"), coal],
    [t("mq.heading"), direction === undefined ? undefined : directionName(direction)],
    [t("mq.freeTurns"), freeTurns > 1 ? freeTurns : undefined],
    [t("mq.state"), isStuck ? t("mq.stuck") : undefined],
  ]),
  createInput: (view, choose) => new MoveBuilder(view, choose),
  moveText: describeActions,
  endText: ({ players }) => (players ?? []).map((player, seat) => (player.isStuck ? `${teamName(seat)}: ${t("mq.stuck")}` : null)).filter(Boolean).join(", "),
  describeLegalMove: (move) => [el("span", { text: describeActions(move) })],
}), TEXTS);
