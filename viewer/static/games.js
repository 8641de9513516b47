// How games are drawn. The page has every `board.js` in `viewer/games/`, and each of them adds its game here; a game without
// one is shown as a table.
//
// A drawing module is an object with
// - name: the value of `game.game`,
// - hasTeams, if the players are red and blue; see teams.js,
// - createBoard(game, {isInput, onField}): an object with `element` and `show(position, {legal, illegal, previous, better})`,
//   and, if cells can be marked on it, `centerOf([x, y])`: the middle of a cell in the units of `element`, or null; and
//   `nameOf([x, y])`, if it is not called (x, y),
// - createThumbnail(), if a list shows small pictures: an object with `element` and `show(picture)`,
// - createPlayerDetails(game): an object with `element` and `show(position, player, isEnded)`,
// - describeMove(position), describeSide(sideToMove), pieceName(piece) and, if points are not simply points, pointsText(position, player); colorsOf(position, player), if a player has colours.
// A seat lists the legal moves as buttons with describeLegalMove(move, position) and targetOf(move, position), unless the module
// has an input of its own: createInput(view, choose), an object with `element`, `request(legal, position)`, `dispose()`. Its
// `hasSkips` says whether a player may pass at times.

import { table } from "./field_table.js";
import { addTexts } from "./i18n.js";

const DRAWINGS = new Map();

// Adds a drawing module and its texts, of which `game.` and the name is the title of the game.
export function addGame(drawing, texts) {
  DRAWINGS.set(drawing.name, drawing);
  addTexts(texts);
}

export function drawingFor(game) {
  return DRAWINGS.get(game.game) ?? table;
}
