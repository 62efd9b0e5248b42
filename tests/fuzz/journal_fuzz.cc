// SPDX-License-Identifier: Apache-2.0
// A journal, which another version or a broken disk may have written. One that is accepted is
// written again as it was read; one that is not is left as it is.
#include <string_view>

#include "hook/steps/journal.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/one_file.h"

namespace {
constexpr char kKey[] = "4-f0000001-abcdef012345";

void expect_refusal(const base::Error& error) {
    fuzz::expect(!error.message().empty(), "a refusal says why");
    fuzz::expect(error.code == base::Code::Internal || error.code == base::Code::BadInput,
                 "what cannot be read is broken");
}

void write_again(hook::Store& store, const hook::Journal& journal, const fuzz::OneFile& file) {
    for (const auto& step : journal.steps)
        fuzz::expect(!hook::describe(step).empty(), "a step has words");
    fuzz::expect(save_journal(store, journal).has_value(), "what was read can be written");
    const std::string first = file.text();
    const auto again = load_journal(store, kKey);
    fuzz::expect(again && *again, "what was written can be read");
    fuzz::expect((*again)->endpoint == journal.endpoint && (*again)->holders == journal.holders &&
                     (*again)->netns == journal.netns,
                 "nothing is lost");
    (void)save_journal(store, **again);
    fuzz::expect(file.text() == first, "it is written as it was read");
}
}  // namespace

FUZZ_TARGET(journal) {
    fuzz::OneFile file({reinterpret_cast<const char*>(data), size});
    hook::Store store{file, "/run/rdma-hook"};
    const auto head = load_journal_head(store, kKey);
    const auto journal = load_journal(store, kKey);
    fuzz::expect(!file.written(), "reading writes nothing");
    if (!journal) {
        expect_refusal(journal.error());
        return;
    }
    fuzz::expect((*journal)->key == kKey, "a journal is about what its name says");
    // What may stand behind the steps is not looked at: the head of a journal can be broken alone.
    if (head && *head)
        fuzz::expect((*head)->key == kKey, "so does its head");
    write_again(store, **journal, file);
}
