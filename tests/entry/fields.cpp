//! pluginkit/fields.h and pluginkit/serialize.h against what a careless or hostile caller hands over.
#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>

#include <NvInfer.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

using namespace nvinfer1;
using pluginkit::FieldReader;
using pluginkit::Reader;
using pluginkit::Writer;

#define CHECK(condition)                                                                                               \
    do                                                                                                                 \
    {                                                                                                                  \
        if (!(condition))                                                                                              \
        {                                                                                                              \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                               \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (false)

namespace
{

void checkFields()
{
    std::array<char, 5> unaligned{};
    float const half{0.5F};
    std::memcpy(unaligned.data() + 1, &half, sizeof half);
    float const nan{std::numeric_limits<float>::quiet_NaN()};
    float const infinity{std::numeric_limits<float>::infinity()};
    int32_t const seven{7};
    std::array<PluginField, 9> const all{
        PluginField{nullptr, &half, PluginFieldType::kFLOAT32, 1},
        PluginField{"alpha", unaligned.data() + 1, PluginFieldType::kFLOAT32, 1},
        PluginField{"k", &seven, PluginFieldType::kINT32, 1},
        PluginField{"no_data", nullptr, PluginFieldType::kFLOAT32, 1},
        PluginField{"empty", &half, PluginFieldType::kFLOAT32, 0},
        PluginField{"two", &half, PluginFieldType::kFLOAT32, 2},
        PluginField{"negative", &half, PluginFieldType::kFLOAT32, -1},
        PluginField{"nan", &nan, PluginFieldType::kFLOAT32, 1},
        PluginField{"infinite", &infinity, PluginFieldType::kFLOAT32, 1},
    };
    PluginFieldCollection const collection{static_cast<int32_t>(all.size()), all.data()};
    FieldReader const fields(&collection);

    float number{2.0F};
    int32_t count{3};
    CHECK(fields.optional("alpha", number) && number == 0.5F);
    CHECK(fields.required("k", count) && count == 7);
    CHECK(fields.find("k") == &all[2] && fields.find("nothing") == nullptr && fields.find("") == nullptr);

    number = 2.0F;
    for (char const* name : {"absent", "no_data", "empty"})
    {
        CHECK(fields.optional(name, number) && number == 2.0F);
        CHECK(!fields.required(name, number) && number == 2.0F);
    }
    for (char const* name : {"two", "negative", "nan", "infinite", "k"}) // the last is of another type
    {
        CHECK(!fields.optional(name, number) && number == 2.0F);
        CHECK(!fields.required(name, number) && number == 2.0F);
    }
    CHECK(!fields.optional("alpha", count) && count == 7);

    PluginFieldCollection const without{3, nullptr};
    PluginFieldCollection const negative{-1, all.data()};
    for (PluginFieldCollection const* nothing :
         {&without, &negative, static_cast<PluginFieldCollection const*>(nullptr)})
    {
        FieldReader const empty(nothing);
        CHECK(empty.optional("alpha", number) && number == 2.0F && !empty.required("alpha", number));
    }
}

void checkSerialize()
{
    constexpr uint32_t version{3};
    constexpr size_t size = pluginkit::serializedSize<float, int8_t, int64_t>();
    static_assert(size == 8 + 4 + 1 + 8);
    // One byte off every alignment, with a guard behind the end.
    std::vector<char> bytes(1 + size + 4, '#');
    char* const at = bytes.data() + 1;
    Writer writer(at, size, version);
    writer.put(1.5F);
    writer.put(int8_t{-3});
    writer.put(int64_t{1} << 40);
    writer.put(int8_t{9}); // there is no room for it
    for (size_t i = 1 + size; i < bytes.size(); ++i)
    {
        CHECK(bytes[i] == '#');
    }

    auto const reads = [](void const* data, size_t length, uint32_t wanted)
    {
        // A copy of exactly that length, so that a sanitizer sees a read beyond it.
        std::vector<char> copy(length);
        if (data != nullptr && length != 0)
        {
            std::memcpy(copy.data(), data, length);
        }
        Reader reader(data == nullptr ? nullptr : copy.data(), length, wanted);
        float a{};
        int8_t b{};
        int64_t c{};
        bool const good = reader.get(a) && reader.get(b) && reader.get(c) && reader.finished();
        return good && a == 1.5F && b == -3 && c == int64_t{1} << 40;
    };
    CHECK(reads(at, size, version));
    CHECK(!reads(at, size, version + 1));
    CHECK(!reads(nullptr, size, version));
    for (size_t length = 0; length < size; ++length)
    {
        CHECK(!reads(at, length, version));
    }
    CHECK(!reads(at, size + 1, version)); // something is left over
    at[0] = '?';
    CHECK(!reads(at, size, version)); // another plugin's bytes

    // After a failure nothing more is read, though there would be room for it.
    std::array<char, pluginkit::serializedSize<int8_t>()> small{};
    Writer(small.data(), small.size(), version).put(int8_t{1});
    Reader reader(small.data(), small.size(), version);
    int64_t large{5};
    int8_t one{};
    CHECK(!reader.get(large) && large == 5 && !reader.get(one) && !reader.finished());

    // A buffer that is too small for the header, and none.
    std::array<char, 4> tiny{'#', '#', '#', '#'};
    Writer(tiny.data(), 0, version).put(int8_t{1});
    Writer(nullptr, 16, version).put(int8_t{1});
    CHECK(tiny[0] == '#');
}

} // namespace

int main()
{
    checkFields();
    checkSerialize();
    return 0;
}
