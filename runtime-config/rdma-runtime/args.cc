// SPDX-License-Identifier: Apache-2.0
#include "runtime-config/rdma-runtime/args.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "netns/base/error.h"

namespace shim {

namespace {
enum class Takes { Nothing, Value };

struct Option {
    std::string_view name;
    char letter;  // 0: none
    Takes takes;
    std::string Invocation::*target;  // nullptr: not looked at
    bool harmless = false;            // such as help: the call is passed on
};

constexpr std::string Invocation::*kIgnored = nullptr;

// The options of runc 1.0 to 1.4 and crun 1.0 to 1.28.
constexpr std::array kGlobal = {Option{"root", 0, Takes::Value, &Invocation::root},
                                Option{"log", 0, Takes::Value, &Invocation::log},
                                Option{"log-format", 0, Takes::Value, &Invocation::log_format},
                                Option{"log-level", 0, Takes::Value, kIgnored},
                                Option{"criu", 0, Takes::Value, kIgnored},
                                Option{"rootless", 0, Takes::Value, kIgnored},
                                Option{"cgroup-manager", 0, Takes::Value, kIgnored},
                                Option{"systemd-cgroup", 0, Takes::Nothing, kIgnored},
                                Option{"debug", 0, Takes::Nothing, kIgnored},
                                Option{"help", 'h', Takes::Nothing, kIgnored, true},
                                Option{"usage", '?', Takes::Nothing, kIgnored, true},
                                Option{"version", 'v', Takes::Nothing, kIgnored, true}};
constexpr std::array kStart = {Option{"bundle", 'b', Takes::Value, &Invocation::bundle},
                               Option{"config", 'f', Takes::Value, &Invocation::config},
                               Option{"console-socket", 0, Takes::Value, kIgnored},
                               Option{"pidfd-socket", 0, Takes::Value, kIgnored},
                               Option{"pid-file", 0, Takes::Value, kIgnored},
                               Option{"preserve-fds", 0, Takes::Value, kIgnored},
                               Option{"no-pivot", 0, Takes::Nothing, kIgnored},
                               Option{"no-new-keyring", 0, Takes::Nothing, kIgnored},
                               Option{"no-subreaper", 0, Takes::Nothing, kIgnored},
                               Option{"detach", 'd', Takes::Nothing, kIgnored},
                               Option{"keep", 0, Takes::Nothing, kIgnored},
                               Option{"help", 'h', Takes::Nothing, kIgnored, true},
                               Option{"usage", '?', Takes::Nothing, kIgnored, true}};
// A regular expression (crun) names many containers: their poststop hooks undo them.
constexpr std::array kDelete = {Option{"force", 'f', Takes::Nothing, kIgnored},
                                Option{"regex", 'r', Takes::Nothing, kIgnored, true},
                                Option{"help", 'h', Takes::Nothing, kIgnored, true},
                                Option{"usage", '?', Takes::Nothing, kIgnored, true}};
constexpr std::array kCheckpoint = {Option{"image-path", 0, Takes::Value, kIgnored},
                                    Option{"work-path", 0, Takes::Value, kIgnored},
                                    Option{"parent-path", 0, Takes::Value, kIgnored},
                                    Option{"page-server", 0, Takes::Value, kIgnored},
                                    Option{"status-fd", 0, Takes::Value, kIgnored},
                                    Option{"manage-cgroups-mode", 0, Takes::Value, kIgnored},
                                    Option{"network-lock", 0, Takes::Value, kIgnored},
                                    Option{"empty-ns", 0, Takes::Value, kIgnored},
                                    Option{"leave-running", 0, Takes::Nothing, kIgnored},
                                    Option{"tcp-established", 0, Takes::Nothing, kIgnored},
                                    Option{"tcp-skip-in-flight", 0, Takes::Nothing, kIgnored},
                                    Option{"tcp-close", 0, Takes::Nothing, kIgnored},
                                    Option{"link-remap", 0, Takes::Nothing, kIgnored},
                                    Option{"ext-unix-sk", 0, Takes::Nothing, kIgnored},
                                    Option{"shell-job", 0, Takes::Nothing, kIgnored},
                                    Option{"lazy-pages", 0, Takes::Nothing, kIgnored},
                                    Option{"file-locks", 0, Takes::Nothing, kIgnored},
                                    Option{"pre-dump", 0, Takes::Nothing, kIgnored},
                                    Option{"auto-dedup", 0, Takes::Nothing, kIgnored},
                                    Option{"help", 'h', Takes::Nothing, kIgnored, true},
                                    Option{"usage", '?', Takes::Nothing, kIgnored, true}};
constexpr std::array kRestore = {Option{"bundle", 'b', Takes::Value, &Invocation::bundle},
                                 Option{"console-socket", 0, Takes::Value, kIgnored},
                                 Option{"pid-file", 0, Takes::Value, kIgnored},
                                 Option{"image-path", 0, Takes::Value, kIgnored},
                                 Option{"work-path", 0, Takes::Value, kIgnored},
                                 Option{"manage-cgroups-mode", 0, Takes::Value, kIgnored},
                                 Option{"empty-ns", 0, Takes::Value, kIgnored},
                                 Option{"lsm-profile", 0, Takes::Value, kIgnored},
                                 Option{"lsm-mount-context", 0, Takes::Value, kIgnored},
                                 Option{"detach", 'd', Takes::Nothing, kIgnored},
                                 Option{"no-pivot", 0, Takes::Nothing, kIgnored},
                                 Option{"no-subreaper", 0, Takes::Nothing, kIgnored},
                                 Option{"tcp-established", 0, Takes::Nothing, kIgnored},
                                 Option{"tcp-close", 0, Takes::Nothing, kIgnored},
                                 Option{"link-remap", 0, Takes::Nothing, kIgnored},
                                 Option{"ext-unix-sk", 0, Takes::Nothing, kIgnored},
                                 Option{"shell-job", 0, Takes::Nothing, kIgnored},
                                 Option{"lazy-pages", 0, Takes::Nothing, kIgnored},
                                 Option{"file-locks", 0, Takes::Nothing, kIgnored},
                                 Option{"auto-dedup", 0, Takes::Nothing, kIgnored},
                                 Option{"help", 'h', Takes::Nothing, kIgnored, true},
                                 Option{"usage", '?', Takes::Nothing, kIgnored, true}};

struct Subcommand {
    std::string_view name;
    Verb verb;
    std::span<const Option> options;
};

constexpr std::array<Subcommand, 5> kSubcommands = {{{"create", Verb::Create, kStart},
                                                     {"run", Verb::Run, kStart},
                                                     {"delete", Verb::Delete, kDelete},
                                                     {"checkpoint", Verb::Checkpoint, kCheckpoint},
                                                     {"restore", Verb::Restore, kRestore}}};

const Subcommand* subcommand_of(std::string_view word) {
    for (const Subcommand& each : kSubcommands) {
        if (each.name == word)
            return &each;
    }
    return nullptr;
}

// Finds an option by its name; or by a unique prefix of it, as argp allows.
const Option* by_name(std::span<const Option> options, std::string_view name, bool shortened) {
    const Option* found = nullptr;
    for (const Option& option : options) {
        if (option.name == name)
            return &option;
        if (!shortened || name.empty() || !option.name.starts_with(name))
            continue;
        if (found != nullptr)
            return nullptr;
        found = &option;
    }
    return found;
}

const Option* by_letter(std::span<const Option> options, char letter) {
    const auto found = std::find_if(options.begin(), options.end(), [&](const Option& option) {
        return option.letter != 0 && option.letter == letter;
    });
    return found == options.end() ? nullptr : &*found;
}

class Words {
  public:
    Words(std::span<const std::string> words, Invocation& call) : words_(words), call_(call) {}

