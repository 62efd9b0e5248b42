// SPDX-License-Identifier: Apache-2.0
// Requests of the room for e-switches, and the values that it reads from recorded and made-up
// answers.
#include "netns/kernel/devlink_message.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>

#include "netns/values/pci_address.h"
#include "tests/unit/netns/genl_messages.h"
#include "tests/unit/netns/recorded_eswitch.h"

namespace netns {
namespace {

using netlink::Attributes;
using netlink::GenlFamily;
using netlink::Reply;
using netlink::Request;
using test::genl_reply;
using test::recorded_replies;
using test::sent;

constexpr char kDevice[] = "netdevsim/netdevsim1";
constexpr GenlFamily kDevlinkFamily{.id = 24, .version = devlink::kVersion};

std::vector<DevlinkPort> ports_in(std::string_view hex, const std::string& device) {
    std::vector<DevlinkPort> all;
    for (const auto& reply : recorded_replies(hex)) {
        if (const auto port = devlink::parse_port(reply, device))
            all.push_back(*port);
    }
    return all;
}

// A port of pci/0000:03:00.0 as mlx5 has it.
class PortMaker {
  public:
    explicit PortMaker(uint16_t flavour) {
        request_.put(DEVLINK_ATTR_BUS_NAME, "pci")
            .put(DEVLINK_ATTR_DEV_NAME, "0000:03:00.0")
            .put(DEVLINK_ATTR_PORT_INDEX, uint32_t{65535})
            .put16(DEVLINK_ATTR_PORT_FLAVOUR, flavour);
    }

    PortMaker& number(int attribute, uint32_t value) {
        request_.put(attribute, value);
        return *this;
    }

    PortMaker& number16(int attribute, uint16_t value) {
        request_.put16(attribute, value);
        return *this;
    }

    PortMaker& number8(int attribute, uint8_t value) {
        request_.put8(attribute, value);
        return *this;
    }

    // A function of the PF 0, behind a controller.
    PortMaker& of_pf(uint32_t controller, bool external) {
        return number(DEVLINK_ATTR_PORT_CONTROLLER_NUMBER, controller)
            .number16(DEVLINK_ATTR_PORT_PCI_PF_NUMBER, 0)
            .number8(DEVLINK_ATTR_PORT_EXTERNAL, external ? 1 : 0);
    }

    DevlinkPort port() {
        return devlink::parse_port(genl_reply(request_), "pci/0000:03:00.0").value();
    }

    std::string name() { return port().name; }

