#include "pool_int8_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

#include <string>
#include <tuple>

namespace pool_int8
{
namespace
{

using pluginkit::Shape;

constexpr int32_t kMaxWindow = 32768;
// INT8 sums of that many elements fit into 32 bits.
constexpr int64_t kMaxWindowElements = int64_t{1} << 24;
constexpr int64_t kMaxPixels = int64_t{1} << 30;

//! How many windows there are along `size` elements; 0 or less where not even one fits.
int64_t pooled(int64_t size, int32_t kernel, int32_t stride, int32_t pad, bool ceil) noexcept
{
    int64_t const beyond = size + 2 * int64_t{pad} - kernel;
    if (beyond < 0)
    {
        return 0;
    }
    int64_t const count = (beyond + (ceil ? stride - 1 : 0)) / stride + 1;
    // Rounded up, a window may begin in the padding behind the image: ONNX leaves that one out.
    return ceil && (count - 1) * stride >= size + pad ? count - 1 : count;
}

//! The output's shape: all dimensions before the last two, however many, count images. Rank -1 where there is none.
Shape pooled(Fields const& f, Shape const& image) noexcept
{
    Shape output{image};
    if (image.rank < 2)
    {
        return Shape{-1, {}};
    }
    int64_t& h = output.dims[image.rank - 2];
    int64_t& w = output.dims[image.rank - 1];
    bool const large = h > kMaxPixels || w > kMaxPixels || h * w > kMaxPixels;
    h = pooled(h, f.kernel_h, f.stride_h, f.pad_h, f.ceil_mode != 0);
    w = pooled(w, f.kernel_w, f.stride_w, f.pad_w, f.ceil_mode != 0);
    return large || h < 1 || w < 1 || h * w > kMaxPixels ? Shape{-1, {}} : output;
}

} // namespace

//! An IPluginV2IOExt. Overridden is what pluginkit.toml can't say of pooling.
class PoolInt8 final : public pluginkit::IOExtLayer<PoolInt8, Signature>
{
public:
    std::string problem() const override
    {
        Fields const& f = fields();
        std::tuple<char const*, int64_t, int64_t, int64_t> const limited[]{
            {"mode", f.mode, 0, 1},
            {"kernel_h", f.kernel_h, 1, kMaxWindow},
            {"kernel_w", f.kernel_w, 1, kMaxWindow},
            {"stride_h", f.stride_h, 1, kMaxWindow},
            {"stride_w", f.stride_w, 1, kMaxWindow},
            // A window must never lie in the padding alone.
            {"pad_h", f.pad_h, 0, f.kernel_h - 1},
            {"pad_w", f.pad_w, 0, f.kernel_w - 1},
            {"ceil_mode", f.ceil_mode, 0, 1},
            {"count_include_pad", f.count_include_pad, 0, 1},
            {"kernel_h * kernel_w", int64_t{f.kernel_h} * f.kernel_w, 1, kMaxWindowElements},
        };
        for (auto const& [name, value, least, most] : limited)
        {
            if (value < least || value > most)
            {
                return pluginkit::wrongValue(name, value, least, most);
            }
        }
        return IOExtLayer::problem(); // the scales
    }

    nvinfer1::Dims getOutputDimensions(int32_t index, nvinfer1::Dims const* inputs, int32_t nbInputs) noexcept override
    {
        nvinfer1::Dims output{-1, {}};
        if (index != 0 || inputs == nullptr || nbInputs != 1)
        {
            return output;
        }
        Shape const small = pooled(fields(), pluginkit::shapeOf(inputs[0]));
        if (small.rank < 0)
        {
            refuse(inputs[0]);
            return output;
        }
        return pluginkit::dimsOf<nvinfer1::Dims>(small);
    }

    bool fits(Shape const* inputs, Shape const* outputs) const override
    {
        return pluginkit::isSame(pooled(fields(), inputs[0]), outputs[0]);
    }

private:
    void refuse(nvinfer1::Dims const& image) const noexcept
    {
        try
        {
            auto const by = [](int64_t a, int64_t b) { return std::to_string(a) + " x " + std::to_string(b); };
            say(image.nbDims < 2 || image.nbDims > Shape::kMaxRank
                    ? "the input has " + std::to_string(image.nbDims) + " dimensions, must have 2 (an image) or more"
                    : "a window of " + by(fields().kernel_h, fields().kernel_w) + " is larger than an image of " +
                          by(image.d[image.nbDims - 2], image.d[image.nbDims - 1]) + " with its padding");
        }
        catch (std::exception const&)
        {
            return; // no memory for words
        }
    }
};

} // namespace pool_int8

// What the library exports: getCreators, setLoggerFinder, and initPoolInt8Plugins(logger, namespace).
PLUGINKIT_PLUGINS(PoolInt8, pluginkit::Creator<pool_int8::PoolInt8>)
