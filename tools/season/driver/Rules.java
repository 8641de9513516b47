import com.thoughtworks.xstream.XStream;
import com.thoughtworks.xstream.io.xml.CompactWriter;
import com.thoughtworks.xstream.io.xml.KXml2Driver;
import com.thoughtworks.xstream.security.AnyTypePermission;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.ObjectOutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import sc.api.plugins.IGameInstance;
import sc.api.plugins.IGamePlugin;
import sc.api.plugins.IGameState;
import sc.api.plugins.IMove;
import sc.api.plugins.Team;
import sc.framework.plugins.AbstractGame;
import sc.networking.XStreamProvider;
import sc.protocol.room.MementoMessage;
import sc.protocol.room.RoomMessage;
import sc.protocol.room.RoomPacket;

/**
 * Answers questions about the rules of one official release, with the release's own code. It works with every season
 * since 2022, and knows none of them.
 *
 * <p>Each line that it reads is a question: a word and its arguments, separated by tabs. Each line that it writes is the
 * answer, a JSON object; {"error": …} if the question could not be answered. Positions are kept between questions.
 *
 * <pre>
 * use NAME             the questions that follow are about the position with this name
 * start SEED           a new game, its random start drawn from SEED
 * load XML             the position of a state: as on the wire, or "exact", as `position` gives it
 * position [exact]     turn, team, whether the game is over, points, state
 * moves LIMIT          how many moves the release lists, LIMIT of them from all parts of the list, a hash of all
 * sensible             the moves that the release's own simple players choose from
 * values MOVE…         for each: how well each team stands after it, by the extended points
 * foresee MOVE…        for each: how many moves its team has in its next turn, after a sensible answer; at most 99
 * judge MOVE…          a verdict for each move, without playing it
 * play MOVE            plays it, if it is legal
 * result               who wins if the game ends here, and the packet of the result
 * perft DEPTH          the numbers of sequences of 1 to DEPTH moves, over games that end on the way
 * forms                elements and attributes of packets, states and moves; texts of mistakes and reasons; constants
 * </pre>
 */
public final class Rules {
    private static final String ROOM = "ROOM";

    private final IGamePlugin plugin;
    private final XStream wire;
    private final XStream exact = new XStream(new KXml2Driver());
    private final Map<String, IGameState> others = new HashMap<>();
    private String name = "";
    private IGameState state;

    private Rules() throws Exception {
        plugin = newestPlugin();
        wire = wireFormat();
        exact.setMode(XStream.NO_REFERENCES);
        exact.addPermission(AnyTypePermission.ANY);
    }