  private:
    Request request_ = netlink::genl_request(kDevlinkFamily, DEVLINK_CMD_PORT_NEW);
};

TEST(DevlinkHandle, IsABusAndADevice) {
    for (const char* handle : {"pci/0000:03:00.0",
                               "netdevsim/netdevsim1",
                               "auxiliary/mlx5_core.sf.4",
                               "spi/spi0.0",
                               "platform/soc@0"})
        EXPECT_TRUE(is_devlink_handle(handle)) << handle;
    for (const char* text : {"",
                             "/",
                             "pci",
                             "pci/",
                             "/0000:03:00.0",
                             "pci/0000:03:00.0/1",
                             "pci//1",
                             "../pci",
                             "pci/..",
                             "pci/a..b",
                             "pci/a b",
                             "pci/a\n",
                             "pci/\x80"})
        EXPECT_FALSE(is_devlink_handle(text)) << text;
}

TEST(Genl, AFamilyIsFoundByName) {
    Request request = netlink::family_request("devlink");
    const auto [type, command, version, attributes] = sent(request);
    EXPECT_EQ(type, GENL_ID_CTRL);
    EXPECT_EQ(command, CTRL_CMD_GETFAMILY);
    EXPECT_EQ(version, 2);
    EXPECT_EQ(attributes.text(CTRL_ATTR_FAMILY_NAME), "devlink");
    const auto replies = recorded_replies(test::recorded::kDevlinkFamily);
    EXPECT_EQ(netlink::parse_family(replies.at(0)), 24);
    EXPECT_FALSE(netlink::parse_family({}));
    EXPECT_FALSE(netlink::parse_family(genl_reply(request))) << "no number";
}

TEST(DevlinkMessage, RequestsNameTheDevice) {
    Request get = devlink::eswitch_request(kDevlinkFamily, kDevice);
    Request mode = devlink::mode_request(kDevlinkFamily, kDevice, EswitchMode::Switchdev);
    Request inlined = devlink::inline_mode_request(kDevlinkFamily, kDevice, InlineMode::Transport);
    Request list = devlink::ports_request(kDevlinkFamily, kDevice);
    const std::pair<Request*, int> all[] = {{&get, DEVLINK_CMD_ESWITCH_GET},
                                            {&mode, DEVLINK_CMD_ESWITCH_SET},
                                            {&inlined, DEVLINK_CMD_ESWITCH_SET},
                                            {&list, DEVLINK_CMD_PORT_GET}};
    for (const auto& [request, expected] : all) {
        const auto [type, command, version, attributes] = sent(*request);
        EXPECT_EQ(type, 24);
        EXPECT_EQ(command, expected);
        EXPECT_EQ(version, 1);
        EXPECT_EQ(attributes.text(DEVLINK_ATTR_BUS_NAME), "netdevsim");
        EXPECT_EQ(attributes.text(DEVLINK_ATTR_DEV_NAME), "netdevsim1");
    }
    EXPECT_EQ(sent(get).attributes.all().size(), 2U);
    EXPECT_EQ(sent(list).attributes.all().size(), 2U);
    EXPECT_EQ(sent(mode).attributes.u16(DEVLINK_ATTR_ESWITCH_MODE), 1);
    EXPECT_EQ(sent(mode).attributes.all().size(), 3U) << "what is not to change is not sent";
    EXPECT_EQ(sent(inlined).attributes.u8(DEVLINK_ATTR_ESWITCH_INLINE_MODE), 3);
    EXPECT_EQ(sent(inlined).attributes.all().size(), 3U);
    Request legacy = devlink::mode_request(kDevlinkFamily, kDevice, EswitchMode::Legacy);
    EXPECT_EQ(sent(legacy).attributes.u16(DEVLINK_ATTR_ESWITCH_MODE), 0);
    Request none = devlink::eswitch_request(kDevlinkFamily, "netdevsim");
    EXPECT_EQ(sent(none).attributes.text(DEVLINK_ATTR_DEV_NAME), "");
}

TEST(DevlinkMessage, RecordedEswitches) {
    const auto legacy =
        devlink::parse_eswitch(recorded_replies(test::recorded::kEswitchLegacy).at(0));
    EXPECT_EQ(legacy.value(), Eswitch{});
    const auto switchdev =
        devlink::parse_eswitch(recorded_replies(test::recorded::kEswitchSwitchdev).at(0));
    const Eswitch expected{.mode = EswitchMode::Switchdev, .inline_mode = {}};
    EXPECT_EQ(switchdev.value(), expected);
}

TEST(DevlinkMessage, AnEswitchAsMlx5HasIt) {
    for (const auto& [number, mode] : {std::pair{0, InlineMode::None},
                                       {1, InlineMode::Link},
                                       {2, InlineMode::Network},
                                       {3, InlineMode::Transport}}) {
        Request answer = netlink::genl_request(kDevlinkFamily, DEVLINK_CMD_ESWITCH_GET);
        answer.put16(DEVLINK_ATTR_ESWITCH_MODE, 1)
            .put8(DEVLINK_ATTR_ESWITCH_INLINE_MODE, static_cast<uint8_t>(number))
            .put8(DEVLINK_ATTR_ESWITCH_ENCAP_MODE, 1);
        const Eswitch expected{.mode = EswitchMode::Switchdev, .inline_mode = mode};
        EXPECT_EQ(devlink::parse_eswitch(genl_reply(answer)).value(), expected);
    }
}

TEST(DevlinkMessage, AnEswitchThatIsNone) {
    Request answer = netlink::genl_request(kDevlinkFamily, DEVLINK_CMD_ESWITCH_GET);
    EXPECT_EQ(devlink::parse_eswitch(genl_reply(answer)).value(), std::nullopt);
    answer.put(DEVLINK_ATTR_ESWITCH_MODE, uint32_t{1});
    EXPECT_EQ(devlink::parse_eswitch(genl_reply(answer)).value(), std::nullopt) << "32 bits";
    Request third = netlink::genl_request(kDevlinkFamily, DEVLINK_CMD_ESWITCH_GET);
    third.put16(DEVLINK_ATTR_ESWITCH_MODE, 2);
    EXPECT_EQ(devlink::parse_eswitch(genl_reply(third)).error().code, base::Code::Unsupported);
    EXPECT_EQ(devlink::parse_eswitch({}).error().code, base::Code::Internal);
}

TEST(DevlinkMessage, RecordedPorts) {
    const std::vector<DevlinkPort> expected{
        {.index = 0, .flavour = PortFlavour::Physical, .name = "p1", .netdev = 3},
        {.index = 128, .flavour = PortFlavour::PciVf, .name = "pf0vf0", .netdev = 7},
        {.index = 129, .flavour = PortFlavour::PciVf, .name = "pf0vf1", .netdev = 8}};
    EXPECT_EQ(ports_in(test::recorded::kPortsOfOne, kDevice), expected);
    EXPECT_EQ(ports_in(test::recorded::kPortsOfAll, kDevice), expected)
        << "a kernel before 6.6 tells the ports of all devices";
    EXPECT_EQ(ports_in(test::recorded::kPortsOfAll, "netdevsim/netdevsim2").size(), 3U);
    EXPECT_TRUE(ports_in(test::recorded::kPortsOfAll, "netdevsim/netdevsim").empty());
    EXPECT_TRUE(ports_in(test::recorded::kPortsOfAll, "").empty());
}

TEST(DevlinkMessage, NamesOfPorts) {
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PHYSICAL}.number(DEVLINK_ATTR_PORT_NUMBER, 0).name(),
              "p0");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PHYSICAL}
                  .number(DEVLINK_ATTR_PORT_NUMBER, 0)
                  .number(DEVLINK_ATTR_PORT_SPLIT_GROUP, 0)
                  .number(DEVLINK_ATTR_PORT_SPLIT_SUBPORT_NUMBER, 1)
                  .name(),
              "p0s1");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PHYSICAL}
                  .number(DEVLINK_ATTR_PORT_NUMBER, 2)
                  .number(DEVLINK_ATTR_LINECARD_INDEX, 1)
                  .name(),
              "l1p2");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_PF}.of_pf(0, false).name(), "pf0");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_PF}.of_pf(1, true).name(), "c1pf0");
    PortMaker vf{DEVLINK_PORT_FLAVOUR_PCI_VF};
    vf.of_pf(0, false).number16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 3);
    const DevlinkPort expected{
        .index = 65535, .flavour = PortFlavour::PciVf, .name = "pf0vf3", .netdev = 0};
    EXPECT_EQ(vf.port(), expected);
    EXPECT_EQ(vf.number(DEVLINK_ATTR_PORT_NETDEV_IFINDEX, 17).port().netdev, 17U);
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_VF}
                  .of_pf(1, true)
                  .number16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 3)
                  .name(),
              "c1pf0vf3");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_VF}
                  .of_pf(1, false)
                  .number16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 3)
                  .name(),
              "pf0vf3")
        << "a controller is named only if it is another host's";
    PortMaker sf{DEVLINK_PORT_FLAVOUR_PCI_SF};
    sf.of_pf(0, false).number(DEVLINK_ATTR_PORT_PCI_SF_NUMBER, 88);
    EXPECT_EQ(sf.name(), "pf0sf88");
    EXPECT_EQ(sf.port().flavour, PortFlavour::PciSf);
}

