// The texts of Piranhas: [German, English].

export const TEXTS = {
  "game.piranhas": ["Piranhas", "Piranhas"],
  "piranhas.board": ["Spielfeld", "Board"],
  "piranhas.cell": ["({x}, {y}): {content}", "({x}, {y}): {content}"],
  "piranhas.empty": ["leer", "empty"],
  "piranhas.squid": ["Krake", "squid"],
  "piranhas.fish": ["{color}, Größe {size}", "{color}, size {size}"],
  "piranhas.inSwarm": ["im größten Schwarm", "in the heaviest swarm"],
  "piranhas.canMove": ["kann ziehen", "can move"],
  "piranhas.chosen": ["gewählt", "chosen"],
  "piranhas.target": ["Ziel", "target"],
  "piranhas.swarm": ["Größter Schwarm", "Heaviest swarm"],
  "piranhas.count": ["Fische", "Fish"],
  "piranhas.swarms": ["Schwärme", "Swarms"],
  "piranhas.points": ["Schwarm {points}", "Swarm {points}"],
  "piranhas.moved": ["{from} → {to}", "{from} → {to}"],
  "piranhas.eats": ["frisst einen Fisch der Größe {size}", "eats a fish of size {size}"],
  "piranhas.chooseFish": ["Wähle einen Fisch und dann sein Ziel.", "Choose a fish, then its target."],
  "piranhas.chooseTarget": ["Wähle das Ziel des Fischs auf {from}.", "Choose the target of the fish on {from}."],
};
