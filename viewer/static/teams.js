// Games in which one player is red and the other one blue, as in most seasons.

import { table } from "./field_table.js";
import { t } from "./i18n.js";

export const TEAMS = ["RED", "BLUE"];

export function teamName(player) {
  return t(`color.${TEAMS[player]}`);
}

// Returns the drawing module `drawing` with what it shares with that of every such game. `drawing.moveText(move)` is a
// move in words, without its player; `drawing.endText(position)`, if there is one, what has happened where no move is known.
export function teamDrawing(drawing) {
  return {
    ...table,
    hasTeams: true,
    describeSide: (side) => (side ? teamName(side.player) : ""),
    describeMove(position) {
      const move = position.lastMove;
      if (!move) return drawing.endText?.(position) ?? "";
      return Number.isInteger(move.player) ? `${teamName(move.player)}: ${drawing.moveText(move)}` : drawing.moveText(move);
    },
    ...drawing,
  };
}
