#pragma once

namespace pluginkit
{

//! As long as it lives, memory that is allocated holds `fill` wherever nothing is written, and so does what lies below
//! its maker's stack at the beginning.
class Littered
{
public:
    explicit Littered(int fill);
    ~Littered();
    Littered(Littered const&) = delete;
    Littered& operator=(Littered const&) = delete;
};

} // namespace pluginkit
