// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "perf/protocol/message.h"
#include "perf/system/cpu.h"
#include "tests/support/temp_dir.h"

namespace perf {
namespace {

TEST(Platform, ProcessorIsNamedByModelOrPart) {
    EXPECT_EQ(cpu_of("processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu\n"),
              "AMD EPYC 9654");
    EXPECT_EQ(cpu_of("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"), "0x41:0xd40");
    EXPECT_EQ(cpu_of("processor\t: 0\n"), "");
    EXPECT_EQ(cpu_of(""), "");
}

TEST(Platform, RdmaCoreIsNamedByTheLibrarysFile) {
    const std::string others =
        "7f00-7f01 r-xp 0 08:01 7  /usr/lib/libc.so.6\n7f02-7f03 r--p 0 08:01 9  ";
    EXPECT_EQ(rdma_core_of(others + "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0\n"), "44.0");
    EXPECT_EQ(rdma_core_of(others + "/opt/libibverbs.so.1.15.58.0 (deleted)\n"), "58.0");
    for (const char* unknown :
         {"/lib/libibverbs.so.1\n", "/lib/libibverbs.so.", "/lib/librdmacm.so.1.3.44.0\n"})
        EXPECT_EQ(rdma_core_of(others + unknown), "") << unknown;
    EXPECT_EQ(rdma_core_of(""), "");
}

TEST(Platform, IsWhatProcAndSysSay) {
    const test::TempDir root;
    EXPECT_EQ(own_platform(root.path()).cpu, "");
    const auto write = [&](const std::string& folder, const char* name, const std::string& text) {
        std::filesystem::create_directories(root / folder);
        std::ofstream(root / (folder + "/" + name)) << text;
    };
    // Longer than what may be read of a small file, as it is where there are hundreds of cores.
    write("proc", "cpuinfo", "model name\t: Some\n" + std::string(1U << 20U, 'x'));
    write("sys/devices/system/cpu/cpu0/cpufreq", "scaling_governor", "powersave\n");
    write("proc/self", "maps", "/lib/libibverbs.so.1.14.50.0\n");
    const Platform platform = own_platform(root.path());
    EXPECT_EQ(platform.cpu, "Some");
    EXPECT_EQ(platform.governor, "powersave");
    EXPECT_EQ(platform.rdma_core, "50.0");
    write("proc/self", "cmdline", std::string("rdma-perf\0run\0\x1b\0", 16));
    EXPECT_EQ(own_platform(root.path()).command_line, "rdma-perf run \\x1b");
    write("proc/self", "cmdline", "rdma-perf " + std::string(5000, 'x'));
    EXPECT_EQ(own_platform(root.path()).command_line.size(), 255U);
}

TEST(Platform, TheCommandLineIsOfThisProcess) {
    const std::string line = own_hello().platform.command_line;
    EXPECT_NE(line.find("perf_test"), std::string::npos) << line;
    EXPECT_EQ(line.find('\0'), std::string::npos);
    Hello hello = own_hello();
    hello.platform.command_line = "rdma-perf \x1b[2J" + std::string(1000, 'x');
    const auto back = parse<Hello>(to_json(hello));
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->platform.command_line.starts_with("rdma-perf \\x1b[2Jxxx"))
        << back->platform.command_line;
    EXPECT_LE(back->platform.command_line.size(), 261U) << "it is bounded";
}

TEST(Platform, TravelsInTheGreeting) {
    Hello hello = own_hello();
    hello.platform = {.cpu = "Some", .governor = "", .rdma_core = "44.0"};
    const base::Json json = to_json(hello);
    EXPECT_EQ(json["cpu_model"], "Some");
    EXPECT_FALSE(json.contains("governor"));
    const auto back = parse<Hello>(json);
    ASSERT_TRUE(back);
    EXPECT_EQ(to_json(*back), json);
}

}  // namespace
}  // namespace perf
