// player.py in Java.
import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;

public class Player {
    static final List<String> COLORS = List.of("BLUE", "YELLOW", "RED", "GREEN");
    static final String SHAPES = "MONO # DOMINO ## TRIO_L #./## TRIO_I #/#/# TETRO_O ##/## TETRO_T ###/.#. TETRO_I #/#/#/# "
            + "TETRO_L #./#./## TETRO_Z ##./.## PENTO_L #./#./#./## PENTO_T ###/.#./.#. PENTO_V #../#../### PENTO_S .###/##.. "
            + "PENTO_Z ##./.#./.## PENTO_I #/#/#/#/# PENTO_P ##/##/#. PENTO_W #../##./.## PENTO_U #.#/### PENTO_R ..#/###/.#. "
            + "PENTO_X .#./###/.#. PENTO_Y .#/##/.#/.#";
    static final List<Orientation> ORIENTATIONS = orientations();
    static final Random CHANCE = new Random();

    record Cell(int x, int y) {}
    record Orientation(String shape, String rotation, boolean flipped, Set<Cell> cells) {}
    record Move(Orientation as, int x, int y) {}

    static List<Orientation> orientations() {
        List<Orientation> found = new ArrayList<>();
        String[] words = SHAPES.split(" ");
        for (int i = 0; i < words.length; i += 2) {
            Set<Set<Cell>> known = new HashSet<>();
            int turns = 0;
            for (String rotation : List.of("NONE", "RIGHT", "MIRROR", "LEFT")) {
                for (boolean flipped : new boolean[] {false, true}) {
                    List<Cell> cells = new ArrayList<>();
                    String[] rows = words[i + 1].split("/");
                    for (int y = 0; y < rows.length; y++)
                        for (int x = 0; x < rows[y].length(); x++)
                            if (rows[y].charAt(x) == '#') {
                                Cell cell = new Cell(x, y);
                                for (int turn = 0; turn < turns; turn++) cell = new Cell(-cell.y, cell.x);
                                cells.add(flipped ? new Cell(-cell.x, cell.y) : cell);
                            }
                    int left = cells.stream().mapToInt(Cell::x).min().getAsInt();
                    int top = cells.stream().mapToInt(Cell::y).min().getAsInt();
                    Set<Cell> moved = new LinkedHashSet<>();
                    for (Cell cell : cells) moved.add(new Cell(cell.x - left, cell.y - top));
                    if (known.add(moved)) found.add(new Orientation(words[i], rotation, flipped, moved));
                }
                turns++;
            }
        }
        return found;
    }

    final int[][] board = new int[20][20];  // the colour of each cell from 1, 0 for none
    int own;

    boolean is(int x, int y, int color) { return x >= 0 && y >= 0 && x < 20 && y < 20 && board[x][y] == color; }
    boolean hasEdge(int x, int y, int color) {
        return is(x - 1, y, color) || is(x + 1, y, color) || is(x, y - 1, color) || is(x, y + 1, color);
    }
    boolean hasCorner(int x, int y, int color) {
        return is(x - 1, y - 1, color) || is(x + 1, y - 1, color) || is(x - 1, y + 1, color) || is(x + 1, y + 1, color);
    }
    boolean isAllowed(int x, int y) { return is(x, y, 0) && !hasEdge(x, y, own); }
    void put(Move move, int color) {
        for (Cell cell : move.as.cells) board[move.x + cell.x][move.y + cell.y] = color;
    }

    double value(Move move) {
        double sum = CHANCE.nextDouble();
        for (Cell cell : move.as.cells) {
            int x = move.x + cell.x, y = move.y + cell.y, rival = own % 2 + 1;
            if (hasCorner(x, y, rival) && !hasEdge(x, y, rival) || hasCorner(x, y, rival + 2) && !hasEdge(x, y, rival + 2)) sum++;
        }
        put(move, own);
        Set<Cell> gained = new HashSet<>();
        for (Cell cell : move.as.cells)
            for (int i = -1; i < 2; i += 2)
                for (int j = -1; j < 2; j += 2)
                    if (isAllowed(move.x + cell.x + i, move.y + cell.y + j)) gained.add(new Cell(move.x + cell.x + i, move.y + cell.y + j));
        put(move, 0);
        return sum + gained.size();
    }

