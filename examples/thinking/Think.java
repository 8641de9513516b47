import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/** Says what your program thinks about its next move, for the pages of spielleiter (docs/thinking.md). */
final class Think {
    /** Each cell is {x, y, weight}; moves have a name and a value. */
    static void think(int turn, double value, String text, double[][] cells, Map<String, Double> moves) {
        String list = moves.entrySet().stream()
            .map(move -> "{\"text\": " + quoted(move.getKey()) + ", \"value\": " + move.getValue() + "}")
            .collect(Collectors.joining(", ", "[", "]"));
        System.err.println("{\"thinking\": 1, \"turn\": " + turn + ", \"value\": " + value + ", \"text\": "
            + quoted(text) + ", \"cells\": " + Arrays.deepToString(cells) + ", \"moves\": " + list + "}");
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + '"';
    }
}
