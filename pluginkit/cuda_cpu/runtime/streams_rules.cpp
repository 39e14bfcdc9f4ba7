//! The rule of enqueue() that all work is on the stream it was given, or on one that is forked from it and joined
//! again.
//!
//! A stream knows of other streams' work through the events it waited for, as a vector clock does.

#include "streams.h"

#include "findings.h"

#include <algorithm>

namespace pluginkit_cpu
{

inline namespace v2
{

void Streams::beginEnqueue(cudaStream_t stream)
{
    Lock const lock{mMutex};
    ++mEnqueue;
    mInEnqueue = true;
    StreamState* const given = find(stream);
    mGiven = given == nullptr ? 0 : given->identity;
    if (given != nullptr)
    {
        refresh(*given);
        given->knows[given->identity] = ++given->amount;
    }
}

void Streams::refresh(StreamState& stream) const
{
    if (stream.enqueueNumber != mEnqueue)
    {
        stream.enqueueNumber = mEnqueue;
        stream.amount = 0;
        stream.knows.clear();
    }
}

std::string Streams::wrongStream(StreamState& stream) const
{
    if (!mInEnqueue)
    {
        return {};
    }
    refresh(stream);
    bool const forked = stream.knows.count(mGiven) != 0;
    if (!forked)
    {
        bool const standard = mStreams.count(0) != 0 && &mStreams.at(0) == &stream;
        return standard ? " uses the default stream, not the stream that enqueue() was given"
                        : " uses another stream than the one that enqueue() was given";
    }
    stream.knows[stream.identity] = ++stream.amount;
    return {};
}

void Streams::endEnqueue(Caller const& caller)
{
    Lock const lock{mMutex};
    mInEnqueue = false;
    std::vector<StreamState*> all;
    auto const take = [&all](auto& each) { all.push_back(&each.second); };
    std::for_each(mStreams.begin(), mStreams.end(), take);
    std::for_each(mPerThread.begin(), mPerThread.end(), take);
    auto const given =
        std::find_if(all.begin(), all.end(), [this](auto const* each) { return each->identity == mGiven; });
    if (given == all.end())
    {
        return; // the harness gave a stream that isn't one
    }
    for (StreamState* const stream : all)
    {
        bool const worked = stream->enqueueNumber == mEnqueue && stream->amount > 0 && stream != *given;
        auto const known = (*given)->knows.find(stream->identity);
        if (worked && (known == (*given)->knows.end() || known->second < stream->amount))
        {
            report({"wrong-stream",
                    "enqueue() ends with work on a second stream that the given stream does not wait for",
                    {nullptr, 0},
                    caller.code});
        }
    }
    // It is of this enqueue() alone, and memory that the plugin's calls have made it take.
    std::for_each(all.begin(), all.end(), [](StreamState* each) { each->knows.clear(); });
}

} // namespace v2

} // namespace pluginkit_cpu
