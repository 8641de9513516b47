// player.py in C++.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using Cells = std::vector<std::pair<int, int>>;
struct Orientation { std::string shape, rotation, flipped; Cells cells; };
struct Move { const Orientation* as; int x, y; };

const char* COLORS[] = {"BLUE", "YELLOW", "RED", "GREEN"};
const std::vector<std::pair<std::string, std::string>> SHAPES = {
    {"MONO", "#"}, {"DOMINO", "##"}, {"TRIO_L", "#./##"}, {"TRIO_I", "#/#/#"}, {"TETRO_O", "##/##"},
    {"TETRO_T", "###/.#."}, {"TETRO_I", "#/#/#/#"}, {"TETRO_L", "#./#./##"}, {"TETRO_Z", "##./.##"},
    {"PENTO_L", "#./#./#./##"}, {"PENTO_T", "###/.#./.#."}, {"PENTO_V", "#../#../###"}, {"PENTO_S", ".###/##.."},
    {"PENTO_Z", "##./.#./.##"}, {"PENTO_I", "#/#/#/#/#"}, {"PENTO_P", "##/##/#."}, {"PENTO_W", "#../##./.##"},
    {"PENTO_U", "#.#/###"}, {"PENTO_R", "..#/###/.#."}, {"PENTO_X", ".#./###/.#."}, {"PENTO_Y", ".#/##/.#/.#"}};

std::vector<Orientation> orientations() {
    std::vector<Orientation> found;
    const char* rotations[] = {"NONE", "RIGHT", "MIRROR", "LEFT"};
    for (auto& [shape, drawing] : SHAPES) {
        std::set<Cells> known;
        for (int rotation = 0; rotation < 4; rotation++)
            for (int flip = 0; flip < 2; flip++) {
                Cells cells;
                int x = 0, y = 0, left = 99, top = 99;
                for (char each : drawing) {
                    if (each == '#') {
                        int u = x, v = y;
                        for (int i = 0; i < rotation; i++) std::swap(u, v), u = -u;
                        cells.emplace_back(flip ? -u : u, v);
                    }
                    x++;
                    if (each == '/') x = 0, y++;
                }
                for (auto& [u, v] : cells) left = std::min(left, u), top = std::min(top, v);
                for (auto& [u, v] : cells) u -= left, v -= top;
                std::sort(cells.begin(), cells.end());
                if (known.insert(cells).second) found.push_back({shape, rotations[rotation], flip ? "true" : "false", cells});
            }
    }
    return found;
}

const std::vector<Orientation> ORIENTATIONS = orientations();
std::mt19937 chance(std::random_device{}());
int board[22][22];  // 0: free; 1 to 4: the colour; -1: outside

int& at(int x, int y) { return board[x + 1][y + 1]; }
bool has_edge(int x, int y, int own) { return at(x - 1, y) == own || at(x + 1, y) == own || at(x, y - 1) == own || at(x, y + 1) == own; }
bool has_corner(int x, int y, int own) {
    auto is = [own](int u, int v) { return u >= 0 && v >= 0 && u < 20 && v < 20 && at(u, v) == own; };
    return is(x - 1, y - 1) || is(x + 1, y - 1) || is(x - 1, y + 1) || is(x + 1, y + 1);
}
bool is_inside(int x, int y) { return x >= 0 && y >= 0 && x < 20 && y < 20; }
bool is_allowed(int x, int y, int own) { return is_inside(x, y) && at(x, y) == 0 && !has_edge(x, y, own); }

double value(const Move& move, int own) {
    double sum = std::uniform_real_distribution<>(0, 1)(chance);
    for (auto [u, v] : move.as->cells)
        for (int rival = 1; rival <= 4; rival++)
            if (rival % 2 != own % 2 && has_corner(move.x + u, move.y + v, rival) && !has_edge(move.x + u, move.y + v, rival)) {
                sum++;
                break;
            }
    std::set<std::pair<int, int>> gained;
    for (auto [u, v] : move.as->cells) at(move.x + u, move.y + v) = own;
    for (auto [u, v] : move.as->cells)
        for (int i : {-1, 1})
            for (int j : {-1, 1})
                if (is_allowed(move.x + u + i, move.y + v + j, own)) gained.insert({move.x + u + i, move.y + v + j});
    for (auto [u, v] : move.as->cells) at(move.x + u, move.y + v) = 0;
    return sum + gained.size();
}

