// Says what your program thinks about its next move, for the pages of spielleiter (docs/thinking.md).
#pragma once
#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

inline std::string json(double value) {
    std::ostringstream out;
    out << std::setprecision(12) << value;
    return std::isfinite(value) ? out.str() : "null";
}

inline std::string json(const std::string& text) {
    std::string quoted = "\"";
    for (char each : text) quoted += each == '"' || each == '\\' ? std::string("\\") + each : std::string(1, each >= 0 && each < ' ' ? ' ' : each);
    return quoted + '"';
}

// Each cell is {x, y, weight}; moves have a name and a value.
inline void think(int turn, double value, const std::string& text, const std::vector<std::array<double, 3>>& cells = {}, const std::map<std::string, double>& moves = {}) {
    std::string line = "{\"thinking\": 1, \"turn\": " + json(turn) + ", \"value\": " + json(value) + ", \"text\": " + json(text) + ", \"cells\": [";
    for (const auto& [x, y, weight] : cells) line += (line.back() == '[' ? "[" : ", [") + json(x) + ", " + json(y) + ", " + json(weight) + "]";
    line += "], \"moves\": [";
    for (const auto& [name, worth] : moves) line += std::string(line.back() == '[' ? "" : ", ") + "{\"text\": " + json(name) + ", \"value\": " + json(worth) + "}";
    std::cerr << line + "]}\n" << std::flush;
}
