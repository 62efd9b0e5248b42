// SPDX-License-Identifier: Apache-2.0
// Every kind of broken configuration is an error that names the member and its value.
#include <gtest/gtest.h>

#include "hook/request/config.h"

namespace hook {
namespace {
struct BadConfig {
    std::string text;
    const char* says;
};

void expect_bad_config(const std::vector<BadConfig>& table) {
    for (const auto& row : table) {
        const auto config = parse_config(row.text);
        ASSERT_FALSE(config) << row.text;
        EXPECT_EQ(config.error().code, base::Code::BadConfig) << row.text;
        EXPECT_NE(config.error().message().find(row.says), std::string::npos)
            << row.text << "\nsays: " << config.error().message() << "\nnot:  " << row.says;
    }
}

TEST(ConfigBadInput, Documents) {
    expect_bad_config({
        {"", "the configuration is not valid JSON"},
        {"{", "not valid JSON"},
        {"[]", "'the document' must be an object, not []"},
        {R"({"pools":{},"pools":{}})", "'pools' twice"},
        {R"({"pool":{}})", "'pool' is not known; did you mean 'pools'?"},
        {R"({"pools":[]})", "'pools' must be an object, not []"},
        {R"({"pools":null})", "'pools' must be an object, not null"},
        {R"({"policy":true})", "'policy' must be an object, not true"},
        {R"({"$schema":1})", "'$schema' must be a string, not 1"},
        {R"({"runtime":"crun"})", "'runtime' must be an absolute path"},
        {R"({"runtime":"/usr/../crun"})", "not '/usr/../crun'"},
        {R"({"state_dir":1})", "'state_dir' must be a string, not 1"},
        {R"({"state_dir":"run/x"})", "'state_dir' must be an absolute path"},
        {R"({"state_dir":"/run/../var/x"})", "not '/run/../var/x'"},
        {R"({"state_dir":"/run//x"})", "not '/run//x'"},
        {R"({"state_dir":"/run/x/"})", "not '/run/x/'"},
        {R"({"state_dir":"/run/a\nb"})", "not '/run/a\\x0ab'"},
        {R"({"state_dir":"/run/)" + std::string(300, 'x') + "\"}", "of up to 200 bytes"},
        {R"({"state_dir":"/var/lib/rdma-hook"})", "'state_dir' must be below /run, not '/var/lib"},
        {R"({"state_dir":"/run"})", "must be below /run"},
        {R"({"log":{"path":"/x"}})", "'log.path' is not known"},
        {R"({"log":{"file":"x.log"}})", "'log.file' must be an absolute path"},
        {R"({"log":{"level":"verbose"}})", "'log.level' must be error, warning, info or debug"},
        {R"({"log":{"level":6}})", "'log.level' must be a string, not 6"},
    });
}

std::string pool(const std::string& members) {
    return R"({"pools":{"fast":{"mode":"softroce",)" + members + "}}}";
}

TEST(ConfigBadInput, Pools) {
    expect_bad_config({
        {R"({"pools":{"a b":{"mode":"softroce"}}})", "'pools.a b' is not a name for a pool"},
        {R"({"pools":{"":{"mode":"softroce"}}})", "'pools.' is not a name for a pool"},
        {R"({"pools":{"fast":7}})", "'pools.fast' must be an object, not 7"},
        {R"({"pools":{"fast":{}}})", "'pools.fast.mode' is missing; set it to one of softroce"},
        {R"({"pools":{"fast":{"mode":"softrose"}}})",
         "'pools.fast.mode' names the unknown mode 'softrose'; did you mean softroce?"},
        {pool(R"("parent":["eth1"])"), "'pools.fast.parent' is not known; did you mean 'parents'?"},
        {pool(R"("default":"yes")"), "'pools.fast.default' must be true or false, not \"yes\""},
        {pool(R"("parents":"eth1")"), "'pools.fast.parents' must be a list, not \"eth1\""},
        {pool(R"("parents":["eth1",2])"), "'pools.fast.parents[1]' must be a string, not 2"},
        {pool(R"("parents":["eth1","lo"])"), "'pools.fast.parents[1]' must be the name of"},
        {pool(R"("parents":["../x"])"), "not '../x'"},
        {pool(R"("parents":["a","a"])"), "'pools.fast.parents[1]' names 'a' a second time"},
        {R"({"pools":{"a":{"mode":"vf","default":true},"b":{"mode":"vf","default":true}}})",
         "'pools.b.default' is true, as that of pool a"},
        {pool(R"("defaults":{"mtu":9000})"),
         "'pools.fast.defaults.mtu' must be a string, not 9000"},
        {pool(R"("defaults":{"mtu":"1"})"), "pools.fast.defaults: mtu='1' is not acceptable"},
        {pool(R"("defaults":{"mut":"1500"})"),
         "pools.fast.defaults: 'mut' cannot be a default of a pool of mode softroce; "
         "did you mean mtu?"},
        {pool(R"("defaults":{"mac":"02:00:00:00:00:01"})"), "'mac' cannot be a default"},
        {pool(R"("defaults":{"mode":"vf"})"), "'mode' cannot be a default"},
        {pool(R"("defaults":{"memlock":"1"})"), "'memlock' cannot be a default"},
        {pool(R"("defaults":{"ip":"10.9.0.1/24"})"), "containers cannot share addresses"},
        {R"({"pools":{"a":{"mode":"vf","functions":{"0000:00:05.0":""}}}})",
         "'pools.a.functions' must be a list"},
        {R"({"pools":{"a":{"mode":"vf","functions":["eth1"]}}})",
         "'pools.a.functions[0]' must name a function, not 'eth1'"},
        {R"({"pools":{"a":{"mode":"shared","functions":[]}}})", "is not for a pool of mode shared"},
        {R"({"pools":{"a":{"mode":"vf","defaults":{"placement":"host"}}}})",
         "'placement' cannot be a default of a pool of mode vf"},
    });
}

TEST(ConfigBadInput, Ranges) {
    const auto range = [](const std::string& value) { return pool("\"range\":" + value); };
    expect_bad_config({
        {range("7"), "'pools.fast.range' must be a range or a list of ranges, not 7"},
        {range("null"), "'pools.fast.range' must be a range or a list of ranges, not null"},
        {range(R"("10.9.0.1")"), "'pools.fast.range' has the range '10.9.0.1': no '-'"},
        {range(R"("10.9.0.1-10.9.0.9")"), "not two addresses and a prefix length"},
        {range(R"("10.9.0.1/24-10.9.0.9/24")"), "not two addresses and a prefix length"},
        {range(R"("10.9.0.1 - 10.9.0.9/24")"), "not two addresses and a prefix length"},
        {range(R"("10.9.0.1-fd00::1/64")"), "not two addresses and a prefix length"},
        {range(R"("10.9.0.1-10.9.1.9/24")"), "not one subnet"},
        {range(R"("10.9.0.0-10.9.0.9/24")"), "cannot be addresses of hosts"},
        {range(R"("10.9.0.1-10.9.0.255/24")"), "cannot be addresses of hosts"},
        {range(R"("10.9.0.9-10.9.0.1/24")"), "it ends before it begins"},
        {range(R"(["10.9.0.1-10.9.0.9/24","10.8.0.1-10.8.0.9/24"])"),
         "'pools.fast.range' has the range '10.8.0.1-10.8.0.9/24': a pool has one range a family"},
        {range(R"(["10.9.0.1-10.9.0.9/24",5])"), "'pools.fast.range[1]' must be a string, not 5"},
        {range(R"(["10.9.0.1-10.9.0.9/24","x"])"), "'pools.fast.range[1]' has the range 'x'"},
    });
}

TEST(ConfigBadInput, Policies) {
    const auto policy = [](const std::string& members) { return "{\"policy\":{" + members + "}}"; };
    expect_bad_config({
        {policy(R"("mods":[])"), "'policy.mods' is not known; did you mean 'modes'?"},
        {policy(R"("modes":"softroce")"), "'policy.modes' must be a list"},
        {policy(R"("modes":["softroce","x"])"), "'policy.modes[1]' names the unknown mode 'x'"},
        {policy(R"("modes":["vf","vf"])"), "'policy.modes[1]' names 'vf' a second time"},
        {policy(R"("parents":[""])"), "'policy.parents[0]' must be the name of"},
        {policy(R"("addresses":["10.9.0.0"])"), "'policy.addresses[0]' must be a network"},
        {policy(R"("addresses":["10.9.0.1/16"])"), "such as 10.9.0.0/16, not '10.9.0.1/16'"},
        {policy(R"("addresses":["10.9.0.0/16","fd00::1/8"])"), "'policy.addresses[1]'"},
        {policy(R"("memlock":-1)"), "'policy.memlock' must be a whole number of bytes"},
        {policy(R"("memlock":1.5)"), "'policy.memlock' must be a whole number of bytes"},
        {policy(R"("memlock":"64M")"), "or \"unlimited\", not \"64M\""},
        {policy(R"("memlock":18446744073709551615)"), "not 18446744073709551615"},
        {policy(R"("mac":1)"), "'policy.mac' must be true or false, or a list of addresses, not 1"},
        {policy(R"("mac":["02:00:00:00:00"])"), "'policy.mac[0]' must be an address or a range"},
        {policy(R"("mac":["02:00:00:00:00:02-02:00:00:00:00:01"])"), "'policy.mac[0]' must be"},
        {policy(R"("mac":["02:00:00:00:00:01-"])"), "not '02:00:00:00:00:01-'"},
        {policy(R"("pools":["x"])"), "'policy.pools[0]' names the unknown pool 'x'"},
        {policy(R"("vlans":[7])"), "'policy.vlans[0]' must be a string, not 7"},
        {policy(R"("vlans":["1","0"])"), "'policy.vlans[1]' must be a VLAN or a range of them"},
        {policy(R"("vlans":["7-"])"), "not '7-'"},
        {policy(R"("vlans":["9-7"])"), "not '9-7'"},
        {policy(R"("vlans":["7-4095"])"), "from 1 to 4094"},
        {policy(R"("max_tx_rate":0)"),
         "'policy.max_tx_rate' must be a whole number from 1 to 1000000, not 0"},
        {policy(R"("min_tx_rate":"10")"), "'policy.min_tx_rate' must be a whole number"},
        {policy(R"("attachments":17)"),
         "'policy.attachments' must be a whole number from 1 to 16, not 17"},
        {policy(R"("attachments":0)"), "'policy.attachments' must be"},
        {policy(R"("guid":"true")"), "'policy.guid' must be true or false"},
        {policy(R"("char_devices":["umad0"])"), "'policy.char_devices[0]' must be a device's path"},
        {policy(R"("forbid_capabilities":true)"), "'policy.forbid_capabilities' must be a list"},
        {policy(R"("forbid_capabilities":["NET_RAW"])"),
         "'policy.forbid_capabilities[0]' must be a capability such as CAP_NET_RAW"},
        {policy(R"("forbid_capabilities":{"x":[]})"),
         "'policy.forbid_capabilities.x' names the unknown mode 'x'"},
        {policy(R"("forbid_capabilities":{"vf":"CAP_NET_RAW"})"),
         "'policy.forbid_capabilities.vf' must be a list"},
        {pool(R"("policy":[])"), "'pools.fast.policy' must be an object, not []"},
        {pool(R"("policy":{"modes":["vf"]})"), "'pools.fast.policy.modes' is not known"},
        {pool(R"("policy":{"memlock":1})"), "'pools.fast.policy.memlock' is not known"},
        {pool(R"("policy":{"vlans":["x"]})"), "'pools.fast.policy.vlans[0]' must be a VLAN"},
        {pool(R"("policy":{"bridges":["a b"]})"), "'pools.fast.policy.bridges[0]' must be"},
        {pool(R"("policy":{"addresses":["10.9.0.1/16"]})"), "'pools.fast.policy.addresses[0]'"},
        {pool(R"("policy":{"forbid_capabilities":{"vf":[]}})"),
         "'pools.fast.policy.forbid_capabilities.vf' is not for a pool of mode softroce"},
        {policy(R"("privileged":"true")"), "'policy.privileged' must be true or false"},
        {policy(R"("placement_host":null)"), "'policy.placement_host' must be true or false"},
    });
}
}  // namespace
}  // namespace hook
