import com.thoughtworks.xstream.XStream;
import java.util.List;
import sc.api.plugins.IGamePlugin;
final class Forms {
    Forms(XStream wire) {}
    List<Object> all(IGamePlugin plugin, String room) { return List.of(); }
}
