// Geometry of the river, and what the actions of a move make of a ship. The server decides what is legal; this follows a
// legal move, or the beginning of one.

import { t } from "../../static/i18n.js";

const SEGMENTS = 8; // of the whole river
const STEPS = [[1, 0], [0, 1], [-1, 1], [-1, 0], [0, -1], [1, -1]];

export function key(place) {
  return place.join(",");
}

export function stepFrom([q, r], direction, distance = 1) {
  const [stepQ, stepR] = STEPS[direction];
  return [q + stepQ * distance, r + stepR * distance];
}

// Where the middle of a hex is drawn.
export function centerOf([q, r]) {
  return [q + r / 2, (r * Math.sqrt(3)) / 2];
}

// The fields of a segment by column and row.
export function placesOf(segment) {
  return Array.from({ length: 20 }, (_, cell) => {
    let r = (cell % 5) - 2;
    let q = Math.floor(cell / 5) - 1 - Math.max(r, 0);
    for (let turn = 0; turn < segment.direction; turn += 1) [q, r] = [-r, q + r];
    return [q + segment.center[0], r + segment.center[1]];
  });
}

// The places at the end of what can be seen, where the river goes on.
export function unseenPlaces(river) {
  const segments = river?.segments ?? [];
  if (!segments.length || segments.length >= SEGMENTS) return [];
  const seen = new Set(segments.flatMap(placesOf).map(key));
  return placesOf({ direction: river.next, center: stepFrom(segments.at(-1).center, river.next, 4) })
    .filter((place) => !seen.has(key(place)) && STEPS.some((_, direction) => seen.has(key(stepFrom(place, direction)))));
}

// The sixths of a turn from one direction to another, without a sign.
export function turnsBetween(from, to) {
  const turns = (to - from + 6) % 6;
  return Math.min(turns, 6 - turns);
}

export function actionText([kind, value]) {
  const direction = Number.isInteger(value) && (kind === "turn" || kind === "push") ? t(`mq.direction.${value}`) : "?";
  switch (kind) {
    case "accelerate": return t(value < 0 ? "mq.brake" : "mq.accelerate", { value: Math.abs(value) });
    case "turn": return t("mq.turn", { direction });
    case "advance": return t(value < 0 ? "mq.back" : "mq.advance", { value: Math.abs(value) });
    case "push": return t("mq.push", { direction });
    default: return t("mq.nothing");
  }
}

// A ship in the course of a move.
export class Boat {
  // `player` is its owner in a position; `board` knows the fields with a current.
  constructor(player, board) {
    this.board = board;
    this.place = player.position;
    this.direction = player.direction;
    this.speed = player.speed;
    this.movement = player.speed;
    this.coal = player.coal;
    this.freeTurns = player.freeTurns;
    this.way = [this.place];
  }

  after(actions) {
    for (const [kind, value] of actions ?? []) this.apply(kind, value);
    return this;
  }

  apply(kind, value) {
    if (kind === "accelerate") {
      this.speed += value;
      this.movement += value;
      this.coal -= Math.max(0, Math.abs(value) - 1);
    } else if (kind === "turn" && Number.isInteger(value)) {
      const turns = turnsBetween(this.direction, value);
      this.coal -= Math.max(0, turns - this.freeTurns);
      this.freeTurns = Math.max(0, this.freeTurns - turns);
      this.direction = value;
    } else if (kind === "advance") {
      let isSlowed = false;
      // a replay may hold any number
      for (let step = 0; step < Math.min(Math.abs(value), 6); step += 1) {
        this.place = stepFrom(this.place, this.direction, Math.sign(value));
        this.way.push(this.place);
        isSlowed ||= this.board.cells.get(key(this.place))?.hasCurrent ?? false;
      }
      this.movement -= Math.abs(value) + (isSlowed ? 1 : 0);
    } else if (kind === "push") {
      this.movement -= 1;
    }
  }
}
