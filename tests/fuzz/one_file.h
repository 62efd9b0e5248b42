// SPDX-License-Identifier: Apache-2.0
// Files of which there is one, whatever it is called: what a target for a file of state reads, and
// what was written in its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "netns/base/files.h"

namespace fuzz {

class OneFile : public base::Files {
  public:
    explicit OneFile(std::string_view text) : text_(text) {}

    [[nodiscard]] const std::string& text() const { return text_; }

    [[nodiscard]] bool written() const { return written_; }

    base::Result<std::string> read(const std::string& path, size_t limit) override {
        if (text_.size() > limit)
            return base::make_error(base::Code::BadInput, path + " is too large");
        return text_;
    }

    using base::Files::make_dir;
    using base::Files::write;

    base::Result<> write(const std::string&, std::string_view content, base::Access) override {
        text_ = content;
        written_ = true;
        return {};
    }

    base::Result<> create(const std::string&, std::string_view content) override {
        return write({}, content, base::Access::Private);
    }

    base::Result<> remove(const std::string&) override { return {}; }

    base::Result<> rename(const std::string&, const std::string&) override { return {}; }

    base::Result<std::vector<std::string>> list(const std::string&) override {
        return std::vector<std::string>{};
    }

    base::Result<std::vector<std::string>> sweep(const std::string&) override {
        return std::vector<std::string>{};
    }

    base::Result<> make_dir(const std::string&, base::Access) override { return {}; }

    base::Result<> make_link(const std::string&, const std::string&) override { return {}; }

    base::Result<> set_label(const std::string&, const std::string&) override { return {}; }

    base::Result<> remove_tree(const std::string&) override { return {}; }

  private:
    std::string text_;
    bool written_ = false;
};

}  // namespace fuzz
