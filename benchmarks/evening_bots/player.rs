// player.py in Rust, with nothing but the standard library.
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

const COLORS: [&str; 4] = ["BLUE", "YELLOW", "RED", "GREEN"];
const SHAPES: [(&str, &str); 21] = [
    ("MONO", "#"), ("DOMINO", "##"), ("TRIO_L", "#./##"), ("TRIO_I", "#/#/#"), ("TETRO_O", "##/##"),
    ("TETRO_T", "###/.#."), ("TETRO_I", "#/#/#/#"), ("TETRO_L", "#./#./##"), ("TETRO_Z", "##./.##"),
    ("PENTO_L", "#./#./#./##"), ("PENTO_T", "###/.#./.#."), ("PENTO_V", "#../#../###"), ("PENTO_S", ".###/##.."),
    ("PENTO_Z", "##./.#./.##"), ("PENTO_I", "#/#/#/#/#"), ("PENTO_P", "##/##/#."), ("PENTO_W", "#../##./.##"),
    ("PENTO_U", "#.#/###"), ("PENTO_R", "..#/###/.#."), ("PENTO_X", ".#./###/.#."), ("PENTO_Y", ".#/##/.#/.#"),
];

struct Chance(u64);

impl Chance {
    fn number(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Orientation {
    shape: &'static str,
    rotation: &'static str,
    flipped: bool,
    cells: Vec<(i32, i32)>,
}

fn orientations() -> Vec<Orientation> {
    let mut found = Vec::new();
    for (shape, drawing) in SHAPES {
        let mut known = BTreeSet::new();
        for (turns, rotation) in ["NONE", "RIGHT", "MIRROR", "LEFT"].into_iter().enumerate() {
            for flipped in [false, true] {
                let mut cells = Vec::new();
                for (y, row) in drawing.split('/').enumerate() {
                    for (x, _) in row.chars().enumerate().filter(|each| each.1 == '#') {
                        let (mut u, mut v) = (x as i32, y as i32);
                        for _ in 0..turns {
                            (u, v) = (-v, u);
                        }
                        cells.push((if flipped { -u } else { u }, v));
                    }
                }
                let left = cells.iter().map(|cell| cell.0).min().unwrap();
                let top = cells.iter().map(|cell| cell.1).min().unwrap();
                cells.iter_mut().for_each(|cell| *cell = (cell.0 - left, cell.1 - top));
                cells.sort();
                if known.insert(cells.clone()) {
                    found.push(Orientation { shape, rotation, flipped, cells });
                }
            }
        }
    }
    found
}

/// The colour of each cell from 1, 0 for none.
struct Board([[usize; 20]; 20]);

impl Board {
    fn is(&self, x: i32, y: i32, color: usize) -> bool {
        (0..20).contains(&x) && (0..20).contains(&y) && self.0[x as usize][y as usize] == color
    }
    fn has_edge(&self, x: i32, y: i32, color: usize) -> bool {
        [(0, 1), (1, 0), (0, -1), (-1, 0)].iter().any(|(u, v)| self.is(x + u, y + v, color))
    }
    fn has_corner(&self, x: i32, y: i32, color: usize) -> bool {
        [(1, 1), (1, -1), (-1, -1), (-1, 1)].iter().any(|(u, v)| self.is(x + u, y + v, color))
    }
    fn is_allowed(&self, x: i32, y: i32, own: usize) -> bool {
        self.is(x, y, 0) && !self.has_edge(x, y, own)
    }
    fn put(&mut self, cells: &[(i32, i32)], x: i32, y: i32, color: usize) {
        cells.iter().for_each(|(u, v)| self.0[(x + u) as usize][(y + v) as usize] = color);
    }
    fn value(&mut self, cells: &[(i32, i32)], x: i32, y: i32, own: usize) -> f64 {
        let is_rivals = |cell: &&(i32, i32)| {
            let (u, v) = (x + cell.0, y + cell.1);
            (1..5).any(|rival| rival % 2 != own % 2 && self.has_corner(u, v, rival) && !self.has_edge(u, v, rival))
        };
        let blocked = cells.iter().filter(is_rivals).count();
        self.put(cells, x, y, own);
        let mut gained = BTreeSet::new();
        for (u, v) in cells {
            for (i, j) in [(1, 1), (1, -1), (-1, -1), (-1, 1)] {
                if self.is_allowed(x + u + i, y + v + j, own) {
                    gained.insert((x + u + i, y + v + j));
                }
            }
        }
        self.put(cells, x, y, 0);
        (blocked + gained.len()) as f64
    }
}

fn attribute<'a>(text: &'a str, name: &str) -> &'a str {
    let begin = format!(" {name}=\"");
    text.split_once(&begin).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(value, _)| value)
}

