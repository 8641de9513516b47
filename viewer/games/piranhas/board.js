// Drawing module of Piranhas: the board with both players' fish, the swarms that they form, the last move, and the moves
// of a seat.
//
// The row 0 is the lowest one. A player's fish differ from the other's in their shape as well: those of player 1 look to
// the right and are plain, those of player 2 look to the left and have stripes. The number on a fish is its size.

import { el, svg } from "../../static/dom.js";
import { addGame } from "../../static/games.js";
import { GridBoard } from "../../static/grid_board.js";
import { Holdings } from "../../static/holdings.js";
import { number, t } from "../../static/i18n.js";
import { PieceInput, cellName, moveMarks, way } from "../../static/moving_pieces.js";
import { TEAMS, teamDrawing, teamName } from "../../static/teams.js";
import { CellThumbnail } from "../../static/thumbnails.js";
import { TEXTS } from "./texts.js";

const SIGNS = ["123", "abc"]; // of each player's fish by size, as in `board.cells`
const SCALES = [0.72, 0.9, 1.06];
const NEIGHBORS = [[1, 0], [0, 1], [1, 1], [-1, 1]]; // each pair of neighbours once

// Returns the player and the size (0 to 2) of the fish that a letter stands for, or null.
function fishOf(sign) {
  const player = SIGNS.findIndex((signs) => signs.includes(sign));
  return player < 0 ? null : { player, size: SIGNS[player].indexOf(sign) };
}

// A fish in the middle of a cell. Paths are in a box from -.5 to .5.
function fish({ player, size }) {
  const scale = SCALES[size];
  const body = "M-.28 -.06C-.12 -.34 .28 -.36 .44 0C.28 .36 -.12 .34 -.28 .06L-.46 .24L-.4 0L-.46 -.24Z";
  const stripes = player === 1 ? svg("path", { d: "M.02 -.2V.2M.16 -.24V-.12M.16 .12V.24M-.1 -.12V.12", class: "stripes" }) : null;
  return svg("g", { transform: `scale(${player === 1 ? -scale : scale} ${scale})`, class: `fish team-${TEAMS[player]}` },
    svg("path", { d: body, class: "fish-body" }), stripes,
    svg("circle", { cx: 0.3, cy: -0.08, r: 0.045, class: "fish-eye" }));
}

function squid() {
  return svg("g", { class: "squid" },
    svg("path", { d: "M-.26 .08C-.3 -.44 .3 -.44 .26 .08C.24 .2 .4 .24 .36 .4C.26 .38 .2 .3 .16 .2C.14 .32 .12 .4 .04 .44C0 .34 .02 .28 0 .2C-.02 .28 0 .34 -.04 .44C-.12 .4 -.14 .32 -.16 .2C-.2 .3 -.26 .38 -.36 .4C-.4 .24 -.24 .2 -.26 .08Z", class: "squid-body" }),
    svg("circle", { cx: -0.1, cy: -0.08, r: 0.06, class: "fish-eye" }), svg("circle", { cx: 0.1, cy: -0.08, r: 0.06, class: "fish-eye" }));
}

class Board extends GridBoard {
  constructor(game, options) {
    const width = game.positions?.[0]?.board?.width ?? 10;
    const listener = (index) => (options.onField ? { onclick: () => options.onField(index) } : {});
    const layers = [0, 1, 2, 3, 4].map(() => svg("g", { class: "marks", "aria-hidden": "true" }));
    super({
      width,
      height: width,
      isUpward: true,
      layers,
      attributesOf: (x, y) => ({ class: "sea", role: "cell", "data-field": y * width + x, ...listener(y * width + x) }),
    }, { class: `moving-pieces piranhas${options.onField ? " takes-clicks" : ""}`, role: "table", "aria-label": t("piranhas.board"), viewBox: `-.8 -.1 ${width + 0.9} ${width + 0.9}` });
    [this.links, this.legalLayer, this.pieces, this.layer, this.inputLayer] = layers;
    this.shown = "";
  }

