// SPDX-License-Identifier: MIT
// C++: namespaces, templates, lambdas, virtual calls; about three quarters of the time in
// shapes::Grid<double>::relax, one quarter in shapes::Circle::area. shapes [SECONDS]
#include <cstdio>
#include <memory>
#include <vector>

#include "work.h"

namespace shapes {

struct Shape {
    virtual ~Shape() = default;
    virtual uint64_t area(uint64_t x) const = 0;
};

struct Circle : Shape {
    uint64_t area(uint64_t x) const override;
};

__attribute__((noinline)) uint64_t Circle::area(uint64_t x) const
{
    return work_chain(x, 100000);
}

template <typename T> class Grid {
  public:
    __attribute__((noinline)) uint64_t relax(uint64_t x) const
    {
        const auto step = [this](uint64_t y) { return work_chain(y + cells.size(), 100000); };
        return step(step(step(x)));
    }

  private:
    std::vector<T> cells = std::vector<T>(16);
};

} // namespace shapes

int main(int argc, char **argv)
{
    const double end = work_seconds(argc, argv);
    const std::unique_ptr<shapes::Shape> shape = std::make_unique<shapes::Circle>();
    const shapes::Grid<double> grid;
    uint64_t x = 1;

    while (work_cpu_s() < end)
        x = shape->area(grid.relax(x));
    std::printf("%llu\n", static_cast<unsigned long long>(x));
    return 0;
}
