// Addresses of this page: the part after the `#`.
//
//   #/                     the rooms            #/replays               the replays
//   #/room/ID[/PLY]        one room             #/replay/NAME[/PLY]     one replay
//   #/play[/FROM/ID/PLY]   taking a seat        #/seat/ID               a seat that was taken
//   #/admin                administration         #/beamer/COUNT[/ROOM]  games on a big screen

export function address(kind, ...parts) {
  if (kind === "rooms") return "#/";
  return `#/${[kind, ...parts.map((part) => encodeURIComponent(part))].join("/")}`;
}

// Returns the parts of an address: {kind, parts}.
export function parseAddress(hash) {
  const [kind = "", ...parts] = hash.replace(/^#\/?/, "").split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { kind: kind || "rooms", parts };
}

// Returns the ply of an address, or null if it names none.
export function plyOf(text) {
  return /^\d{1,6}$/.test(text ?? "") ? Number(text) : null;
}
