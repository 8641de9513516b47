// A game as far as it is known: positions by ply, and what is known about each ply.
//
// Invariants: `positions` are sorted by ply, each ply once. A replay may begin in the middle of a game, so the first ply
// need not be 0. A live game that is played faster than it can be described has gaps; `fill` closes them.

import { t } from "./i18n.js";

export class GameRecord {
  constructor(game) {
    this.game = game;
    this.positions = [...(game.positions ?? [])];
    this.infos = new Map();
    for (const info of game.plies ?? []) this.infos.set(info.ply, info);
    this.end = game.end ?? null;
    this.thinking = new Map(); // by ply: what the program thought about it, {ply, player, value, texts, numbers, cells, moves}
    this.thinkingChanges = 0;
    this.takeThinking(game.thinking);
    this.interruption = null; // why nothing more is heard of the game, although it has no end
    this.better = new Map(); // by ply: the estimate of a better move, {move, player, color, text}
    this.isPaused = game.isPaused ?? false;
    this.toMove = null;
    this.toMoveSince = 0;
  }

  // Whether nobody moves any more.
  get isOver() {
    return Boolean(this.end ?? this.interruption);
  }

  get firstPly() {
    return this.positions.length ? this.positions[0].ply : 0;
  }

  get lastPly() {
    return this.positions.length ? this.positions[this.positions.length - 1].ply : 0;
  }

  get hasGaps() {
    return this.positions.length > 0 && this.lastPly - this.firstPly + 1 > this.positions.length;
  }

  // Returns the position of a ply. In a gap, it is the nearest one before; null if nothing is known yet.
  at(ply) {
    const { positions, firstPly } = this;
    let index = Math.max(0, Math.min(positions.length - 1, ply - firstPly));
    while (index > 0 && positions[index].ply > ply) index -= 1;
    return positions[index] ?? null;
  }

  info(ply) {
    return this.infos.get(ply) ?? null;
  }

  clamp(ply) {
    return Math.max(this.firstPly, Math.min(this.lastPly, ply));
  }

  // Takes over a live update. Positions that are known already are dropped, so an update may come twice. `now` is the
  // time in milliseconds from which the clock of the side to move counts.
  update(event, now) {
    this.add(event.positions ?? [], event.plies ?? []);
    this.takeThinking(event.thinking);
    if ("end" in event) this.end = event.end;
    if ("isPaused" in event) this.isPaused = event.isPaused;
    if ("toMove" in event) {
      this.toMove = event.toMove;
      this.toMoveSince = now - (event.toMove?.since ?? 0) * 1000;
    }
  }

  // Adds the positions and plies of a game that was fetched again.
  fill(game) {
    this.add(game.positions ?? [], game.plies ?? []);
    this.takeThinking(game.thinking);
    if (game.end) this.end = game.end;
  }

  add(positions, plies) {
    const last = this.positions.length ? this.lastPly : -1;
    const newer = positions.filter((position) => position.ply > last);
    if (newer.length === positions.length || !this.hasGaps) this.positions.push(...newer);
    else {
      const all = new Map([...this.positions, ...positions].map((position) => [position.ply, position]));
      this.positions = [...all.values()].sort((a, b) => a.ply - b.ply);
    }
    for (const info of plies) this.infos.set(info.ply, info);
  }

  takeThinking(thoughts) {
    for (const thought of thoughts ?? []) {
      this.thinking.set(thought.ply, thought);
      this.thinkingChanges += 1;
    }
  }

  // Many programs have no name; they are then called by their number.
  playerName(player) {
    return this.game.players?.[player]?.name || t("game.player", { number: player + 1 });
  }
}