    static String find(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern, Pattern.DOTALL).matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }

    String choose(String state, double level) {
        int turn = Integer.parseInt(find(" turn=\"(\\d+)\"", state));
        String color = COLORS.get(turn % 4);
        own = turn % 4 + 1;
        for (int[] column : board) Arrays.fill(column, 0);
        Matcher fields = Pattern.compile("<field x=\"(\\d+)\" y=\"(\\d+)\" content=\"(\\w+)\"").matcher(state);
        while (fields.find())
            board[Integer.parseInt(fields.group(1))][Integer.parseInt(fields.group(2))] = COLORS.indexOf(fields.group(3)) + 1;
        Set<String> shapes = new HashSet<>();
        if (turn < 4) {
            shapes.add(find("startPiece=\"(\\w+)\"", state));
        } else {
            String name = color.toLowerCase() + "Shapes>";
            Matcher matcher = Pattern.compile("<shape>(\\w+)").matcher(find("<" + name + "(.*?)</" + name, state));
            while (matcher.find()) shapes.add(matcher.group(1));
        }
        List<Cell> anchors = new ArrayList<>();
        for (int x = 0; x < 20; x++)
            for (int y = 0; y < 20; y++)
                if (isAllowed(x, y) && (turn < 4 ? x % 19 == 0 || y % 19 == 0 : hasCorner(x, y, own))) anchors.add(new Cell(x, y));
        List<Move> found = new ArrayList<>();
        int largest = 0;
        for (Orientation as : ORIENTATIONS) {
            if (!shapes.contains(as.shape)) continue;
            Set<Cell> places = new HashSet<>();
            for (Cell anchor : anchors)
                for (Cell cell : as.cells) places.add(new Cell(anchor.x - cell.x, anchor.y - cell.y));
            for (Cell place : places)
                if (as.cells.stream().allMatch(cell -> isAllowed(place.x + cell.x, place.y + cell.y))) {
                    found.add(new Move(as, place.x, place.y));
                    largest = Math.max(largest, as.cells.size());
                }
        }
        if (found.isEmpty()) return "<data class=\"sc.plugin2027.SkipMove\"><color>" + color + "</color></data>";
        Move best = found.get(CHANCE.nextInt(found.size()));
        if (CHANCE.nextDouble() < level) {
            double most = -1;
            for (Move move : found)
                if (move.as.cells.size() == largest) {
                    double worth = value(move);
                    if (worth > most) {
                        most = worth;
                        best = move;
                    }
                }
        }
        return "<data class=\"sc.plugin2027.SetMove\"><piece color=\"" + color + "\" kind=\"" + best.as.shape + "\" rotation=\""
                + best.as.rotation + "\" isFlipped=\"" + best.as.flipped + "\"><position x=\"" + best.x + "\" y=\"" + best.y
                + "\"/></piece></data>";
    }

    public static void main(String[] words) throws IOException {
        double level = Double.parseDouble(words[0]);
        Map<Character, String> options = new HashMap<>();
        for (int i = 1; i + 1 < words.length; i += 2) options.put(words[i].replaceFirst("^-+", "").charAt(0), words[i + 1]);
        try (Socket server = new Socket(options.get('h'), Integer.parseInt(options.get('p')))) {
            server.setTcpNoDelay(true);
            OutputStream out = server.getOutputStream();
            out.write(("<protocol><joinPrepared reservationCode=\"" + options.get('r') + "\"/>").getBytes(StandardCharsets.UTF_8));
            Player player = new Player();
            ByteArrayOutputStream received = new ByteArrayOutputStream();
            byte[] data = new byte[65536];
            for (int size; (size = server.getInputStream().read(data)) >= 0; ) {
                received.write(data, 0, size);
                String text = received.toString(StandardCharsets.UTF_8);
                if (text.contains("class=\"result\"")) break;
                if (!text.contains("class=\"moveRequest\"")) continue;
                String move = player.choose(text.substring(text.lastIndexOf("<state ")), level);
                out.write(("<room roomId=\"" + find("roomId=\"([^\"]+)\"", text) + "\">" + move + "</room>").getBytes(StandardCharsets.UTF_8));
                received.reset();
            }
        }
    }
}
