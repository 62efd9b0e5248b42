// SPDX-License-Identifier: Apache-2.0
// Random damage to valid documents, by a seed: bytes of the text, or members of the tree.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "netns/base/json.h"

namespace test {

using base::Json;

class Mutator {
  public:
    explicit Mutator(unsigned seed) : random_(seed) {}

    // One to four changed, inserted, removed or repeated bytes.
    std::string damage_text(std::string text) {
        for (size_t i = pick(4) + 1; i-- > 0 && !text.empty();) {
            const size_t at = pick(text.size());
            switch (pick(4)) {
                case 0:
                    text[at] = static_cast<char>(pick(256));
                    break;
                case 1:
                    text.insert(at, 1, kAlphabet[pick(sizeof kAlphabet - 1)]);
                    break;
                case 2:
                    text.erase(at, pick(8) + 1);
                    break;
                default:
                    text.insert(at, text.substr(at, pick(32)));
            }
        }
        return text;
    }

    // One value somewhere in the tree replaced by another, taken away or repeated.
    void damage_tree(Json& tree) {
        Json* at = &tree;
        while (at->is_structured() && !at->empty() && pick(5) != 0) {
            auto next = at->begin();
            std::advance(next, static_cast<std::ptrdiff_t>(pick(at->size())));
            at = &*next;
        }
        if (at->is_structured() && !at->empty() && pick(3) == 0)
            at->erase(at->begin());
        else if (at->is_array() && !at->empty() && pick(2) == 0)
            at->push_back(at->front());
        else
            *at = junk();
    }

    size_t pick(size_t below) { return below == 0 ? 0 : random_() % below; }

  private:
    static constexpr char kAlphabet[] = "{}[]\",:0-9.eE\\/ntfu\n";

    Json junk() {
        static const std::vector<Json> kJunk{nullptr,
                                             true,
                                             -1,
                                             0,
                                             UINT64_MAX,
                                             INT64_MIN,
                                             1.5,
                                             1e300,
                                             "",
                                             "rwm",
                                             "network",
                                             "..",
                                             std::string("a\0b", 3),
                                             "\x1b[2J",
                                             Json::array(),
                                             Json::object(),
                                             Json::array({nullptr}),
                                             Json::array({Json::array()}),
                                             Json{{"type", "network"}},
                                             Json{{"path", 7}}};
        return kJunk[pick(kJunk.size())];
    }

    std::mt19937 random_;
};

}  // namespace test
