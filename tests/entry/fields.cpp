//! pluginkit/fields.h and pluginkit/serialize.h against what a careless or hostile caller hands over.
#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>

#include <NvInfer.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
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

constexpr pluginkit::Length kAny{0, 4};

//! One field, in bytes of exactly its size at an odd address: a sanitizer sees a read beyond them.
template <typename T>
struct Given
{
    Given(PluginFieldType type, std::vector<T> const& values) : bytes(1 + values.size() * sizeof(T))
    {
        if (!values.empty())
        {
            std::memcpy(bytes.data() + 1, values.data(), bytes.size() - 1);
        }
        field = {"f", values.empty() ? nullptr : bytes.data() + 1, type, static_cast<int32_t>(values.size())};
    }
    std::vector<char> bytes;
    PluginField field;
    PluginFieldCollection collection{1, &field};
    FieldReader reader{&collection};
};

template <typename T, typename Source>
bool takes(PluginFieldType type, Source given, T expected)
{
    Given<Source> const one{type, {given}};
    T value{};
    std::vector<T> list;
    std::array<T, 1> array{};
    bool const read = one.reader.required("f", value);
    CHECK(one.reader.optional("f", list, kAny) == read && one.reader.required("f", array) == read);
    CHECK(!read || (list == std::vector<T>{expected} && array[0] == expected));
    return read && value == expected;
}

void checkTypes()
{
    using Type = PluginFieldType;
    // A whole number is read from every integer type that it fits.
    CHECK((takes<int64_t, int32_t>(Type::kINT32, -7, -7)));
    CHECK((takes<int64_t, int64_t>(Type::kINT64, int64_t{1} << 40, int64_t{1} << 40)));
    CHECK((takes<int32_t, int64_t>(Type::kINT64, 5, 5)));
    CHECK((!takes<int32_t, int64_t>(Type::kINT64, int64_t{1} << 31, 0)));
    CHECK((takes<int8_t, int32_t>(Type::kINT32, -128, -128)));
    CHECK((!takes<int8_t, int32_t>(Type::kINT32, 128, 0)));
    CHECK((!takes<int8_t, int32_t>(Type::kINT32, -129, 0)));
    CHECK((takes<int16_t, int8_t>(Type::kINT8, -1, -1)));
    CHECK((takes<int16_t, int16_t>(Type::kINT16, 32767, 32767)));
    CHECK((!takes<int64_t, float>(Type::kFLOAT32, 1.0F, 0)));
    // A double from a float, but no float from a double: it may be another number then.
    CHECK((takes<double, float>(Type::kFLOAT32, 0.1F, static_cast<double>(0.1F))));
    CHECK((takes<double, double>(Type::kFLOAT64, 0.1, 0.1)));
    CHECK((!takes<float, double>(Type::kFLOAT64, 0.5, 0.0F)));
    CHECK((!takes<float, int32_t>(Type::kINT32, 1, 0.0F)));
    // TensorRT's parser gives the bytes of many a tensor as kFLOAT16: a float doesn't take it by itself.
    CHECK((!takes<float, uint16_t>(Type::kFLOAT16, 0x3C00, 0.0F)));
    for (auto const& [bits, number] : {std::pair<uint16_t, float>{0x3C00, 1.0F},
                                       {0xC000, -2.0F},
                                       {0x0001, 5.9604644775390625e-8F},
                                       {0x7BFF, 65504.0F},
                                       {0x2E66, 0.0999755859375F}})
    {
        float value{};
        CHECK(Given<uint16_t>(Type::kFLOAT16, {bits}).reader.required("f", value, Type::kFLOAT16) && value == number);
    }
    float value{2.0F};
    for (uint16_t const bits : {uint16_t{0x7C00}, uint16_t{0xFC00}, uint16_t{0x7E01}}) // infinities, not a number
    {
        CHECK(!Given<uint16_t>(Type::kFLOAT16, {bits}).reader.required("f", value, Type::kFLOAT16) && value == 2.0F);
    }
    CHECK(!Given<uint16_t>(Type::kFLOAT16, {0x3C00}).reader.required("f", value, Type::kBF16) && value == 2.0F);
    CHECK(Given<uint16_t>(Type::kBF16, {0x3FC0}).reader.required("f", value, Type::kBF16) && value == 1.5F);
}