    public static void main(String[] arguments) throws Exception {
        // what the release prints must not mix with the answers
        PrintStream answers = new PrintStream(System.out, false, "UTF-8");
        System.setOut(System.err);
        Rules rules = new Rules();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = questions.readLine()) != null; ) {
            Map<String, Object> answer;
            try {
                answer = rules.answer(line.split("\t", -1));
            } catch (Throwable problem) {
                answer = new LinkedHashMap<>();
                answer.put("error", Json.describe(problem));
            }
            answers.println(Json.write(answer));
            answers.flush();
        }
    }

    private Map<String, Object> answer(String[] words) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        switch (words[0]) {
            case "use" -> {
                others.put(name, state);
                name = words[1];
                state = others.get(name);
            }
            case "start" -> {
                Chance.seed(Long.parseLong(words[1]));
                state = game(plugin.createGame()).getCurrentState();
                answer.put("game", plugin.getId());
            }
            case "load" -> {
                Object loaded = words[1].startsWith("<sc.") ? exact.fromXML(words[1]) : wire.fromXML(words[1]);
                state = (IGameState) loaded;
            }
            case "position" -> describePosition(answer, words.length > 1);
            case "moves" -> listMoves(answer, Integer.parseInt(words[1]));
            case "sensible" -> answer.put("moves", sensibleMoves());
            case "values", "foresee", "judge" -> {
                List<Object> answers = new ArrayList<>();
                for (int i = 1; i < words.length; i++) {
                    answers.add(switch (words[0]) {
                        case "values" -> value(words[i]);
                        case "foresee" -> movesInNextTurn(words[i]);
                        default -> judge(words[i], false);
                    });
                }
                answer.put("answers", answers);
            }
            case "play" -> answer = judge(words[1], true);
            case "result" -> describeResult(answer);
            case "perft" -> answer.put("perft", perft(Integer.parseInt(words[1])));
            case "forms" -> answer = new Forms(wire).all();
            default -> throw new IllegalArgumentException("unknown question: " + words[0]);
        }
        return answer;
    }

    private void describePosition(Map<String, Object> answer, boolean withExact) throws Exception {
        answer.put("turn", state.getTurn());
        answer.put("team", state.getCurrentTeam().getName());
        answer.put("over", isOver(state));
        answer.put("points", points(state));
        answer.put("state", stateText(state));
        if (withExact) {
            StringWriter text = new StringWriter();
            exact.marshal(state, new CompactWriter(text));
            answer.put("exact", text.toString());
        }
    }

    /** The order in which a release lists moves may differ between two runs: it follows the addresses of constants. */
    private void listMoves(Map<String, Object> answer, int limit) throws Exception {
        List<String> all = new ArrayList<>();
        for (Iterator<IMove> moves = legalMoves(state); moves.hasNext(); ) {
            all.add(moveText(moves.next()));
        }
        Collections.sort(all);
        List<String> shown = new ArrayList<>();
        for (int i = 0; i < Math.min(limit, all.size()); i++) {
            shown.add(all.get(all.size() <= limit ? i : (int) ((long) i * all.size() / limit)));
        }
        answer.put("count", all.size());
        answer.put("moves", shown);
        answer.put("sha", Json.sha(String.join("\n", all)));
    }

    private List<String> sensibleMoves() throws Exception {
        List<String> moves = new ArrayList<>();
        if (property(state, "getSensibleMoves") instanceof List<?> sensible) {
            for (Object move : sensible) {
                moves.add(moveText((IMove) move));
            }
        }
        Collections.sort(moves);
        return moves;
    }

    private List<Integer> value(String move) throws Exception {
        IGameState after = after((IMove) read(move));
        List<Integer> sums = new ArrayList<>();
        for (Team team : Team.values()) {
            List<Integer> parts = points(after, team, "getPointsForTeamExtended");
            int sum = 0;
            for (int part : parts != null ? parts : points(after, team, "getPointsForTeam")) {
                sum += part;
            }
            sums.add(sum);
        }
        return sums;
    }

    private int movesInNextTurn(String text) throws Exception {
        IGameState kept = state;
        try {
            state = after((IMove) read(text));
            if (!isOver(state)) {
                List<?> sensible = property(state, "getSensibleMoves") instanceof List<?> list ? list : List.of();
                state = after(sensible.isEmpty() ? legalMoves(state).next() : (IMove) sensible.get(0));
            }
            int count = 0;
            if (!isOver(state)) {
                for (Iterator<IMove> moves = legalMoves(state); count < 99 && moves.hasNext(); count++) {
                    moves.next();
                }
            }
            return count;
        } finally {
            state = kept;
        }
    }

    private Map<String, Object> judge(String text, boolean play) throws Exception {
        Map<String, Object> verdict = new LinkedHashMap<>();
        try {
            if (!(read(text) instanceof IMove move)) {
                verdict.put("verdict", "not a move");
                return verdict;
            }
            IGameState after = after(move);
            verdict.put("verdict", "OK");
            verdict.put("sha", Json.sha(stateText(after)));
            if (play) {
                state = after;
            }
        } catch (Exception refused) {
            Object mistake = property(refused, "getMistake");
            String name = mistake instanceof Enum<?> value
                    ? value.getDeclaringClass().getSimpleName() + "." + value.name()
                    : refused.getClass().getName();
            verdict.put("verdict", name);
            verdict.put("text", mistake == null ? Json.describe(refused) : refused.getMessage());
        }
        return verdict;
    }

    private void describeResult(Map<String, Object> answer) throws Exception {
        AbstractGame game = game(plugin.createGameFromState(copied(state)));
        game.onPlayerJoined().setDisplayName("Eins");
        game.onPlayerJoined().setDisplayName("Zwei");
        Object regular = game.checkWinCondition();
        answer.put("over", isOver(state));
        Object condition = regular != null ? regular : property(game, "currentWinner");
        if (condition != null) {
            Object winner = property(condition, "getWinner");
            Object reason = property(condition, "getReason");
            answer.put("winner", winner == null ? null : winner.toString());
            answer.put("reason", reason instanceof Enum<?> value ? value.name() : reason.getClass().getSimpleName());
            answer.put("text", property(reason, "getMessage"));
        }
        answer.put("packet", packetText(result(game)));
        answer.put("points", points(state));
    }

    private List<Long> perft(int depth) throws Exception {
        List<Long> counts = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            counts.add(0L);
        }
        countMoves(state, 0, counts);
        return counts;
    }

    private void countMoves(IGameState from, int done, List<Long> counts) throws Exception {
        if (done == counts.size() || isOver(from)) {
            return;
        }
        IGameState kept = state;
        for (Iterator<IMove> moves = legalMoves(from); moves.hasNext(); ) {
            counts.set(done, counts.get(done) + 1);
            IMove move = moves.next();
            if (done + 1 < counts.size()) {
                state = from;
                countMoves(after(move), done + 1, counts);
            }
        }
        state = kept;
    }

    // -- what differs between the seasons' kits ------------------------------------------------------------------------

    private static IGamePlugin newestPlugin() {
        IGamePlugin newest = null;
        for (Iterator<? extends IGamePlugin> all = IGamePlugin.Companion.loadPlugins(); all.hasNext(); ) {
            IGamePlugin next = all.next();
            newest = newest == null || next.getId().compareTo(newest.getId()) > 0 ? next : newest;
        }
        return newest;
    }

    private static XStream wireFormat() throws Exception {
        for (String name : List.of("currentPlugin", "loadPluginXStream")) {
            try {
                Object companion = XStreamProvider.Companion;
                return (XStream) companion.getClass().getMethod(name).invoke(companion);
            } catch (NoSuchMethodException older) {
                continue;
            }
        }
        throw new IllegalStateException("this release makes its XStream in an unknown way");
    }

    private static AbstractGame game(IGameInstance game) {
        return (AbstractGame) game;
    }

    /** The result if the game ends here. Until 2023, the room put it together. */
    private RoomMessage result(AbstractGame game) throws Exception {
        if (property(game, "getResult") instanceof RoomMessage result) {
            return result;
        }
        for (Constructor<?> constructor : Class.forName("sc.shared.GameResult").getConstructors()) {
            if (constructor.getParameterCount() == 3) {
                Object scores = property(game, "generateScoreMap");
                return (RoomMessage) constructor.newInstance(plugin.getScoreDefinition(), scores, property(game, "getWinner"));
            }
        }
        throw new IllegalStateException("this release makes its results in an unknown way");
    }

    /** The state after a move, or the exception with which the release refuses it. */
    private IGameState after(IMove move) throws Exception {
        AbstractGame game = game(plugin.createGameFromState(copied(state)));
        game.onRoundBasedAction(move);
        return game.getCurrentState();
    }

    /** A copy like the original: `clone` of some seasons draws the team that began from the team on turn. */
    private static IGameState copied(IGameState state) throws Exception {
        IGameState copy = state.clone();
        for (Class<?> type = state.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                boolean isPlain = field.getType().isPrimitive() || field.getType().isEnum();
                if (isPlain && !Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    field.set(copy, field.get(state));
                }
            }
        }
        return copy;
    }

    private static boolean isOver(IGameState state) throws Exception {
        return (Boolean) property(state, "isOver");
    }

    @SuppressWarnings("unchecked")
    private static Iterator<IMove> legalMoves(IGameState state) throws Exception {
        for (String name : List.of("moveIterator", "getPossibleMoves")) {
            Object moves = property(state, name);
            if (moves != null) {
                return moves instanceof Collection<?> list ? ((Collection<IMove>) list).iterator() : (Iterator<IMove>) moves;
            }
        }
        throw new IllegalStateException("this release lists its moves in an unknown way");
    }

    private static List<Object> points(IGameState state) throws Exception {
        List<Object> points = new ArrayList<>();
        for (Team team : Team.values()) {
            points.add(points(state, team, "getPointsForTeam"));
        }
        return points;
    }

    /** One number in 2022, several since 2023; null if the season has no such method. */
    private static List<Integer> points(IGameState state, Team team, String name) throws Exception {
        List<Integer> parts = null;
        for (Method method : state.getClass().getMethods()) {
            if (method.getName().equals(name) && !method.isBridge()) {
                parts = new ArrayList<>();
                Object points = method.invoke(state, team);
                for (int part : points instanceof int[] several ? several : new int[] {(Integer) points}) {
                    parts.add(part);
                }
            }
        }
        return parts;
    }

    /** The value of a method without arguments; null if there is none of that name. */
    private static Object property(Object of, String name) throws Exception {
        try {
            Method method = of.getClass().getMethod(name);
            method.setAccessible(true);
            return method.invoke(of);
        } catch (NoSuchMethodException absent) {
            return null;
        } catch (InvocationTargetException failed) {
            throw failed.getCause() instanceof Exception cause ? cause : failed;
        }
    }

    // -- texts as they are on the wire ---------------------------------------------------------------------------------

    private String packetText(RoomMessage message) throws Exception {
        StringWriter text = new StringWriter();
        try (ObjectOutputStream stream = wire.createObjectOutputStream(text, "protocol")) {
            stream.writeObject(new RoomPacket(ROOM, message));
            stream.flush();
            String all = text.toString();
            return all.substring(all.indexOf("<data"), all.lastIndexOf("</room>")).stripTrailing();
        }
    }

    private String stateText(IGameState of) throws Exception {
        String packet = packetText(new MementoMessage(of, null));
        return packet.substring(packet.indexOf("<state"), packet.lastIndexOf("</data>")).stripTrailing();
    }

    private RoomMessage read(String data) {
        return ((RoomPacket) wire.fromXML("<room roomId=\"" + ROOM + "\">" + data + "</room>")).getData();
    }

    private String moveText(IMove move) {
        StringWriter text = new StringWriter();
        wire.marshal(new RoomPacket(ROOM, (RoomMessage) move), new CompactWriter(text));
        String all = text.toString();
        return all.substring(all.indexOf("<data"), all.lastIndexOf("</room>"));
    }
}
