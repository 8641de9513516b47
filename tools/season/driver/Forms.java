import com.thoughtworks.xstream.XStream;
import com.thoughtworks.xstream.annotations.XStreamAlias;
import com.thoughtworks.xstream.annotations.XStreamAsAttribute;
import com.thoughtworks.xstream.annotations.XStreamConverter;
import com.thoughtworks.xstream.annotations.XStreamImplicit;
import com.thoughtworks.xstream.annotations.XStreamOmitField;
import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import sc.api.plugins.IMove;

/**
 * The wire form of a release's classes, from their annotations as they are at run time: for each class its name in XML, and
 * its fields in the order in which they are written; further the texts of mistakes and reasons, and the constants.
 */
final class Forms {
    private final XStream wire;

    Forms(XStream wire) {
        this.wire = wire;
    }

    /** {"forms": …, "texts": …, "constants": …}, each by name. */
    Map<String, Object> all() throws Exception {
        Map<String, Object> forms = new TreeMap<>();
        Map<String, Object> texts = new TreeMap<>();
        Map<String, Object> constants = new TreeMap<>();
        for (Class<?> type : releaseClasses()) {
            if (type.isEnum() && message(type.getEnumConstants()) != null) {
                texts.put(type.getSimpleName(), message(type.getEnumConstants()));
            } else if (isWritten(type)) {
                forms.put(type.getName(), form(type));
            }
            if (type.getSimpleName().endsWith("Constants")) {
                constants.put(type.getSimpleName(), constants(type));
            }
        }
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("forms", forms);
        all.put("texts", texts);
        all.put("constants", constants);
        return all;
    }

    /** Whether it has a form of its own: by its annotations, or since it is a move. */
    private static boolean isWritten(Class<?> type) {
        boolean isMove = IMove.class.isAssignableFrom(type) && type != IMove.class;
        boolean hasAttributes = Stream.of(type.getDeclaredFields())
                .anyMatch(field -> field.isAnnotationPresent(XStreamAsAttribute.class));
        return isMove || hasAttributes || type.isAnnotationPresent(XStreamAlias.class);
    }

    private Map<String, Object> form(Class<?> type) throws Exception {
        Map<String, Object> form = new LinkedHashMap<>();
        form.put("name", wire.getMapper().serializedClass(type));
        if (type.isAnnotationPresent(XStreamConverter.class)) {
            form.put("converter", type.getAnnotation(XStreamConverter.class).value().getSimpleName());
        }
        if (type.isEnum()) {
            form.put("values", names(type.getEnumConstants()));
            return form;
        }
        List<Object> attributes = new ArrayList<>();
        List<Object> elements = new ArrayList<>();
        for (Class<?> declaring : withParents(type)) {
            for (Field field : declaring.getDeclaredFields()) {
                int modifiers = field.getModifiers();
                if (Modifier.isStatic(modifiers) || Modifier.isTransient(modifiers)) {
                    continue;
                }
                Map<String, Object> part = part(declaring, field);
                (part.get("as").equals("attribute") ? attributes : elements).add(part);
            }
        }
        attributes.addAll(elements);
        form.put("parts", attributes);
        return form;
    }

    private Map<String, Object> part(Class<?> declaring, Field field) {
        Map<String, Object> part = new LinkedHashMap<>();
        part.put("name", wire.getMapper().serializedMember(declaring, field.getName()));
        part.put("type", typeName(field));
        String as = "element";
        if (field.isAnnotationPresent(XStreamOmitField.class)) {
            as = "not written";
        } else if (field.isAnnotationPresent(XStreamAsAttribute.class)) {
            as = "attribute";
        } else if (field.isAnnotationPresent(XStreamImplicit.class)) {
            as = ("items " + field.getAnnotation(XStreamImplicit.class).itemFieldName()).strip();
        }
        part.put("as", as);
        if (field.isAnnotationPresent(XStreamConverter.class)) {
            part.put("converter", field.getAnnotation(XStreamConverter.class).value().getSimpleName());
        }
        return part;
    }

    /** The generic type without packages. */
    private static String typeName(Field field) {
        return field.getGenericType().getTypeName().replaceAll("[a-z0-9_]+\\.", "").replaceAll("\\? (extends|super) ", "");
    }

    private static List<Class<?>> withParents(Class<?> type) {
        Deque<Class<?>> parents = new ArrayDeque<>();
        for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
            parents.addFirst(each);
        }
        return new ArrayList<>(parents);
    }

    private static List<String> names(Object[] constants) {
        List<String> names = new ArrayList<>();
        for (Object constant : constants) {
            names.add(((Enum<?>) constant).name());
        }
        return names;
    }

    /** The texts of an enumeration of mistakes or of reasons; null if it has none. */
    private static Map<String, Object> message(Object[] constants) throws Exception {
        Map<String, Object> texts = new LinkedHashMap<>();
        for (Object constant : constants) {
            try {
                Method message = ((Enum<?>) constant).getDeclaringClass().getMethod("getMessage");
                texts.put(((Enum<?>) constant).name(), message.invoke(constant));
            } catch (NoSuchMethodException none) {
                return null;
            }
        }
        return texts.isEmpty() ? null : texts;
    }

    private static Map<String, Object> constants(Class<?> type) throws Exception {
        Map<String, Object> constants = new LinkedHashMap<>();
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && (field.getType().isPrimitive() || field.getType() == String.class)) {
                field.setAccessible(true);
                constants.put(field.getName(), String.valueOf(field.get(null)));
            }
        }
        return constants;
    }

    /** The classes of the kit and of the season's plugin, by name. */
    private static Collection<Class<?>> releaseClasses() throws Exception {
        Map<String, Class<?>> classes = new TreeMap<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path root = Path.of(entry);
            if (!Files.isDirectory(root.resolve("sc")) || Files.isDirectory(root.resolve("sc/server"))) {
                continue;
            }
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    String name = root.relativize(file).toString();
                    if (name.endsWith(".class")) {
                        String className = name.substring(0, name.length() - 6).replace(File.separatorChar, '.');
                        Class<?> type = Class.forName(className, false, Forms.class.getClassLoader());
                        classes.put(className, type);
                    }
                }
            }
        }
        return classes.values();
    }
}
