// Drawing module of Hase und Igel: the track from start to goal, both players on it, and what they hold.
//
// The track is drawn in rows that change their direction, so that neighbours on the track are neighbours in the picture.

import { el, svg } from "../../static/dom.js";
import { addGame } from "../../static/games.js";
import { Holdings } from "../../static/holdings.js";
import { number, t, tOr } from "../../static/i18n.js";
import { TEAMS, teamDrawing, teamName } from "../../static/teams.js";
import { RaceThumbnail } from "../../static/thumbnails.js";
import { TEXTS } from "./texts.js";

const COLUMNS = 11;
const GAP = 0.42; // between two rows, where the connection is drawn

// Pictograms in a box from (0, 0) to (1, 1). The name of a field is also its label, so they are only decoration.
const SYMBOLS = {
  START: () => [svg("path", { d: "M.32 .82V.2L.76 .36L.32 .52", class: "sign-line" })],
  GOAL: () => [svg("path", { d: "M.3 .84V.18H.78V.54H.3", class: "sign-line" }), svg("path", { d: "M.3 .18h.24v.18H.3zM.54 .36h.24v.18H.54z", class: "sign-fill" })],
  CARROT: () => [svg("path", { d: "M.3 .42Q.5 .28 .7 .42L.5 .86Z", class: "sign-carrot" }), svg("path", { d: "M.5 .36V.14M.48 .36L.32 .18M.52 .36L.68 .18", class: "sign-leaf" })],
  SALAD: () => [svg("circle", { cx: 0.5, cy: 0.52, r: 0.32, class: "sign-salad" }), svg("path", { d: "M.5 .84V.34M.5 .62L.3 .44M.5 .62L.7 .44", class: "sign-vein" })],
  HARE: () => [svg("path", { d: "M.36 .5Q.26 .12 .38 .12Q.48 .14 .47 .46M.53 .46Q.52 .14 .62 .12Q.74 .12 .64 .5", class: "sign-hare" }), svg("circle", { cx: 0.5, cy: 0.62, r: 0.24, class: "sign-hare" })],
  HEDGEHOG: () => [svg("path", { d: "M.12 .74L.16 .56L.1 .48L.24 .44L.22 .3L.36 .34L.42 .2L.52 .32L.64 .24L.66 .4Q.78 .48 .9 .68L.84 .74Z", class: "sign-hedgehog" })],
  POSITION_1: () => [svg("text", { x: 0.5, y: 0.74, class: "sign-text", text: "1" })],
  POSITION_2: () => [svg("text", { x: 0.5, y: 0.74, class: "sign-text", text: "2" })],
};

// Small pictures of the cards, in the same box.
const CARD_SYMBOLS = {
  TAKE_OR_DROP_CARROTS: SYMBOLS.CARROT,
  EAT_SALAD: SYMBOLS.SALAD,
  HURRY_AHEAD: () => [svg("path", { d: "M.2 .2L.5 .5L.2 .8M.5 .2L.8 .5L.5 .8", class: "sign-line" })],
  FALL_BACK: () => [svg("path", { d: "M.5 .2L.2 .5L.5 .8M.8 .2L.5 .5L.8 .8", class: "sign-line" })],
};

function place(index) {
  const row = Math.floor(index / COLUMNS);
  const column = index % COLUMNS;
  return [row % 2 ? COLUMNS - 1 - column : column, row * (1 + GAP)];
}

function typeName(type) {
  return tOr(`hui.field.${type}`, String(type));
}

function cardName(card) {
  return tOr(`hui.card.${card}`, String(card));
}

// How many carrots a player gains or, with a minus, pays.
function carrotsText(value) {
  return t("hui.carrotsChange", { value: `${value > 0 ? "+" : value < 0 ? "−" : "±"}${number(Math.abs(value))}` });
}

// The cards that are played by at least one of these moves.
function cardsOf(moves) {
  return [...new Set(moves.flatMap((move) => (move.actions ?? []).map((action) => parseAction(action).card).filter(Boolean)))];
}

