import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import java.util.Scanner;
import sun.misc.Unsafe;

/**
 * Replaces the source of randomness of Kotlin and of Collections.shuffle by one with a seed, so that a release draws the
 * same start of a game again; no source of the release is changed for it.
 *
 * <p>As a program it starts another one: {@code Chance MAIN_CLASS ARGUMENTS…}. Each number that it reads is the seed of
 * what is drawn next; it answers with a line as soon as this is so.
 */
public final class Chance {
    private static final Random SOURCE = new Random();

    private Chance() {}

    public static void main(String[] arguments) throws Exception {
        Thread reader = new Thread(Chance::readSeeds);
        reader.setDaemon(true);
        reader.start();
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }

    private static void readSeeds() {
        Scanner seeds = new Scanner(System.in);
        while (seeds.hasNextLong()) {
            try {
                seed(seeds.nextLong());
                System.out.println("seeded");
            } catch (Exception problem) {
                System.out.println("not seeded: " + problem);
            }
        }
    }

    /** From now on everything that is drawn follows from the seed. */
    static void seed(long seed) throws Exception {
        SOURCE.setSeed(seed);
        put(kotlin.random.Random.class.getDeclaredField("defaultRandom"), new OfKotlin());
        put(Collections.class.getDeclaredField("r"), SOURCE);
    }

    /** Sets a field even if it is private, static and final. */
    @SuppressWarnings("deprecation")
    private static void put(Field field, Object value) throws Exception {
        Field only = Unsafe.class.getDeclaredField("theUnsafe");
        only.setAccessible(true);
        Unsafe unsafe = (Unsafe) only.get(null);
        Class.forName(field.getDeclaringClass().getName());
        unsafe.putObjectVolatile(unsafe.staticFieldBase(field), unsafe.staticFieldOffset(field), value);
    }

    private static final class OfKotlin extends kotlin.random.Random {
        @Override
        public int nextBits(int bits) {
            return bits == 0 ? 0 : SOURCE.nextInt() >>> (32 - bits);
        }
    }
}
