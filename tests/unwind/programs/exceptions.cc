// SPDX-License-Identifier: MIT
// C++: destructors, exceptions thrown through many frames, the standard library.
#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static volatile long sink;

struct Guard {
    int value;
    ~Guard() { sink = sink + value; }
};

__attribute__((noinline)) static int deep(int n, int bad)
{
    Guard guard{n};

    if (n == 0) {
        if (bad)
            throw std::runtime_error("number " + std::to_string(bad));
        return 1;
    }
    return deep(n - 1, bad) + 1;
}

int main()
{
    std::map<std::string, int> seen;

    for (int i = 0; i < 60000; i++) {
        try {
            sink = sink + deep(i % 30, i % 3 == 0 ? i : 0);
        } catch (const std::exception &e) {
            seen[e.what()]++;
        }
    }
    std::vector<std::string> names;
    for (const auto &entry : seen)
        names.push_back(entry.first);
    for (int i = 0; i < 10; i++)
        std::sort(names.begin(), names.end(), [i](const std::string &a, const std::string &b) {
            return i % 2 ? a > b : a < b;
        });
    std::printf("%zu %ld\n", names.size(), (long)sink);
}
