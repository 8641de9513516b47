// A game as far as it is known: positions by ply, and what is known about each ply.
//
// Invariants: `positions[k]` has ply `firstPly + k`; positions are only appended. A replay may begin in the middle of a
// game, so the first ply need not be 0.

export class GameRecord {
  constructor(game) {
    this.game = game;
    this.positions = game.positions ?? [];
    this.infos = new Map();
    for (const info of game.plies ?? []) this.infos.set(info.ply, info);
    this.end = game.end ?? null;
    this.isPaused = game.isPaused ?? false;
    this.toMove = null;
    this.toMoveSince = 0;
  }

  get firstPly() {
    return this.positions.length ? this.positions[0].ply : 0;
  }

  get lastPly() {
    return this.positions.length ? this.positions[this.positions.length - 1].ply : 0;
  }

  // Returns the position of a ply, or the nearest one that is known.
  at(ply) {
    const index = Math.max(0, Math.min(this.positions.length - 1, ply - this.firstPly));
    return this.positions[index] ?? null;
  }

  info(ply) {
    return this.infos.get(ply) ?? null;
  }

  clamp(ply) {
    return Math.max(this.firstPly, Math.min(this.lastPly, ply));
  }

  // Takes over a live update. Positions that are known already are dropped, so an update may be told twice. Returns
  // whether it fits; if it does not, because one before it is missing, the game has to be fetched again.
  update(event, now) {
    const from = event.from ?? this.lastPly + 1;
    const positions = event.positions ?? [];
    if (positions.length && this.positions.length && from > this.lastPly + 1) return false;
    for (const position of positions) {
      if (!this.positions.length || position.ply > this.lastPly) this.positions.push(position);
    }
    for (const info of event.plies ?? []) this.infos.set(info.ply, info);
    if ("end" in event) this.end = event.end;
    if ("isPaused" in event) this.isPaused = event.isPaused;
    if ("toMove" in event) {
      this.toMove = event.toMove;
      this.toMoveSince = now - (event.toMove?.since ?? 0) * 1000;
    }
    return true;
  }

  playerName(player) {
    return this.game.players?.[player]?.name ?? "";
  }
}
