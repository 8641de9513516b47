// Which drawing module draws which game. A new game adds its module here; a game without one is shown as a table.
//
// A drawing module is an object with
// - name: the value of `game.game`,
// - createBoard(game, {isInput, onField}): an object with `element` and `show(position, {legal, illegal, previous, better})`,
//   and, if cells can be marked on it, `centerOf([x, y])`: the middle of a cell in the units of `element`, or null; and
//   `nameOf([x, y])`, if it is not called (x, y),
// - createThumbnail(), if a list shows small pictures: an object with `element` and `show(picture)`,
// - createPlayerDetails(game): an object with `element` and `show(position, player, isEnded)`,
// - describeMove(position), describeSide(sideToMove), pieceName(piece) and, if points are not simply points, pointsText(position, player); colorsOf(position, player), if a player has colours.
// A seat lists the legal moves as buttons with describeLegalMove(move, position) and targetOf(move, position), unless the module
// has an input of its own: createInput(view, choose), an object with `element`, `request(legal, position)`, `dispose()`.

import { blokus } from "./blokus.js";
import { haseUndIgel } from "./hase_und_igel.js";
import { table } from "./table.js";

const DRAWINGS = new Map([blokus, haseUndIgel].map((drawing) => [drawing.name, drawing]));

export function drawingFor(game) {
  return DRAWINGS.get(game.game) ?? table;
}
