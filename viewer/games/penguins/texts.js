// The texts of Penguins: [German, English].

export const TEXTS = {
  "game.penguins": ["Penguins", "Penguins"],
  "penguins.board": ["Spielfeld", "Board"],
  "penguins.cell": ["({x}, {y}): {content}", "({x}, {y}): {content}"],
  "penguins.water": ["Wasser", "water"],
  "penguins.floe": ["Scholle, Fische: {count}", "floe, fish: {count}"],
  "penguins.penguin": ["Pinguin von {color}", "penguin of {color}"],
  "penguins.fish": ["Fische", "Fish"],
  "penguins.toPlace": ["Noch zu setzen", "Still to place"],
  "penguins.stuck": ["Können nicht mehr ziehen", "Cannot move any more"],
  "penguins.points": ["Fische: {points}", "Fish: {points}"],
  "penguins.place": ["auf {to}", "on {to}"],
  "penguins.slide": ["{from} → {to}", "{from} → {to}"],
  "penguins.gets": ["Fische: {fish}", "fish: {fish}"],
  "penguins.choosePlace": ["Wähle eine Scholle mit einem einzelnen Fisch für deinen Pinguin.", "Choose a floe with a single fish for your penguin."],
  "penguins.choosePenguin": ["Wähle einen Pinguin und dann sein Ziel.", "Choose a penguin, then its target."],
  "penguins.chooseTarget": ["Wähle das Ziel des Pinguins auf {from}.", "Choose the target of the penguin on {from}."],
};