TEST(DevlinkMessage, PortsWithoutAName) {
    for (const uint16_t flavour : {DEVLINK_PORT_FLAVOUR_CPU,
                                   DEVLINK_PORT_FLAVOUR_DSA,
                                   DEVLINK_PORT_FLAVOUR_VIRTUAL,
                                   DEVLINK_PORT_FLAVOUR_UNUSED}) {
        const auto port = PortMaker{flavour}.number(DEVLINK_ATTR_PORT_NUMBER, 0).port();
        EXPECT_EQ(port.flavour, PortFlavour::Other) << flavour;
        EXPECT_EQ(port.name, "") << flavour;
    }
    EXPECT_EQ(PortMaker{99}.port().flavour, PortFlavour::Other);
    // Numbers that are missing.
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PHYSICAL}.name(), "");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PHYSICAL}
                  .number(DEVLINK_ATTR_PORT_SPLIT_SUBPORT_NUMBER, 1)
                  .name(),
              "");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_VF}.of_pf(0, false).name(), "");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_SF}.of_pf(0, false).name(), "");
    EXPECT_EQ(
        PortMaker{DEVLINK_PORT_FLAVOUR_PCI_VF}.number16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 3).name(),
        "");
    EXPECT_EQ(PortMaker{DEVLINK_PORT_FLAVOUR_PCI_PF}
                  .number16(DEVLINK_ATTR_PORT_PCI_PF_NUMBER, 0)
                  .number8(DEVLINK_ATTR_PORT_EXTERNAL, 1)
                  .name(),
              "");
}

TEST(DevlinkMessage, EveryTruncationIsSurvived) {
    for (const auto& hex : {test::recorded::kPortsOfOne, test::recorded::kEswitchLegacy}) {
        for (const auto& whole : recorded_replies(hex)) {
            for (size_t size = 0; size < whole.payload.size(); ++size) {
                const Reply cut = test::cut(whole, size);
                const auto port = devlink::parse_port(cut, kDevice);
                EXPECT_TRUE(!port || port->index <= 129U);
                (void)devlink::parse_eswitch(cut);
                (void)netlink::parse_family(cut);
            }
        }
    }
}

TEST(DevlinkRefusals, AnEswitchThatIsAnothersIsNone) {
    for (const int number : {ENODEV, EOPNOTSUPP, EPERM})
        EXPECT_TRUE(devlink::lacks_eswitch(base::sys_error(number, "ask"))) << number;
    for (const int number : {EBUSY, EINVAL, ENOMEM})
        EXPECT_FALSE(devlink::lacks_eswitch(base::sys_error(number, "ask"))) << number;
}

TEST(DevlinkRefusals, ADriversSentenceIsItsOwnAdvice) {
    base::Error refusal = base::sys_error(EPERM, "set the mode");
    EXPECT_EQ(devlink::explain_change(refusal).fix, "run as root");
    refusal.extack = "multi-PF netdev (Socket Direct) is configured";
    EXPECT_EQ(devlink::explain_change(refusal).fix, "");
    EXPECT_THAT(devlink::explain_change(refusal).message(), testing::HasSubstr(refusal.extack));
    EXPECT_EQ(devlink::explain_change(base::sys_error(EBUSY, "x")).code, base::Code::Busy);
    EXPECT_EQ(devlink::explain_change(base::sys_error(EOPNOTSUPP, "x")).code,
              base::Code::Unsupported);
}

}  // namespace
}  // namespace netns
