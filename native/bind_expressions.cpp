#include "bind.h"
#include "expressions.h"
#include "nodes.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pluginkit
{

namespace
{

//! For tests and tools: builds expressions without a plugin.
class PyBuilder
{
public:
    std::int32_t symbol()
    {
        return index(mSession.symbol());
    }
    std::int32_t constant(std::int64_t value)
    {
        return index(mSession.builder().constant(value));
    }
    std::optional<std::int32_t> operation(std::int32_t op, std::int32_t left, std::int32_t right)
    {
        auto const* const first = mMade.at(static_cast<std::size_t>(left));
        auto const* const second = mMade.at(static_cast<std::size_t>(right));
        auto const* const made =
            mSession.builder().operation(static_cast<nvinfer1::DimensionOperation>(op), *first, *second);
        return made == nullptr ? std::nullopt : std::optional{index(made)};
    }
    bool isConstant(std::int32_t expr) const
    {
        return mMade.at(static_cast<std::size_t>(expr))->isConstant();
    }
    std::int64_t constantValue(std::int32_t expr) const
    {
        return mMade.at(static_cast<std::size_t>(expr))->getConstantValue();
    }
    PyNodes nodes() const
    {
        return toPython(mSession.nodes());
    }
    std::vector<std::string> faults() const
    {
        return mSession.faults();
    }
    std::vector<std::string> warnings() const
    {
        return mSession.warnings();
    }

private:
    std::int32_t index(nvinfer1::IDimensionExpr const* expr)
    {
        mMade.push_back(expr);
        return static_cast<std::int32_t>(mMade.size()) - 1;
    }

    ExprSession mSession;
    std::vector<nvinfer1::IDimensionExpr const*> mMade;
};

} // namespace

void bindExpressions(py::module_& module)
{
    py::class_<PyBuilder>(module, "ExprBuilder")
        .def(py::init<>())
        .def("symbol", &PyBuilder::symbol)
        .def("constant", &PyBuilder::constant, py::arg("value"))
        .def("operation", &PyBuilder::operation, py::arg("op"), py::arg("left"), py::arg("right"))
        .def("is_constant", &PyBuilder::isConstant, py::arg("expr"))
        .def("constant_value", &PyBuilder::constantValue, py::arg("expr"))
        .def_property_readonly("nodes", &PyBuilder::nodes)
        .def_property_readonly("faults", &PyBuilder::faults)
        .def_property_readonly("warnings", &PyBuilder::warnings);
    module.def(
        "evaluate", [](PyNodes const& nodes, std::vector<std::int64_t> const& symbols)
        { return evaluate(fromPython(nodes, symbols.size()), symbols); }, py::arg("nodes"), py::arg("symbols"));
    module.def(
        "bounds",
        [](PyNodes const& nodes, std::vector<std::pair<std::int64_t, std::int64_t>> const& symbols)
        {
            std::vector<Interval> intervals;
            for (auto const& [low, high] : symbols)
            {
                intervals.push_back({low, high});
            }
            std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> result;
            for (auto const& bound : bounds(fromPython(nodes, symbols.size()), intervals))
            {
                result.push_back(bound ? std::optional{std::pair{bound->low, bound->high}} : std::nullopt);
            }
            return result;
        },
        py::arg("nodes"), py::arg("symbols"));
}

} // namespace pluginkit