    // Takes options until a word that is none. Returns that word; nothing at the end.
    std::optional<std::string> next(std::span<const Option> options) {
        while (at_ < words_.size()) {
            const std::string& word = words_[at_++];
            if (only_words_ || word.size() < 2 || word[0] != '-')
                return word;
            if (word == "--")
                only_words_ = true;
            else if (!take(options, word))
                complain("option '" + base::printable(word) + "' is not known to rdma-runtime");
        }
        return std::nullopt;
    }

    // Moves to the first known subcommand, whatever precedes it: the word after an unknown option
    // may be its value.
    const Subcommand* seek() {
        for (; at_ < words_.size(); ++at_) {
            if (const Subcommand* found = subcommand_of(words_[at_])) {
                ++at_;
                return found;
            }
        }
        return nullptr;
    }

    [[nodiscard]] std::vector<std::string> rest() const {
        return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()};
    }

    void complain(std::string why) {
        if (call_.trouble.empty())
            call_.trouble = std::move(why);
    }

    [[nodiscard]] bool harmless() const { return harmless_; }

  private:
    bool take(std::span<const Option> options, std::string_view word) {
        const bool two = word.starts_with("--");
        std::string_view name = word.substr(two ? 2 : 1);
        const auto equals = name.find('=');
        std::optional<std::string_view> value;
        if (equals != std::string_view::npos)
            value = name.substr(equals + 1);
        const std::string_view bare = name.substr(0, equals);
        // "-bundle" is "--bundle" for Go's flag package.
        if (const Option* option = by_name(options, bare, two))
            return set(*option, value);
        if (two)
            return false;
        if (bare.size() == 1) {
            const Option* option = by_letter(options, bare[0]);
            return option != nullptr && set(*option, value);
        }
        return cluster(options, name);
    }