  // Shows a position. `extras` may have `legal` (the moves of an overlay), `illegal` (a refused move), `previous` (the
  // position before) and `better` (the estimate of a better move).
  show(position, extras = {}) {
    const signs = position.board.cells;
    const heaviest = new Set((position.players ?? []).flatMap((player) => player.swarmCells ?? []).map(cellName));
    if (signs !== this.shown) this.showCells(signs, heaviest);
    this.legalLayer.replaceChildren(...(extras.legal ?? []).flatMap((move) => way(this, move, "legal-way")));
    this.layer.replaceChildren(...moveMarks(this, position, extras));
  }

  indexOf([x, y]) {
    return y * this.width + x;
  }

  showCells(signs, heaviest) {
    this.shown = signs;
    const pieces = [];
    const links = [];
    [...signs].forEach((sign, index) => {
      const cell = [index % this.width, Math.floor(index / this.width)];
      const found = fishOf(sign);
      const content = found ? t("piranhas.fish", { color: teamName(found.player), size: found.size + 1 }) : t(sign === "x" ? "piranhas.squid" : "piranhas.empty");
      const label = found && heaviest.has(cellName(cell)) ? `${content}, ${t("piranhas.inSwarm")}` : content;
      this.cells[index].setAttribute("aria-label", t("piranhas.cell", { x: cell[0], y: cell[1], content: label }));
      if (!found && sign !== "x") return;
      const [x, y] = this.centerOf(cell);
      pieces.push(svg("g", { transform: `translate(${x} ${y})` }, found ? [fish(found), svg("text", { x: found.player === 1 ? 0.04 : -0.04, y: 0.12, class: "fish-size", text: found.size + 1 })] : squid()));
      if (!found) return;
      for (const [dx, dy] of NEIGHBORS) {
        const [otherX, otherY] = [cell[0] + dx, cell[1] + dy];
        const center = this.centerOf([otherX, otherY]);
        if (!center || fishOf(signs[otherY * this.width + otherX])?.player !== found.player) continue;
        const isHeaviest = heaviest.has(cellName(cell));
        links.push(svg("path", { d: `M${x} ${y}L${center[0]} ${center[1]}`, class: `link link-${TEAMS[found.player]}${isHeaviest ? " is-heaviest" : ""}` }));
      }
    });
    this.pieces.replaceChildren(...pieces);
    this.links.replaceChildren(...links);
  }

  frame([x, y], name) {
    return svg("rect", { x: x + 0.06, y: this.topOf(y) + 0.06, width: 0.88, height: 0.88, rx: 0.12, class: name });
  }
}

addGame(teamDrawing({
  name: "piranhas",
  createThumbnail: () => new CellThumbnail(TEAMS.map((team, player) => ({ letters: SIGNS[player], form: player ? "round" : "small", class: `team-dot-${team}` })), { isUpward: true }),
  createBoard: (game, options = {}) => new Board(game, options),
  createPlayerDetails: () => new Holdings(({ swarm = 0, fish: count = 0, swarms = 0 }) => [[t("piranhas.swarm"), swarm], [t("piranhas.count"), count], [t("piranhas.swarms"), swarms]]),
  createInput: (view, choose) => new PieceInput(view, choose, (from) => (from ? t("piranhas.chooseTarget", { from: cellName(from) }) : t("piranhas.chooseFish"))),
  moveText(move) {
    if (!move.to) return move.text ?? "";
    const ends = t("piranhas.moved", { from: cellName(move.from), to: cellName(move.to) });
    return Number.isInteger(move.eaten) ? `${ends}, ${t("piranhas.eats", { size: move.eaten })}` : ends;
  },
  describeLegalMove(move) {
    const text = el("span", { text: t("piranhas.moved", { from: cellName(move.from), to: cellName(move.to) }) });
    return Number.isInteger(move.eaten) ? [text, el("small", { text: t("piranhas.eats", { size: move.eaten }) })] : text;
  },
  pointsText: (position, player) => t("piranhas.points", { points: number(position.players?.[player]?.swarm ?? 0) }),
}), TEXTS);
