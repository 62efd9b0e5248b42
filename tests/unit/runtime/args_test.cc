// SPDX-License-Identifier: Apache-2.0
// How runc and crun read their command lines, as far as we must: one row a line.
#include "runtime-config/rdma-runtime/args.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shim {
namespace {
struct Row {
    const char* line;  // words behind the program's name
    const char* verb;
    const char* bundle = "";
    const char* id = "";
    const char* trouble = "";
};

// `^` stands for an empty word.
std::vector<std::string> words(const std::string& line) {
    std::istringstream in("runc " + line);
    std::vector<std::string> out;
    for (std::string word; in >> word;)
        out.push_back(word == "^" ? "" : word);
    return out;
}

std::string text_of(Verb verb) {
    return verb == Verb::Other ? "other" : std::string(name_of(verb));
}

const Row kRows[] = {
    // As engines call it.
    {"--root /r --log /l --log-format json create --bundle /b --pid-file /p i",
     "create",
     "/b",
     "i"},
    {"--root /r --log /l --log-format json --systemd-cgroup create --bundle /b --pid-file /p "
     "--console-socket /c i",
     "create",
     "/b",
     "i"},
    {"--systemd-cgroup --root=/r create --bundle=/b --pid-file=/p i", "create", "/b", "i"},
    {"--root /r delete --force i", "delete", "", "i"},
    {"--root /r --log /l --log-format json delete i", "delete", "", "i"},
    {"--root /r --log /l --log-format json checkpoint --image-path /i --work-path /w "
     "--leave-running --tcp-established i",
     "checkpoint",
     "",
     "i"},
    {"--root /r --log /l --log-format json restore --bundle /b --image-path /i --work-path /w "
     "--no-subreaper --detach --pid-file /p --ext-unix-sk i",
     "restore",
     "/b",
     "i"},
    {"restore -d -b /b --image-path create i", "restore", "/b", "i"},
    {"checkpoint --help i", "other"},
    {"create -b /b i", "create", "/b", "i"},
    {"create -b=/b i", "create", "/b", "i"},
    {"run -d -b /b i", "run", "/b", "i"},
    {"run --detach --bundle /b i", "run", "/b", "i"},
    {"--cgroup-manager systemd --log-level debug create --bundle /b i", "create", "/b", "i"},
    {"--rootless true --criu /c --debug create --bundle /b i", "create", "/b", "i"},
    {"create --bundle /b --preserve-fds 3 --no-pivot --no-new-keyring i", "create", "/b", "i"},
    {"run --keep --no-subreaper --pidfd-socket /s --bundle /b i", "run", "/b", "i"},
    // Names that are words of the grammar.
    {"create --bundle create i", "create", "create", "i"},
    {"create --bundle run create", "create", "run", "create"},
    {"--root create state i", "other"},
    {"--log create --root run delete i", "delete", "", "i"},
    {"--log=create kill i 9", "other"},
    {"create --bundle --force i", "create", "--force", "i"},
    {"create --pid-file --bundle i", "create", "", "i"},
    {"create -b -d i", "create", "-d", "i"},
    {"delete create", "delete", "", "create"},
    // The working directory.
    {"create i", "create", "", "i"},
    {"create --bundle ^ i", "create", "", "i"},
    {"create --bundle= i", "create", "", "i"},
    // Go's flags: one dash, values of flags, options behind the id.
    {"-root /r create -bundle /b i", "create", "/b", "i"},
    {"--debug=true --systemd-cgroup=false create --bundle /b i", "create", "/b", "i"},
    {"create i --bundle /b", "create", "/b", "i"},
    {"create i -b /b --no-pivot", "create", "/b", "i"},
    {"create --bundle /a --bundle /b i", "create", "/b", "i"},
    {"create --bundle /b=c i", "create", "/b=c", "i"},
    {"create --bundle=/b=c i", "create", "/b=c", "i"},
    // argp: short options together, names cut short.
    {"run -db /b i", "run", "/b", "i"},
    {"run -db/b i", "run", "/b", "i"},
    {"create -b/b i", "create", "/b", "i"},
    {"create --bun /b i", "create", "/b", "i"},
    {"create --bun=/b i", "create", "/b", "i"},
    {"--cgroup m --ro /r create --bundle /b i",
     "create",
     "/b",
     "i",
     "option '--ro' is not known to rdma-runtime"},
    // The end of options.
    {"-- create --bundle /b i", "create", "", "--bundle", "there are words behind"},
    {"create --bundle /b -- i", "create", "/b", "i"},
    {"create --bundle /b -- -i", "create", "/b", "-i"},
    {"create --bundle /b -", "create", "/b", "-"},
    // None of our business.
    {"", "other"},
    {"--version", "other"},
    {"-v", "other"},
    {"features", "other"},
    {"--help create i", "other"},
    {"create --help", "other"},
    {"create -h --bundle /b i", "other"},
    {"delete --regex .*", "other"},
    {"--root /r start i", "other"},
    {"exec -d i create --bundle /b", "other"},
    {"kill i KILL", "other"},
    {"Create --bundle /b i", "other"},
    // Unknown options: the best guess, and a complaint.
    {"--new create --bundle /b i", "create", "/b", "i", "option '--new' is not known"},
    {"--new value create --bundle /b i", "create", "/b", "i", "option '--new' is not known"},
    {"-n value run --bundle /b i", "run", "/b", "i", "option '-n' is not known"},
    {"--new value state i", "other", "", "", "option '--new' is not known"},
    {"create --new --bundle /b i", "create", "/b", "i", "option '--new' is not known"},
    {"create --new value --bundle /b i", "create", "/b", "value", "option '--new' is not known"},
    {"create --bundle /b", "create", "/b", "", "the container's id is missing"},
    {"create --bundle", "create", "", "", "option --bundle has no value"},
    {"create --bundle /b i j", "create", "/b", "i", "there are words behind"},
    {"run -dx -b /b i", "run", "/b", "i", "option '-dx' is not known"},
    {"create --no --bundle /b i", "create", "/b", "i", "option '--no' is not known"},
    {"--root", "other", "", "", "option --root has no value"},
};

TEST(Args, Table) {
    for (const Row& row : kRows) {
        const Invocation call = parse_args(words(row.line));
        EXPECT_EQ(text_of(call.verb), row.verb) << row.line;
        EXPECT_EQ(call.bundle, row.bundle) << row.line;
        EXPECT_EQ(call.id, row.id) << row.line;
        EXPECT_THAT(call.trouble, testing::StartsWith(row.trouble)) << row.line;
        EXPECT_EQ(call.trouble.empty(), *row.trouble == '\0') << row.line << ": " << call.trouble;
    }
}

TEST(Args, WhereTheEngineReadsFailures) {
    for (const char* line : {"--log /l --log-format json create --bundle /b i",
                             "--log=/l --log-format=json delete i",
                             "-log /l -log-format json run i"}) {
        const Invocation call = parse_args(words(line));
        EXPECT_EQ(call.log, "/l") << line;
        EXPECT_EQ(call.log_format, "json") << line;
    }
    EXPECT_EQ(parse_args(words("create --bundle /b i")).log, "");
    // Behind the subcommand it is none of the runtimes' options.
    EXPECT_NE(parse_args(words("create --log /l i")).trouble, "");
}

// Of a verb whose options are not read the id is one of the words behind it.
TEST(Args, WhoseContainerItIs) {
    const Invocation call = parse_args(words("--root /r --log /l exec --tty -p /p i sh"));
    EXPECT_EQ(call.verb, Verb::Other);
    EXPECT_EQ(call.root, "/r");
    EXPECT_EQ(call.words, (std::vector<std::string>{"--tty", "-p", "/p", "i", "sh"}));
    EXPECT_EQ(parse_args(words("--root=/r delete i")).root, "/r");
    EXPECT_TRUE(parse_args(words("--version")).words.empty());
}

TEST(Args, CrunsOtherConfigFile) {
    EXPECT_EQ(parse_args(words("create -f other.json --bundle /b i")).config, "other.json");
    EXPECT_EQ(parse_args(words("run --config=other.json i")).config, "other.json");
    EXPECT_EQ(parse_args(words("delete -f i")).config, "");
}

TEST(Args, TheProgramThatACallNames) {
    const struct {
        std::vector<std::string> argv;
        std::optional<std::string> low_level;
        std::vector<std::string> rest;
    } rows[] = {
        {{"rdma-runtime", "--low-level=/usr/bin/crun", "--root", "/r", "create", "i"},
         "/usr/bin/crun",
         {"rdma-runtime", "--root", "/r", "create", "i"}},
        // As the kernel calls the interpreter of a file.
        {{"/usr/bin/rdma-runtime", "--low-level=/usr/bin/crun", "/etc/x/rdma-crun", "state", "i"},
         "/usr/bin/crun",
         {"/etc/x/rdma-crun", "state", "i"}},
        {{"r", "--low-level="}, "", {"r"}},
        {{"r", "--low-level"}, std::nullopt, {"r", "--low-level"}},
        {{"r", "state", "--low-level=/x"}, std::nullopt, {"r", "state", "--low-level=/x"}},
        {{"r"}, std::nullopt, {"r"}},
        {{}, std::nullopt, {}},
    };

    for (const auto& row : rows) {
        auto argv = row.argv;
        EXPECT_EQ(take_low_level(argv), row.low_level);
        EXPECT_EQ(argv, row.rest);
    }
    // Elsewhere it is no option of the runtimes.
    EXPECT_NE(parse_args(words("--root /r --low-level=/x create --bundle /b i")).trouble, "");
}

TEST(Args, NoNameAtAll) {
    EXPECT_EQ(parse_args({}).verb, Verb::Other);
}

TEST(Args, AnyWordsAreRead) {
    // Words of the grammar in every order of three, with odd ones among them.
    const std::vector<std::string> pieces = {
        "create", "run", "delete", "--", "-", "--bundle", "-b", "-b=", "--=", "-=", "--root=", "^"};
    for (const auto& a : pieces) {
        for (const auto& b : pieces) {
            for (const auto& c : pieces) {
                const Invocation call = parse_args(words(a + " " + b + " " + c));
                EXPECT_TRUE(call.verb != Verb::Other || call.id.empty()) << a << b << c;
            }
        }
    }
}
}  // namespace
}  // namespace shim