fn choose(state: &str, all: &[Orientation], level: f64, chance: &mut Chance) -> String {
    let turn: usize = attribute(state, "turn").parse().unwrap();
    let (own, color) = (turn % 4 + 1, COLORS[turn % 4]);
    let mut board = Board([[0; 20]; 20]);
    for field in state.split("<field ").skip(1).map(|rest| format!(" {rest}")) {
        let content = attribute(&field, "content");
        let place = |name| attribute(&field, name).parse::<usize>().unwrap();
        board.0[place("x")][place("y")] = COLORS.iter().position(|each| *each == content).unwrap() + 1;
    }
    let shapes: Vec<&str> = if turn < 4 {
        vec![attribute(state, "startPiece")]
    } else {
        let name = format!("{}Shapes>", color.to_lowercase());
        let section = state.split(&name).nth(1).unwrap_or("");
        section.split("<shape>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect()
    };
    let mut anchors = Vec::new();
    for x in 0..20 {
        for y in 0..20 {
            let is_start = if turn < 4 { x % 19 == 0 || y % 19 == 0 } else { board.has_corner(x, y, own) };
            if is_start && board.is_allowed(x, y, own) {
                anchors.push((x, y));
            }
        }
    }
    let mut found = Vec::new();
    for each in all.iter().filter(|each| shapes.contains(&each.shape)) {
        let places: BTreeSet<_> =
            anchors.iter().flat_map(|(x, y)| each.cells.iter().map(move |(u, v)| (x - u, y - v))).collect();
        for (x, y) in places {
            if each.cells.iter().all(|(u, v)| board.is_allowed(x + u, y + v, own)) {
                found.push((each, x, y));
            }
        }
    }
    if found.is_empty() {
        return format!("<data class=\"sc.plugin2027.SkipMove\"><color>{color}</color></data>");
    }
    let mut best = (chance.number() * found.len() as f64) as usize;
    if chance.number() < level {
        let largest = found.iter().map(|each| each.0.cells.len()).max().unwrap();
        let mut most = -1.0;
        for (index, (each, x, y)) in found.iter().enumerate().filter(|each| each.1.0.cells.len() == largest) {
            let worth = board.value(&each.cells, *x, *y, own) + chance.number();
            if worth > most {
                (most, best) = (worth, index);
            }
        }
    }
    let (each, x, y) = &found[best];
    format!(
        "<data class=\"sc.plugin2027.SetMove\"><piece color=\"{color}\" kind=\"{}\" rotation=\"{}\" isFlipped=\"{}\">\
         <position x=\"{x}\" y=\"{y}\"/></piece></data>",
        each.shape, each.rotation, each.flipped
    )
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let level = words[1].parse().expect("a level");
    let options: BTreeMap<_, _> =
        words[2..].chunks_exact(2).map(|pair| (pair[0].trim_start_matches('-').chars().next(), &pair[1])).collect();
    let option = |name| options.get(&Some(name)).expect("the options of the contest").as_str();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    let (mut chance, all) = (Chance(seed), orientations());
    let mut server = TcpStream::connect((option('h'), option('p').parse().expect("a port")))?;
    write!(server, "<protocol><joinPrepared reservationCode=\"{}\"/>", option('r'))?;
    let (mut text, mut data) = (Vec::new(), [0; 65536]);
    loop {
        let size = server.read(&mut data)?;
        text.extend_from_slice(&data[..size]);
        let now = String::from_utf8_lossy(&text).into_owned();
        if size == 0 || now.contains("class=\"result\"") {
            return Ok(());
        }
        if now.contains("class=\"moveRequest\"") {
            let state = &now[now.rfind("<state ").expect("a state")..];
            let packet = choose(state, &all, level, &mut chance);
            server.write_all(format!("<room roomId=\"{}\">{packet}</room>", attribute(&now, "roomId")).as_bytes())?;
            text.clear();
        }
    }
}
