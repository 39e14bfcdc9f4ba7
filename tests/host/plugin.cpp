// One plugin for the host's tests, without pluginkit/entry.h: y0 = x0 * factor of shape [2n + 1, ceil(c / 2)] filled
// with the sum of x0, y1 = x0. Each copy of the library does one thing wrong, which its file's name says: NAME-....so
// (see test_faults.py).
#include "NvInferRuntime.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

using namespace nvinfer1;

// clang-format off: it would indent each line further than the one before
#define FAULTS(X) \
    X(none) X(name_null) X(fields_null) X(field_name_null) X(field_twice) X(field_type) X(create_null) \
    X(not_dynamic) X(other_layout) X(type_other) X(type_later) X(type_clone) X(namespace_lost) X(namespace_kept) X(serialize_padding) X(outputs_zero) X(outputs_change) \
    X(type_bool) \
    X(type_unstable) X(dims_nine) X(dims_null) X(dims_foreign) X(dims_stale) X(expr_foreign) X(expr_kept) \
    X(divide_zero) X(not_constant) X(size_tensor) X(dims_negative) X(dims_zero_div) X(format_none) X(format_later) \
    X(format_unstable) X(dims_static) X(init_fails) X(workspace_shrinks) X(serialize_long) X(serialize_short) X(serialize_size) \
    X(clone_null) X(clone_other) X(clone_namespace) X(deserialize_null) X(deserialize_other) X(enqueue_fails) \
    X(unwritten) X(unwritten_int8) X(beyond) X(before) X(modified) X(workspace_beyond) X(workspace_run) \
    X(creators_none) X(creators_null) X(keeps_field) X(crash_configure) X(abort_clone) X(throw_enqueue) \
    X(exit_initialize) X(hang_serialize) X(crash_load) X(kind_unknown) X(name_latin) X(name_accented) X(name_long) X(creators_change) X(unresolved) \
    X(unresolved_called) X(serialize_grows) X(ends_for_good) X(creator_namespace) X(create_namespace) \
    X(restore_namespace) X(type_untaken) X(fields_grow) X(name_changes) X(name_nvidia) X(hang_load) X(attach_null) X(attach_clone) \
    X(clone_shares) X(fields_gone) X(value_crashes) X(text_exact) X(reads_desc) X(reads_in_out) X(reads_data) X(reads_name) X(reads_fields) X(reads_pointers) X(reads_exprs) X(reads_types) X(writes_data) \
    X(asked_kept) X(format_aborts) X(format_sticks) X(candidate_kept) X(workspace_late)
// clang-format on

enum class Fault
{
#define ENUM(name) name,
    FAULTS(ENUM)
#undef ENUM
};

