// SPDX-License-Identifier: Apache-2.0
// The error of something that must fail.
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "netns/base/result.h"

namespace test {

template <class T>
base::Error error_of(base::Result<T> done) {
    EXPECT_FALSE(done) << "this has to fail";
    return done ? base::Error{} : std::move(done).error();
}

}  // namespace test