std::string attribute(const std::string& text, const std::string& name, size_t from = 0) {
    size_t begin = text.find(" " + name + "=\"", from) + name.size() + 3;
    return text.substr(begin, text.find('"', begin) - begin);
}

std::string choose(const std::string& state, double level) {
    int turn = std::stoi(attribute(state, "turn"));
    std::string color = COLORS[turn % 4];
    int own = turn % 4 + 1;
    for (auto& column : board) std::fill(std::begin(column), std::end(column), -1);
    for (int x = 0; x < 20; x++)
        for (int y = 0; y < 20; y++) at(x, y) = 0;
    for (size_t i = state.find("<field "); i != std::string::npos; i = state.find("<field ", i + 1)) {
        std::string content = attribute(state, "content", i);
        for (int c = 0; c < 4; c++)
            if (content == COLORS[c]) at(std::stoi(attribute(state, "x", i)), std::stoi(attribute(state, "y", i))) = c + 1;
    }
    std::set<std::string> shapes;
    if (turn < 4) {
        shapes.insert(attribute(state, "startPiece"));
    } else {
        std::string name = color + "Shapes>";
        for (size_t i = 0; i < color.size(); i++) name[i] = std::tolower(name[i]);
        size_t begin = state.find("<" + name), end = state.find("</" + name, begin);
        for (size_t i = state.find("<shape>", begin); i < end; i = state.find("<shape>", i + 1))
            shapes.insert(state.substr(i + 7, state.find('<', i + 7) - i - 7));
    }
    Cells anchors;
    for (int x = 0; x < 20; x++)
        for (int y = 0; y < 20; y++)
            if (is_allowed(x, y, own) && (turn < 4 ? x == 0 || y == 0 || x == 19 || y == 19 : has_corner(x, y, own))) anchors.emplace_back(x, y);
    std::vector<Move> found;
    size_t largest = 0;
    for (auto& as : ORIENTATIONS) {
        if (!shapes.count(as.shape)) continue;
        Cells places;
        for (auto [x, y] : anchors)
            for (auto [u, v] : as.cells) places.emplace_back(x - u, y - v);
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        for (auto [x, y] : places)
            if (std::all_of(as.cells.begin(), as.cells.end(), [&, x = x, y = y](auto c) { return is_allowed(x + c.first, y + c.second, own); })) {
                found.push_back({&as, x, y});
                largest = std::max(largest, as.cells.size());
            }
    }
    if (found.empty()) return "<data class=\"sc.plugin2027.SkipMove\"><color>" + color + "</color></data>";
    Move best = found[chance() % found.size()];
    if (std::uniform_real_distribution<>(0, 1)(chance) < level) {
        double most = -1;
        for (auto& move : found)
            if (move.as->cells.size() == largest)
                if (double worth = value(move, own); worth > most) most = worth, best = move;
    }
    std::ostringstream packet;
    packet << "<data class=\"sc.plugin2027.SetMove\"><piece color=\"" << color << "\" kind=\"" << best.as->shape << "\" rotation=\""
           << best.as->rotation << "\" isFlipped=\"" << best.as->flipped << "\"><position x=\"" << best.x << "\" y=\"" << best.y
           << "\"/></piece></data>";
    return packet.str();
}

int main(int count, char** words) {
    double level = std::atof(words[1]);
    std::map<char, std::string> options;
    for (int i = 2; i + 1 < count; i += 2) options[words[i][std::string(words[i]).find_first_not_of('-')]] = words[i + 1];
    addrinfo hints{}, *found;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(options['h'].c_str(), options['p'].c_str(), &hints, &found) != 0) return 1;
    int server = -1;
    for (; found && server < 0; found = found->ai_next) {
        server = socket(found->ai_family, found->ai_socktype, 0);
        if (connect(server, found->ai_addr, found->ai_addrlen) != 0) close(server), server = -1;
    }
    if (server < 0) return 1;
    auto say = [server](const std::string& text) { return write(server, text.data(), text.size()) == (ssize_t)text.size(); };
    say("<protocol><joinPrepared reservationCode=\"" + options['r'] + "\"/>");
    std::string text;
    char data[65536];
    while (text.find("class=\"result\"") == std::string::npos) {
        ssize_t size = read(server, data, sizeof data);
        if (size <= 0) break;
        text.append(data, size);
        if (text.find("class=\"moveRequest\"") == std::string::npos) continue;
        say("<room roomId=\"" + attribute(text, "roomId") + "\">" + choose(text.substr(text.rfind("<state ")), level) + "</room>");
        text.clear();
    }
}