    // Reads letters together, with the last one's value behind it: "-db/run/b".
    bool cluster(std::span<const Option> options, std::string_view letters) {
        for (size_t i = 0; i < letters.size(); ++i) {
            const Option* option = by_letter(options, letters[i]);
            if (option == nullptr)
                return false;
            const std::string_view rest = letters.substr(i + 1);
            if (option->takes == Takes::Value)
                return set(*option, rest.empty() ? std::nullopt : std::optional(rest));
            (void)set(*option, std::nullopt);
        }
        return true;
    }

    bool set(const Option& option, std::optional<std::string_view> value) {
        harmless_ = harmless_ || option.harmless;
        if (option.takes == Takes::Nothing)
            return true;
        if (!value && at_ == words_.size()) {
            complain("option --" + std::string(option.name) + " has no value");
            return true;
        }
        const std::string text = value ? std::string(*value) : words_[at_++];
        if (option.target != nullptr)
            call_.*option.target = text;
        return true;
    }

    std::span<const std::string> words_;
    Invocation& call_;
    size_t at_ = 0;
    bool only_words_ = false;
    bool harmless_ = false;
};

// Reads the words behind the subcommand: the id, before or among the options (Go's way).
void parse_subcommand(const Subcommand& subcommand, Words& words, Invocation& call) {
    size_t count = 0;
    while (auto word = words.next(subcommand.options)) {
        if (++count == 1)
            call.id = *std::move(word);
    }
    if (count != 1)
        words.complain(count == 0 ? "the container's id is missing"
                                  : "there are words behind the container's id");
    call.verb = subcommand.verb;
    if (words.harmless())
        call = {};
}
}  // namespace

std::string_view name_of(Verb verb) {
    const auto* found = std::ranges::find(kSubcommands, verb, &Subcommand::verb);
    return found != kSubcommands.end() ? found->name : std::string_view{};
}

std::optional<std::string> take_low_level(std::vector<std::string>& argv) {
    constexpr std::string_view kOption = "--low-level=";
    if (argv.size() < 2 || !argv[1].starts_with(kOption))
        return std::nullopt;
    std::string path = argv[1].substr(kOption.size());
    const bool by_file = argv.size() > 2 && argv[2].starts_with('/');
    argv.erase(argv.begin() + (by_file ? 0 : 1), argv.begin() + 2);
    return path;
}

Invocation parse_args(const std::vector<std::string>& argv) {
    Invocation call;
    if (argv.empty())
        return call;
    Words words{std::span(argv).subspan(1), call};
    const auto word = words.next(kGlobal);
    const Subcommand* subcommand = word ? subcommand_of(*word) : nullptr;
    if (subcommand == nullptr)
        call.words = words.rest();
    if (subcommand == nullptr && !call.trouble.empty())
        subcommand = words.seek();
    if (subcommand != nullptr && !words.harmless())
        parse_subcommand(*subcommand, words, call);
    return call;
}

}  // namespace shim
