// SPDX-License-Identifier: Apache-2.0
// Every kind of bad annotation is refused with a line that names key and value and says what to do.
#include <gtest/gtest.h>

#include "hook/request/request.h"

namespace hook {
namespace {

struct BadRequest {
    Annotations annotations;
    std::vector<std::string> says;
    Code code = Code::BadInput;
};

void expect_bad_request(const std::vector<BadRequest>& table, const Config& config = {}) {
    for (const auto& row : table) {
        std::string input;
        for (const auto& [key, value] : row.annotations)
            input += base::printable(key) + "=" + base::printable(value) + " ";
        const auto request = parse_request(row.annotations, config);
        if (request) {
            ADD_FAILURE() << input << "was taken";
            continue;
        }
        const std::string line = request.error().message();
        EXPECT_EQ(request.error().code, row.code) << line;
        EXPECT_FALSE(request.error().fix.empty()) << line;
        EXPECT_EQ(line, base::printable(line, line.size())) << "control characters";
        for (const auto& part : row.says)
            EXPECT_NE(line.find(part), std::string::npos)
                << input << "\nsays: " << line << "\nnot:  " << part;
    }
}

// Bad values of one key, beside rdma.mode=softroce.
void expect_bad_values(const std::string& key,
                       const std::vector<std::string>& values,
                       const std::string& says) {
    std::vector<BadRequest> table;
    for (const auto& value : values)
        table.push_back({.annotations = {{"rdma.mode", "softroce"}, {"rdma." + key, value}},
                         .says = {"rdma." + key + "='" + base::printable(value), says}});
    expect_bad_request(table);
}

TEST(RequestBadInput, Keys) {
    const std::pair<std::string, std::string> mode{"rdma.mode", "softroce"};
    expect_bad_request({
        {{mode, {"rdma.mttu", "9"}},
         {"unknown annotation rdma.mttu='9'", "did you mean rdma.mtu?"}},
        {{mode, {"rdma.Mode", "x"}}, {"rdma.Mode", "did you mean rdma.mode?"}},
        {{mode, {"rdma.address", "x"}}, {"rdma.address='x'", "known keys: mode, pool, parent"}},
        {{mode, {"rdma.", "x"}}, {"unknown annotation rdma.='x'"}},
        {{mode, {"rdma.3", "x"}}, {"unknown annotation rdma.3='x'"}},
        {{mode, {"rdma.3.", "x"}}, {"unknown annotation rdma.3.='x'"}},
        {{mode, {"rdma.x.mtu", "x"}}, {"rdma.x.mtu", "did you mean rdma.mtu?"}},
        {{mode, {"rdma.1.2.mtu", "x"}}, {"rdma.1.2.mtu", "did you mean rdma.mtu?"}},
        {{mode, {"rdma.mtu ", "9000"}}, {"unknown annotation rdma.mtu ='9000'"}},
        {{mode, {"rdma.mtu\n", "9000"}}, {"rdma.mtu\\x0a"}},
        {{mode, {"rdma.\x1b[2J", "x"}}, {"rdma.\\x1b[2J"}},
        {{mode, {"rdma." + std::string(100000, 'x'), "x"}}, {"rdma.xxxx", "..."}},
    });
}

TEST(RequestBadInput, Indexes) {
    for (const std::string index : {"16", "00", "01", "99999999999999999999999", "015"})
        expect_bad_request({{{{"rdma." + index + ".mode", "vf"}},
                             {"rdma." + index + ".mode='vf'", "bad index '", "0 to 15"}}});
    expect_bad_request({
        {{{"rdma.0.mode", "vf"}, {"rdma.mode", "vf"}},
         {"rdma.mode='vf' and rdma.0.mode='vf' set the same", "remove one"}},
        {{{"rdma.mode", "vf"}, {"rdma.0.mtu", "1500"}, {"rdma.mtu", "1500"}},
         {"rdma.mtu='1500' and rdma.0.mtu='1500' set the same"}},
        {{{"rdma.mode", "vf"}, {"rdma.0.optional", "true"}, {"rdma.optional", "false"}},
         {"rdma.optional='false' and rdma.0.optional='true' set"}},
        {{{"rdma.mode", "vf"}, {"rdma.1.memlock", "1"}},
         {"rdma.1.memlock='1' has an index", "set rdma.memlock"}},
        {{{"rdma.mode", "vf"}, {"rdma.2.optional", "true"}}, {"set rdma.optional instead"}},
    });
}

TEST(RequestBadInput, Modes) {
    expect_bad_request({
        {{{"rdma.ip", "none"}},
         {"rdma.mode is missing beside rdma.ip='none'", "softroce, softiwarp, shared"}},
        {{{"rdma.memlock", "1"}}, {"rdma.mode is missing beside rdma.memlock='1'"}},
        {{{"rdma.mode", "softroce"}, {"rdma.4.mtu", "1500"}},
         {"rdma.4.mode is missing beside rdma.4.mtu='1500'", "set rdma.4.mode to one of"}},
        {{{"rdma.mode", "softrose"}}, {"rdma.mode='softrose'", "did you mean softroce?"}},
        {{{"rdma.mode", "SOFTROCE"}}, {"rdma.mode='SOFTROCE' is not a mode"}},
        {{{"rdma.mode", ""}}, {"rdma.mode='' is not acceptable: the value is empty"}},
        {{{"rdma.mode", " vf"}},
         {"rdma.mode=' vf' is not a mode", "modes: softroce, softiwarp, shared, vf, asap2"}},
        {{{"rdma.mode", "vf\n"}}, {"rdma.mode='vf\\x0a'", "control character"}},
        {{{"rdma.mode", std::string(1025, 'v')}}, {"longer than 1024 bytes"}},
        {{{"rdma.mode", "vf"}, {"rdma.placement", "host"}},
         {"rdma.mode=vf does not take rdma.placement='host'",
          "vf takes mode, pool, device, provider, ip, gateway"}},
        {{{"rdma.2.mode", "shared"}, {"rdma.2.placement", "container"}},
         {"rdma.2.mode=shared does not take rdma.2.placement='container'", "remove it"}},
    });
}

TEST(RequestBadInput, Values) {
    const std::string nul("a\0b", 3);
    expect_bad_values("parent",
                      {"",
                       "lo",
                       ".",
                       "..",
                       "a/b",
                       "eth0:1",
                       "eth 0",
                       "eth%d",
                       "\xc3\xa9",
                       nul,
                       "eth0\t",
                       std::string(64, 'a')},
                      "set rdma.parent to the name of a network interface");
    expect_bad_values("ifname",
                      {"",
                       "lo",
                       "all",
                       "default",
                       ".",
                       "..",
                       "a/b",
                       "a:b",
                       "a b",
                       "rdma%d",
                       "\x7f",
                       "\xc3\xa9",
                       "sixteen-letters.",
                       nul},
                      "set rdma.ifname to a name of 1 to 15 characters");
    expect_bad_values("placement",
                      {"", "Host", "node", "host ", "container,host"},
                      "set rdma.placement to 'container' or 'host'");
    expect_bad_values("mac",
                      {"",
                       "02:00:5e:10:00",
                       "02-00-5e-10-00-01",
                       "01:00:5e:00:00:01",
                       "ff:ff:ff:ff:ff:ff",
                       "00:00:00:00:00:00",
                       "02:00:5e:10:00:0g",
                       "02:00:5e:10:00:01:02",
                       "auto"},
                      "set rdma.mac to a unicast address such as");
    expect_bad_values("mtu",
                      {"",
                       "0",
                       "575",
                       "9979",
                       "01500",
                       "+1500",
                       "-1",
                       "1500 ",
                       "0x5dc",
                       "1e3",
                       "1500.0",
                       "18446744073709551616",
                       "99999999999999999999999999",
                       "jumbo"},
                      "set rdma.mtu to a whole number of bytes from 576 to 9978");
    expect_bad_values("memlock",
                      {"",
                       "0",
                       "-1",
                       "9223372036854775808",
                       "18446744073709551615",
                       "1G",
                       "Unlimited",
                       "infinity",
                       "064"},
                      "set rdma.memlock to a whole number of bytes from 1, or to 'unlimited'");
    expect_bad_values(
        "optional", {"", "yes", "1", "True", "true "}, "set rdma.optional to 'true' or 'false'");
    expect_bad_values("pool",
                      {"", "-x", "a/b", "a b", "../x", std::string(64, 'p')},
                      "set rdma.pool to the name of a pool");
}

TEST(RequestBadInput, Addresses) {
    expect_bad_values("ip",
                      {"",
                       ",",
                       "10.9.0.1",
                       "10.9.0.1/33",
                       "10.9.0.1/",
                       "10.9.0.01/24",
                       "10.9.0.1/24,",
                       ",10.9.0.1/24",
                       "10.9.0.1/24, 10.9.0.2/24",
                       "10.9.0.1/24;10.9.0.2/24",
                       "fd00::1%eth0/64",
                       "fd00::1/129",
                       "auto,none",
                       "auto,10.9.0.1/24",
                       "AUTO",
                       "dhcp",
                       "10.9.0.1/255.255.255.0"},
                      "set rdma.ip to 'auto', 'none' or up to 16 addresses");
    expect_bad_values("ip",
                      {"10.9.0.0/24",
                       "10.9.0.255/24",
                       "0.0.0.0/0",
                       "127.0.0.1/8",
                       "224.0.0.1/24",
                       "255.255.255.255/32",
                       "::/64",
                       "::1/128",
                       "ff02::1/64",
                       "::ffff:10.9.0.1/120",
                       "10.9.0.1/0"},
                      "cannot be the address of a host");
    expect_bad_values(
        "ip",
        {"10.9.0.1/24,10.9.0.1/24", "10.9.0.1/24,10.9.0.1/16", "fd00::1/64,fd00:0::1/64"},
        "is there twice");
    std::string many = "10.9.0.1/24";
    for (int i = 2; i <= 17; ++i)
        many += ",10.9.0." + std::to_string(i) + "/24";
    expect_bad_values("ip", {many}, "more than 16 addresses");
}

TEST(RequestBadInput, KeysThatDoNotGoTogether) {
    const std::pair<std::string, std::string> mode{"rdma.mode", "softroce"};
    const std::pair<std::string, std::string> host{"rdma.placement", "host"};
    const std::pair<std::string, std::string> engine{"rdma.parent", "container"};
    std::vector<BadRequest> table;
    for (const auto& [key, value] : Annotations{{"ip", "10.9.0.1/24"},
                                                {"mac", "02:00:00:00:00:01"},
                                                {"mtu", "1500"},
                                                {"ifname", "ib0"}}) {
        table.push_back({{mode, host, {"rdma." + key, value}},
                         {"rdma." + key + "='" + value + "' does not go with rdma.placement=host",
                          "remove rdma." + key}});
        if (key != "ip")
            table.push_back(
                {{mode, engine, {"rdma." + key, value}},
                 {"rdma." + key + "='" + value + "' does not go with rdma.parent=container"}});
    }
    table.push_back(
        {{mode, host, engine}, {"rdma.parent=container does not go with rdma.placement=host"}});
    table.push_back({{{"rdma.mode", "shared"}, engine},
                     {"rdma.parent=container does not go with mode shared", "of the host"}});
    table.push_back({{mode, engine, {"rdma.ip", "auto"}},
                     {"rdma.ip='auto' does not go with rdma.parent=container"}});
    table.push_back({{mode, {"rdma.ip", "auto"}},
                     {"rdma.ip='auto' needs a pool with a range", "/etc/rdma-hook/config.json"}});
    table.push_back({{mode, {"rdma.ip", "fd00::1/64"}, {"rdma.mtu", "1279"}},
                     {"rdma.mtu='1279' is too small for IPv6", "at least 1280"}});
    expect_bad_request(table);
}

TEST(RequestBadInput, AttachmentsThatDoNotGoTogether) {
    const auto two = [](const Annotations& more) {
        Annotations all{{"rdma.mode", "softroce"}, {"rdma.1.mode", "softroce"}};
        all.insert(more.begin(), more.end());
        return all;
    };
    expect_bad_request({
        {two({{"rdma.ifname", "rdma1"}}),
         {"attachments 0 and 1 both ask for the interface name rdma1", "rdma.1.*"}},
        {two({{"rdma.mac", "02:00:00:00:00:01"}, {"rdma.1.mac", "02:00:00:00:00:01"}}),
         {"the MAC address 02:00:00:00:00:01"}},
        {two({{"rdma.ip", "10.9.0.1/24"}, {"rdma.1.ip", "10.9.0.2/24,10.9.0.1/16"}}),
         {"the address 10.9.0.1"}},
        {two({{"rdma.placement", "host"}, {"rdma.1.placement", "host"}}),
         {"the device of the same parent"}},
        {two({{"rdma.parent", "container"}, {"rdma.1.parent", "container"}}),
         {"the device of the same parent"}},
    });
    EXPECT_TRUE(parse_request(
        two({{"rdma.placement", "host"}, {"rdma.1.placement", "host"}, {"rdma.1.parent", "eth1"}}),
        Config{}));
}
}  // namespace
}  // namespace hook
