# player.py in awk: reads a position, writes the packet of a move. Call it with -v level=LEVEL -v seed=NUMBER.
BEGIN {
    RS = "<"
    srand(seed)
    split("BLUE YELLOW RED GREEN", colors, " ")
    count = split("MONO # DOMINO ## TRIO_L #./## TRIO_I #/#/# TETRO_O ##/## TETRO_T ###/.#. TETRO_I #/#/#/# " \
        "TETRO_L #./#./## TETRO_Z ##./.## PENTO_L #./#./#./## PENTO_T ###/.#./.#. PENTO_V #../#../### PENTO_S .###/##.. " \
        "PENTO_Z ##./.#./.## PENTO_I #/#/#/#/# PENTO_P ##/##/#. PENTO_W #../##./.## PENTO_U #.#/### PENTO_R ..#/###/.#. " \
        "PENTO_X .#./###/.#. PENTO_Y .#/##/.#/.#", words, " ")
    for (i = 1; i < count; i += 2) drawings[words[i]] = words[i + 1]
    split("NONE RIGHT MIRROR LEFT", rotations, " ")
}

function attribute(name,    rest) {
    rest = $0
    if (!sub(".* " name "=\"", "", rest)) return ""
    sub("\".*", "", rest)
    return rest
}

/^state / {
    delete board
    delete has
    turn = attribute("turn") + 0
    own = colors[turn % 4 + 1]
    prescribed = attribute("startPiece")
}
/^field / { board[attribute("x"), attribute("y")] = attribute("content") }
/^(blue|yellow|red|green)Shapes>/ { section = toupper(substr($0, 1, index($0, "Shapes") - 1)) }
/^shape>/ { if (section == own) has[substr($0, 7)] = 1 }

function is_free(x, y) { return x >= 0 && y >= 0 && x < 20 && y < 20 && !((x, y) in board) }
function is(x, y, color) { return (x, y) in board && board[x, y] == color }
function has_edge(x, y, color) { return is(x - 1, y, color) || is(x + 1, y, color) || is(x, y - 1, color) || is(x, y + 1, color) }
function has_corner(x, y, color) {
    return is(x - 1, y - 1, color) || is(x + 1, y - 1, color) || is(x - 1, y + 1, color) || is(x + 1, y + 1, color)
}

function try_shape(shape,    height, width, rows, size, xs, ys, x, y, r, f, i, j, u, v, left, top, us, vs, key, place, known, a, fits, tried) {
    height = split(drawings[shape], rows, "/")
    width = length(rows[1])
    size = 0
    for (y = 1; y <= height; y++)
        for (x = 1; x <= width; x++)
            if (substr(rows[y], x, 1) == "#") { xs[++size] = x; ys[size] = y }
    if (size < largest && is_best) return
    for (r = 1; r <= 4; r++)
        for (f = 0; f < 2; f++) {
            left = top = 99
            for (i = 1; i <= size; i++) {
                u = xs[i]; v = ys[i]
                for (j = 1; j < r; j++) { x = u; u = -v; v = x }
                if (f) u = -u
                us[i] = u; vs[i] = v
                if (u < left) left = u
                if (v < top) top = v
            }
            # the sum of squares of cells tells orientations of one shape apart
            key = 0
            for (i = 1; i <= size; i++) { us[i] -= left; vs[i] -= top; key += 2 ^ (us[i] + 5 * vs[i]) }
            if (key in known) continue
            known[key] = 1
            for (a = 1; a <= anchors; a++)
                for (i = 1; i <= size; i++) {
                    x = ax[a] - us[i]; y = ay[a] - vs[i]
                    if ((key, x, y) in tried) continue
                    tried[key, x, y] = 1
                    fits = 1
                    for (j = 1; j <= size && fits; j++) fits = (x + us[j], y + vs[j]) in allowed
                    if (fits) consider(shape, r, f, x, y, us, vs, size)
                }
        }
}

function consider(shape, r, f, x, y, us, vs, size,    worth, i, s, t, u, v, mine, gained) {
    worth = rand()
    if (is_best) {
        worth += 1000 * size
        for (i = 1; i <= size; i++) { mine[x + us[i], y + vs[i]] = 1; worth += (x + us[i], y + vs[i]) in rivals }
        for (i = 1; i <= size; i++)
            for (s = -1; s < 2; s += 2)
                for (t = -1; t < 2; t += 2) {
                    u = x + us[i] + s; v = y + vs[i] + t
                    if ((u, v) in allowed && !((u, v) in mine) && !((u, v) in gained) && !((u - 1, v) in mine) &&
                        !((u + 1, v) in mine) && !((u, v - 1) in mine) && !((u, v + 1) in mine)) { gained[u, v] = 1; worth++ }
                }
    }
    if (worth > most) {
        most = worth
        largest = size
        best = "kind=\"" shape "\" rotation=\"" rotations[r] "\" isFlipped=\"" (f ? "true" : "false") "\"><position x=\"" x "\" y=\"" y "\"/>"
    }
}

END {
    for (x = 0; x < 20; x++)
        for (y = 0; y < 20; y++) {
            if (!is_free(x, y)) continue
            for (c = 1; c <= 4; c++)
                if (c % 2 == turn % 2 && has_corner(x, y, colors[c]) && !has_edge(x, y, colors[c])) rivals[x, y] = 1
            if (has_edge(x, y, own)) continue
            allowed[x, y] = 1
            if (turn < 4 ? x % 19 == 0 || y % 19 == 0 : has_corner(x, y, own)) { ax[++anchors] = x; ay[anchors] = y }
        }
    is_best = rand() < level
    for (i = count - 1; i > 0; i -= 2)
        if (turn < 4 ? words[i] == prescribed : words[i] in has) try_shape(words[i])
    if (best == "") printf "<data class=\"sc.plugin2027.SkipMove\"><color>%s</color></data>", own
    else printf "<data class=\"sc.plugin2027.SetMove\"><piece color=\"%s\" %s</piece></data>", own, best
}