Fault chosen()
{
    Dl_info where{};
    dladdr(reinterpret_cast<void*>(&chosen), &where);
    std::string file{where.dli_fname};
    file.erase(0, file.rfind('/') + 1);
    file.erase(file.find('-'));
#define NAMED(name)                                                                                                    \
    if (file == #name)                                                                                                 \
    {                                                                                                                  \
        return Fault::name;                                                                                            \
    }
    FAULTS(NAMED)
#undef NAMED
    std::abort();
}

Fault const kFAULT = chosen();

bool is(Fault fault)
{
    return kFAULT == fault;
}

#if PLUGINKIT_TRT_LAYOUT == 8
#define GET_CREATORS getPluginCreators
#else
#define GET_CREATORS getCreators
#endif

namespace
{

ILoggerFinder* gFinder = nullptr;
IDimensionExpr const* gStale = nullptr;
std::int64_t gConstant = 0;
std::int64_t volatile gRead = 0;
bool gEnded = false; // an original has been destroyed

class Plugin final : public IPluginV2DynamicExt
{
public:
    explicit Plugin(float const* factor) : mFactorData{factor}, mFactor{*factor} {}

    //! Writes what lies between the members: a clone has something else there.
    void fillPadding()
    {
        std::memset(reinterpret_cast<char*>(&mPadded) + sizeof(float), 0x77, sizeof(double) - sizeof(float));
    }

    std::int32_t getTensorRTVersion() const noexcept override
    {
        std::int32_t const good = IPluginV2DynamicExt::getTensorRTVersion();
        return is(Fault::not_dynamic)    ? (good & 0xFFFFFF) | (9 << 24)
               : is(Fault::other_layout) ? (3 << 24) | (PLUGINKIT_TRT_LAYOUT == 11 ? 101600 : 110100)
                                         : good;
    }
    char const* getPluginType() const noexcept override
    {
        return is(Fault::type_other) || (is(Fault::type_later) && mConfigured) ||
                       (is(Fault::type_clone) && mOfConfigured)
                   ? "Other"
                   : "Probe";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    std::int32_t getNbOutputs() const noexcept override
    {
        return is(Fault::outputs_zero) ? 0 : is(Fault::outputs_change) && mConfigured ? 1 : 2;
    }
    void attachToContext(cudnnContext* cudnn, cublasContext*, IGpuAllocator*) noexcept override
    {
        if ((is(Fault::attach_null) && cudnn == nullptr) || (is(Fault::attach_clone) && !mInitialized))
        {
            std::abort();
        }
    }
    std::int32_t initialize() noexcept override
    {
        mInitialized = mReady = true;
        if (is(Fault::exit_initialize))
        {
            _exit(3);
        }
        return is(Fault::init_fails) || mEnded ? 7 : 0;
    }
    void terminate() noexcept override
    {
        // Not a fault: no header says that anything may follow but destroy.
        mEnded = is(Fault::ends_for_good);
        mFactor = mEnded ? -1.0F : mFactor;
    }
    std::size_t getSerializationSize() const noexcept override
    {
        static int turn = 0;
        bool const five = is(Fault::serialize_short) || (is(Fault::serialize_grows) && turn++ % 2 == 0);
        if (is(Fault::serialize_padding))
        {
            return sizeof(mPadded);
        }
        return is(Fault::serialize_size) ? std::numeric_limits<std::size_t>::max() : sizeof(float) + (five ? 1 : 0);
    }
    void serialize(void* buffer) const noexcept override
    {
        while (is(Fault::hang_serialize))
        {
            usleep(1000);
        }
        float factor = is(Fault::keeps_field) ? *mFactorData : mFactor + (mIsClone && gEnded ? 1.0F : 0.0F);
        bool const other =
            (is(Fault::candidate_kept) && mInt8) || (is(Fault::asked_kept) && mAsked != DataType::kFLOAT);
        factor += mConfigured && other ? 1.0F : 0.0F;
        if (is(Fault::serialize_padding))
        {
            std::memcpy(buffer, &mPadded, sizeof(mPadded));
        }
        std::memcpy(buffer, &factor, sizeof(float));
        if (is(Fault::serialize_long))
        {
            static_cast<char*>(buffer)[4] = 1;
        }
    }
    void destroy() noexcept override
    {
        if (is(Fault::expr_kept) && gStale != nullptr)
        {
            gStale->isConstant();
        }
        gEnded = is(Fault::clone_shares) && !mIsClone;
        delete this;
    }
    IPluginV2DynamicExt* clone() const noexcept override
    {
        if (is(Fault::abort_clone))
        {
            std::abort();
        }
        if (is(Fault::clone_null))
        {
            return nullptr;
        }
        float const other = mFactor + 1.0F;
        auto* copy = new Plugin(is(Fault::clone_other) ? &other : &mFactor);
        copy->mFactorData = mFactorData;
        copy->mIsClone = true;
        copy->mOfConfigured = mConfigured;
        copy->mAsked = mAsked;
        copy->mReady = mReady;
        copy->mNamespace = is(Fault::clone_namespace) ? "lost" : mNamespace;
        return copy;
    }
    void setPluginNamespace(char const* value) noexcept override
    {
        mNamespace = is(Fault::namespace_lost) ? "fixed" : value;
        mNamespaceGiven = value;
    }
    char const* getPluginNamespace() const noexcept override
    {
        // What the creator gave is the creator's, who may change it.
        bool const same = mNamespaceGiven != nullptr && mNamespace == mNamespaceGiven;
        return is(Fault::namespace_kept) && same ? mNamespaceGiven : mNamespace.c_str();
    }
    DataType getOutputDataType(std::int32_t, DataType const* types, std::int32_t) const noexcept override
    {
        static int calls = 0;
        gRead = gRead + (is(Fault::reads_types) ? static_cast<int>(types[1]) : 0);
        return is(Fault::type_bool)                           ? DataType::kBOOL
               : is(Fault::type_unstable) && ++calls % 2 == 0 ? DataType::kINT32
               : is(Fault::type_untaken)                      ? DataType::kHALF
                                                              : types[0];
    }
    DimsExprs getOutputDimensions(std::int32_t index, DimsExprs const* inputs, std::int32_t,
                                  IExprBuilder& builder) noexcept override
    {
        DimsExprs dims = inputs[0];
        gRead = gRead + (is(Fault::reads_exprs) ? inputs[1].nbDims : 0);
        if (index == 1 && !is(Fault::dims_stale) && !is(Fault::expr_foreign))
        {
            return dims;
        }
        auto const op = [&builder](DimensionOperation what, IDimensionExpr const* a, IDimensionExpr const* b)
        { return builder.operation(what, *a, *b); };
        auto const* const n = inputs[0].d[0];
        auto const* const two = builder.constant(2);
        dims.d[0] = op(DimensionOperation::kSUM, op(DimensionOperation::kPROD, n, two), builder.constant(1));
        dims.d[1] = op(DimensionOperation::kCEIL_DIV, inputs[0].d[1], two);
        switch (kFAULT)
        {
        case Fault::dims_nine:
            dims.nbDims = 9;
            break;
        case Fault::dims_null:
            dims.d[1] = nullptr;
            break;
        case Fault::dims_foreign:
            dims.d[1] = reinterpret_cast<IDimensionExpr const*>(&gFinder);
            break;
        case Fault::dims_stale:
        case Fault::expr_foreign:
            if (gStale != nullptr)
            {
                dims.d[1] = is(Fault::dims_stale) ? gStale : op(DimensionOperation::kSUM, n, gStale);
            }
            gStale = n;
            break;
        case Fault::expr_kept:
            gStale = n;
            break;
        case Fault::divide_zero:
            dims.d[1] = op(DimensionOperation::kFLOOR_DIV, n, builder.constant(0));
            break;
        case Fault::not_constant:
            gConstant = n->getConstantValue();
            break;
        case Fault::dims_static:
            dims.d[1] = n->isConstant() ? builder.constant(1) : dims.d[1];
            break;
        case Fault::size_tensor:
#if PLUGINKIT_TRT_LAYOUT != 8
            dims.d[1] = builder.declareSizeTensor(0, *n, *n);
#endif
            break;
        case Fault::dims_negative:
            dims.d[1] = op(DimensionOperation::kSUB, n, builder.constant(100));
            break;
        case Fault::dims_zero_div:
            dims.d[1] = op(DimensionOperation::kFLOOR_DIV, n, op(DimensionOperation::kSUB, n, n));
            break;
        default:
            break;
        }
        return dims;
    }
    bool supportsFormatCombination(std::int32_t pos, PluginTensorDesc const* inOut, std::int32_t nbInputs,
                                   std::int32_t) noexcept override
    {
        static int calls = 0;
        mAsked = inOut[pos].type;
        mStuck = mStuck || inOut[pos].type == DataType::kINT32;
        if (is(Fault::format_aborts) && pos == nbInputs && inOut[0].type != DataType::kFLOAT &&
            inOut[0].type != DataType::kINT8)
        {
            std::abort(); // never asked for output 0 where input 0 was refused, it thinks
        }
        if (is(Fault::format_sticks) && mStuck)
        {
            return false;
        }
        gRead = gRead + (is(Fault::reads_in_out) ? static_cast<int>(inOut[3].type) : 0);
        if (is(Fault::format_none) && pos == nbInputs)
        {
            return false;
        }
        if (is(Fault::format_later) && pos == 0)
        {
            return inOut[1].type == inOut[0].type;
        }
        if (is(Fault::format_unstable) && pos == 0)
        {
            return ++calls != 3;
        }
        bool const known = inOut[pos].type == DataType::kFLOAT || inOut[pos].type == DataType::kINT8;
        return inOut[pos].format == TensorFormat::kLINEAR && known && inOut[pos].type == inOut[0].type;
    }
    void configurePlugin(DynamicPluginTensorDesc const* ins, std::int32_t, DynamicPluginTensorDesc const*,
                         std::int32_t) noexcept override
    {
        mConfigured = true;
        mInt8 = mInt8 || ins[0].desc.type == DataType::kINT8;
        if (is(Fault::crash_configure))
        {
            *static_cast<int volatile*>(nullptr) = 1;
        }
    }
    std::size_t getWorkspaceSize(PluginTensorDesc const* in, std::int32_t, PluginTensorDesc const*,
                                 std::int32_t) const noexcept override
    {
        auto const n = static_cast<std::size_t>(in[0].dims.d[0]);
        return is(Fault::workspace_shrinks) ? 64 - n
               : is(Fault::workspace_late)  ? (mReady ? sizeof(float) * n : 0)
               : is(Fault::workspace_run)   ? (n == 3 ? 1000 : 10)
                                            : sizeof(float) * n;
    }
    std::int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
                         void* const* outputs, void* workspace, cudaStream_t) noexcept override
    {
        gRead = gRead + (is(Fault::reads_desc)       ? static_cast<int>(in[1].type)
                         : is(Fault::reads_pointers) ? reinterpret_cast<std::intptr_t>(outputs[2])
                                                     : 0);
        if (in[0].type == DataType::kINT8)
        {
            return run<std::int8_t>(in, out, inputs, outputs, workspace);
        }
        return run<float>(in, out, inputs, outputs, workspace);
    }

private:
    template <class T>
    std::int32_t run(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
                     void* const* outputs, void* workspace) const
    {
        auto const size = [](Dims const& dims)
        {
            std::int64_t product = 1;
            for (std::int32_t i = 0; i < dims.nbDims; ++i)
            {
                product *= dims.d[i];
            }
            return product;
        };
        auto const* x = static_cast<T const*>(inputs[0]);
        auto* y0 = static_cast<T*>(outputs[0]);
        auto* y1 = static_cast<T*>(outputs[1]);
        auto* sums = static_cast<char*>(workspace);
        T sum = 0;
        for (std::int64_t i = 0; i < size(in[0].dims); ++i)
        {
            sum = static_cast<T>(sum + x[i]);
            bool const skipped = (is(Fault::unwritten) || is(Fault::unwritten_int8)) && i == 2;
            y1[i] = skipped ? y1[i] : x[i];
        }
        std::memcpy(sums, &sum, sizeof(T));
        for (std::int64_t i = 0; i < size(out[0].dims); ++i)
        {
            y0[i] = static_cast<T>(static_cast<float>(sum) * mFactor);
        }
        T const bad = 1;
        switch (kFAULT)
        {
        case Fault::enqueue_fails:
            return 1;
        case Fault::throw_enqueue:
            throw 1;
        case Fault::beyond:
            std::memcpy(y0 + size(out[0].dims), &bad, sizeof(T));
            break;
        case Fault::before:
            std::memcpy(y0 - 1, &bad, sizeof(T));
            break;
        case Fault::modified:
            const_cast<T*>(x)[1] = static_cast<T>(x[1] + 1);
            break;
        case Fault::workspace_beyond:
            sums[sizeof(float) * static_cast<std::size_t>(in[0].dims.d[0])] = 0;
            break;
        default:
            break;
        }
        return 0;
    }

    //! Nothing sets what is between its members.
    struct Padded
    {
        float factor;
        double other;
    };

    float const* mFactorData;
    float mFactor;
    Padded mPadded{mFactor, 1.0};
    std::string mNamespace;
    char const* mNamespaceGiven{nullptr};
    DataType mAsked{DataType::kFLOAT};
    bool mStuck{false};
    bool mReady{false};
    bool mInt8{false};
    bool mConfigured{false};
    bool mEnded{false};
    bool mInitialized{false};
    bool mIsClone{false};
    bool mOfConfigured{false};
};

class Creator final : public IPluginCreator
{
public:
#if PLUGINKIT_TRT_LAYOUT != 8
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return is(Fault::kind_unknown) ? InterfaceInfo{"PLUGIN CREATOR_V9", 1, 0} : IPluginCreator::getInterfaceInfo();
    }
#endif
    char const* getPluginName() const noexcept override
    {
        if (is(Fault::name_changes))
        {
            mName += "x";
        }
        return is(Fault::name_null) ? nullptr : is(Fault::name_nvidia) ? "NMSDynamic_TRT" : mName.c_str();
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        bool const later = mAsked++ > 1;
        mCollection.nbFields += is(Fault::fields_grow) && mCollection.nbFields == 1 && later ? 1 : 0;
        return is(Fault::fields_null) || (is(Fault::fields_gone) && later) ? nullptr : &mCollection;
    }
    IPluginV2* createPlugin(char const*, PluginFieldCollection const* fields) noexcept override
    {
        if (gFinder != nullptr && gFinder->findLogger() != nullptr)
        {
            gFinder->findLogger()->log(ILogger::Severity::kINFO, "createPlugin \xd4"); // no UTF-8
        }
        static float const kTWO{2.0F};
        auto const* const first = fields->fields;
        gRead = gRead + (is(Fault::reads_data)     ? static_cast<char const*>(first->data)[4]
                         : is(Fault::reads_name)   ? first->name[sizeof "factor"]
                         : is(Fault::reads_fields) ? first[1].length
                                                   : 0);
        if (is(Fault::writes_data))
        {
            static_cast<char*>(const_cast<void*>(first->data))[4] = 1;
        }
        if (is(Fault::value_crashes) && fields->nbFields == 0)
        {
            return new Plugin(&kTWO);
        }
        bool const given = fields->nbFields == 1 && std::strcmp(fields->fields[0].name, "factor") == 0;
        if (is(Fault::value_crashes) && given && *static_cast<float const*>(fields->fields[0].data) == 1.0F)
        {
            std::abort();
        }
        if (is(Fault::text_exact) && given)
        {
            std::string const text{static_cast<char const*>(fields->fields[0].data),
                                   static_cast<std::size_t>(fields->fields[0].length)};
            return text == "two" ? new Plugin(&kTWO) : nullptr;
        }
        if (is(Fault::create_null) || !given)
        {
            return nullptr;
        }
        auto* const plugin = new Plugin(static_cast<float const*>(fields->fields[0].data));
        plugin->setPluginNamespace(is(Fault::create_namespace) ? "" : mNamespace.c_str());
        plugin->fillPadding();
        return plugin;
    }
    IPluginV2* deserializePlugin(char const*, void const* data, std::size_t size) noexcept override
    {
        float factor = 0;
        if (is(Fault::deserialize_null) || size < sizeof factor)
        {
            return nullptr;
        }
        std::memcpy(&factor, data, sizeof factor);
        factor += is(Fault::deserialize_other) ? 1.0F : 0.0F;
        auto* const plugin = new Plugin(&factor);
        plugin->setPluginNamespace(is(Fault::restore_namespace) ? "" : mNamespace.c_str());
        return plugin;
    }
    void setPluginNamespace(char const* value) noexcept override
    {
        mNamespace = is(Fault::creator_namespace) ? "tests" : value;
    }
    char const* getPluginNamespace() const noexcept override
    {
        static std::string const kLong(1024, 'n');
        if (is(Fault::name_long))
        {
            return kLong.c_str();
        }
        return is(Fault::name_latin) ? "acm\xe9" : is(Fault::name_accented) ? "acm\xc3\xa9" : mNamespace.c_str();
    }

private:
    std::string mNamespace{is(Fault::name_nvidia) ? "" : "tests"};
    mutable std::string mName{"Probe"};
    int mAsked{0};
    PluginField mFields[2]{{is(Fault::field_name_null) ? nullptr : "factor", nullptr,
                            is(Fault::field_type) ? static_cast<PluginFieldType>(99) : PluginFieldType::kFLOAT32, 1},
                           {"factor", nullptr, PluginFieldType::kFLOAT32, 1}};
    PluginFieldCollection mCollection{is(Fault::field_twice) ? 2 : 1, mFields};
};

} // namespace

#ifdef WITH_ENTRY

#include <pluginkit/entry.h>

PLUGINKIT_PLUGINS(Probe, Creator)

#else

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" void nobodyHasThis();

EXPORT void setLoggerFinder(ILoggerFinder* finder)
{
    if (is(Fault::crash_load))
    {
        std::abort();
    }
    while (is(Fault::hang_load))
    {
        usleep(1000);
    }
    gFinder = finder;
}

EXPORT pluginkit::detail::AnyCreator* const* GET_CREATORS(std::int32_t& count)
{
    static Creator creator;
    static pluginkit::detail::AnyCreator* const list[]{is(Fault::creators_null) ? nullptr : &creator, &creator};
    static int turn = 0;
    count = is(Fault::creators_none) ? 0 : is(Fault::creators_change) && turn++ > 0 ? 2 : 1;
#ifdef UNRESOLVED
    if (is(Fault::unresolved_called) || count > 1)
    {
        nobodyHasThis();
    }
#endif
    return list;
}

#endif // WITH_ENTRY