// What the moves to one field cost, and the cards that they play: a label at the lower edge of the field, and the cards
// at its right.
function targetMark(index, moves) {
  const [x, y] = place(index);
  const values = [...new Set(moves.map((move) => move.carrots).filter(Number.isInteger))].sort((a, b) => a - b);
  const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${Math.abs(value)}`;
  const text = values.length > 1 ? `${signed(values[0])}…${signed(values.at(-1))}` : values.length ? signed(values[0]) : "";
  return svg("g", { transform: `translate(${x} ${y})`, class: "target-mark" },
    text ? [svg("rect", { x: 0.03, y: 0.7, width: 0.94, height: 0.27, rx: 0.1, class: "target-box" }), svg("text", { x: 0.5, y: 0.905, class: values.length > 1 ? "target-text is-long" : "target-text", text })] : null,
    cardsOf(moves).map((card, order) => svg("g", { transform: `translate(${0.71 - 0.25 * order} .05)` },
      svg("rect", { width: 0.23, height: 0.28, rx: 0.04, class: "card-box" }), svg("g", { transform: "translate(.02 .05) scale(.19)" }, CARD_SYMBOLS[card]?.() ?? []))));
}

// A pawn where a better move would have led: a dashed outline with a tick.
function betterPawn([x, y], player) {
  return svg("g", { transform: `translate(${x + 0.5} ${y + 0.56})`, class: "better-pawn" },
    svg("circle", { r: 0.36, class: "better-under" }), svg("circle", { r: 0.36, class: "better" }),
    svg("circle", { cx: 0.3, cy: -0.3, r: 0.17, class: "better-badge" }),
    svg("path", { d: "M.21 -.3l.07 .08l.12 -.16", class: "better-tick" }));
}

class Track {
  constructor(game, options) {
    this.track = game.positions?.[0]?.track ?? [];
    this.onField = options.onField ?? null;
    const rows = Math.max(1, Math.ceil(this.track.length / COLUMNS));
    this.fields = this.track.map((field) => this.createField(field));
    this.pawns = svg("g", { class: "marks", "aria-hidden": "true" });
    this.targets = svg("g", { class: "marks", "aria-hidden": "true" });
    const way = this.track.map((field, index) => {
      const [x, y] = place(index);
      return `${index ? "L" : "M"}${x + 0.5} ${y + 0.5}`;
    }).join("");
    this.element = svg("svg", { class: `board track${this.onField ? " takes-clicks" : ""}`, viewBox: `-.15 -.15 ${COLUMNS + 0.3} ${rows * (1 + GAP) - GAP + 0.3}`, role: "list", "aria-label": t("hui.track") },
      svg("path", { d: way, class: "way", "aria-hidden": "true" }), this.fields, this.pawns, this.targets);
  }

  createField(field) {
    const [x, y] = place(field.index);
    const sign = SYMBOLS[field.type]?.() ?? [svg("text", { x: 0.5, y: 0.65, class: "sign-text", text: String(field.type).slice(0, 2) })];
    const listener = this.onField ? { onclick: () => this.onField(field.index) } : {};
    return svg("g", { role: "listitem", class: `field type-${String(field.type).toLowerCase()}`, transform: `translate(${x} ${y})`, "data-field": field.index, ...listener },
      svg("rect", { x: 0.03, y: 0.03, width: 0.94, height: 0.94, rx: 0.14, class: "field-box" }),
      svg("g", { transform: "translate(.19 .25) scale(.68)" }, sign),
      svg("text", { x: 0.1, y: 0.28, class: "field-index", text: field.index }));
  }

  // Returns what a field is called.
  nameOf([index]) {
    return t("hui.field", { index });
  }

  // Returns where the middle of a field is drawn, or null if there is none.
  centerOf([index, row]) {
    if (row !== 0 || index >= this.track.length) return null;
    const [x, y] = place(index);
    return [x + 0.5, y + 0.5];
  }

  show(position, extras = {}) {
    const targets = new Map();
    for (const move of extras.legal ?? []) {
      const index = targetOf(move, position);
      targets.set(index, [...(targets.get(index) ?? []), move]);
    }
    const stands = (position.players ?? []).map((player) => player.field);
    const { better = null } = extras;
    // a move that leads to no other field is marked on the field from which it would have been played
    const betterField = better ? better.move.field ?? extras.previous?.players?.[better.player]?.field ?? null : null;
    this.fields.forEach((element, index) => {
      const here = stands.map((field, player) => (field === index ? t("hui.isHere", { color: teamName(player) }) : null)).filter(Boolean);
      const marks = [targets.has(index) ? targetLabel(targets.get(index)) : null, betterField === index ? t("game.betterMark") : null].filter(Boolean);
      element.setAttribute("aria-label", [t("hui.fieldLabel", { index, type: typeName(this.track[index].type) }), ...here, ...marks].join(", "));
      element.classList.toggle("is-target", targets.has(index));
    });
    this.targets.replaceChildren(...[...targets].filter(([index]) => this.track[index]).map(([index, moves]) => targetMark(index, moves)));
    const previous = extras.previous?.players?.[position.lastMove?.player]?.field;
    this.pawns.replaceChildren(...(position.players ?? []).map((player, seat) => {
      const [x, y] = place(player.field ?? 0);
      const isShared = stands[0] === stands[1];
      const shift = isShared ? (seat ? 0.2 : -0.2) : 0;
      const isLast = position.lastMove?.player === seat;
      return svg("g", { transform: `translate(${x + 0.5 + shift} ${y + 0.56})`, class: `pawn team-${TEAMS[seat]}${isLast ? " is-last" : ""}`, "data-field": player.field },
        svg("circle", { r: 0.3, class: "pawn-body" }), svg("text", { y: 0.13, class: "pawn-text", text: seat + 1 }));
    }));
    if (Number.isInteger(previous) && previous !== stands[position.lastMove.player]) {
      const [x, y] = place(previous);
      this.pawns.prepend(svg("circle", { cx: x + 0.5, cy: y + 0.56, r: 0.3, class: "pawn-before" }));
    }
    if (Number.isInteger(betterField)) this.pawns.append(betterPawn(place(betterField), better.player));
  }
}

function targetLabel(moves) {
  const values = [...new Set(moves.map((move) => move.carrots).filter(Number.isInteger))];
  const cards = cardsOf(moves).map((card) => t("hui.playCard", { card: cardName(card) }));
  return [t("hui.target"), ...(values.length === 1 ? values.map(carrotsText) : []), ...cards].join(", ");
}

// Returns an action as an object. The last move of a position has its actions in the short notation, such as
// `card(TAKE_OR_DROP_CARROTS,20)`.
function parseAction(action) {
  if (typeof action === "object") return action;
  const [, type = "", list = ""] = /^(\w+)(?:\(([^)]*)\))?/.exec(action) ?? [];
  const values = list.split(",");
  return { type, card: type === "card" ? values[0] : null, value: Number(values[values.length - 1]) };
}

function describeAction(action) {
  const { type, card, value } = parseAction(action);
  switch (type) {
    case "advance": return t("hui.advance", { value });
    case "card": return card === "TAKE_OR_DROP_CARROTS" ? t(`hui.card.${value < 0 ? "drop" : value > 0 ? "take" : "keep"}`, { value: Math.abs(value) }) : t("hui.playCard", { card: cardName(card) });
    case "exchangeCarrots": return t(value < 0 ? "hui.give" : "hui.take", { value: Math.abs(value) });
    case "eatSalad": return t("hui.eatSalad");
    case "fallBack": return t("hui.fallBack");
    case "skip": return t("hui.skip");
    default: return typeof action === "string" ? action : type;
  }
}

// A move in words: its actions, or the server's text if it names none.
function describeActions(move) {
  return move.actions?.length ? move.actions.map(describeAction).join(", ") : move.text ?? "";
}

// The field that a player chooses with a move: the one that its first action leads to; its own if it stays there.
function targetOf(move, position) {
  const { type, value } = parseAction(move.actions?.[0] ?? "");
  const start = position.players?.[position.sideToMove?.player]?.field;
  if (type === "advance") return Number.isInteger(start) ? start + value : null;
  return type === "fallBack" ? move.field ?? null : start ?? null;
}

// A move as a choice: its actions, and below them where it leads and what it costs.
function describeChoice(move, position) {
  const target = targetOf(move, position);
  const field = position.track?.[target];
  const isElsewhere = field && target !== position.players?.[position.sideToMove?.player]?.field;
  const details = [isElsewhere ? t("hui.toField", { index: target, type: typeName(field.type) }) : null, Number.isInteger(move.carrots) && move.carrots !== 0 ? carrotsText(move.carrots) : null];
  return [el("span", { text: describeActions(move) }), el("small", { text: details.filter(Boolean).join(" · ") })];
}

addGame(teamDrawing({
  name: "hase_und_igel",
  createThumbnail: () => new RaceThumbnail(({ goal, fields }) => fields.map((field) => field / goal)),
  createBoard: (game, options = {}) => new Track(game, options),
  createPlayerDetails: () => new Holdings(({ carrots, salads, cards = [] }) => [
    [t("hui.carrots"), carrots],
    [t("hui.salads"), salads],
    [t("hui.cards"), cards.length ? cards.map(cardName).join(", ") : t("hui.none"), true],
  ]),
  moveText: describeActions,
  describeLegalMove: describeChoice,
  targetOf,
  pointsText: (position, player) => t("hui.onField", { field: number(position.players?.[player]?.field ?? 0) }),
}), TEXTS);