void checkLists()
{
    std::vector<int64_t> list{9};
    std::array<float, 2> pair{7.0F, 8.0F};
    Given<int32_t> const three{PluginFieldType::kINT32, {1, -2, 3}};
    CHECK(three.reader.required("f", list, kAny) && (list == std::vector<int64_t>{1, -2, 3}));
    CHECK(!three.reader.optional("f", list, {0, 2}) && !three.reader.optional("f", list, {4, 8}) && list.size() == 3);
    CHECK(!three.reader.required("f", pair) && pair[0] == 7.0F);
    // The second of them isn't finite: nothing is taken over.
    Given<float> const bad{PluginFieldType::kFLOAT32, {1.0F, std::numeric_limits<float>::quiet_NaN()}};
    CHECK(!bad.reader.required("f", pair) && pair[0] == 7.0F && !bad.reader.optional("f", pair));
    CHECK(Given<float>(PluginFieldType::kFLOAT32, {1.0F, 2.0F}).reader.optional("f", pair) && pair[1] == 2.0F);

    // The parser gives an empty list so: it is a list, where a list may be empty.
    Given<int32_t> const nothing{PluginFieldType::kINT32, {}};
    CHECK(!nothing.reader.required("f", list, {1, 4}) && nothing.reader.optional("f", list, {1, 4}) &&
          list.size() == 3);
    CHECK(nothing.reader.required("f", list, kAny) && list.empty());
    CHECK(nothing.reader.optional("f", pair) && !nothing.reader.required("f", pair) && pair[1] == 2.0F);

    int32_t const number{1};
    for (int32_t const length : {-1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()})
    {
        PluginField const field{"f", &number, PluginFieldType::kINT32, length};
        PluginFieldCollection const collection{1, &field};
        std::vector<int64_t> untouched{5};
        std::string text{"t"};
        CHECK(!FieldReader(&collection).optional("f", untouched, kAny) && untouched.size() == 1);
        CHECK(!FieldReader(&collection).required("f", text, kAny) && text == "t");
    }
    PluginField const without{"f", nullptr, PluginFieldType::kINT32, 2};
    PluginFieldCollection const collection{1, &without};
    CHECK(!FieldReader(&collection).required("f", list, kAny) && list.empty());
}

void checkTexts()
{
    auto const read = [](std::vector<char> const& bytes, pluginkit::Length length, PluginFieldType type)
    {
        std::string text{"?"};
        Given<char> const given{type, bytes};
        bool const found = given.reader.required("f", text, length);
        CHECK(given.reader.optional("f", text, length) == found || bytes.empty());
        return found ? text : "refused";
    };
    constexpr PluginFieldType type{PluginFieldType::kCHAR};
    CHECK(read({'a', 'd', 'd', '\0'}, kAny, type) == "add"); // the parser counts the zero
    CHECK(read({'a', 'd', 'd'}, kAny, type) == "add");
    CHECK(read({'a', '\0', 'b', '\0'}, kAny, type) == "refused"); // two texts
    CHECK(read({'a', 'd', 'd'}, {0, 2}, type) == "refused" && read({'a', 'd', 'd'}, {4, 9}, type) == "refused");
    CHECK(read({'\0'}, kAny, type).empty() && read({}, kAny, type).empty());
    CHECK(read({}, {1, 9}, type) == "refused");
    CHECK(read({'a'}, kAny, PluginFieldType::kINT8) == "refused");
}

void checkStoredLists()
{
    std::vector<double> const list{0.5, -1.0};
    std::string const text{"ab"};
    size_t const size = pluginkit::serializedSize<int8_t>() + pluginkit::storedSize(list) + pluginkit::storedSize(text);
    CHECK(size == 8 + 1 + 4 + 16 + 4 + 2);
    std::vector<char> bytes(size);
    Writer writer(bytes.data(), size, 1);
    writer.put(list);
    writer.put(int8_t{3});
    writer.put(text);
    auto const reads = [&](size_t length, size_t most)
    {
        std::vector<char> const copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
        Reader reader(copy.data(), length, 1);
        std::vector<double> read{9.0};
        std::string words{"?"};
        int8_t one{};
        bool const good = reader.get(read, 1, most) && reader.get(one) && reader.get(words, 0, 2) && reader.finished();
        CHECK(good || read.size() == 1 || read == list);
        return good && read == list && words == text && one == 3;
    };
    CHECK(reads(size, 2) && !reads(size, 1));
    for (size_t length = 0; length < size; ++length)
    {
        CHECK(!reads(length, 2));
    }
    // A count that there are no bytes for takes no memory.
    uint32_t const count{0xFFFFFFFFU};
    std::memcpy(bytes.data() + 8, &count, sizeof count);
    CHECK(!reads(size, std::numeric_limits<size_t>::max()));
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
    checkTypes();
    checkLists();
    checkTexts();
    checkStoredLists();
    checkSerialize();
    return 0;
}
