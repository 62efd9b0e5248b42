// SPDX-License-Identifier: Apache-2.0
// Part of the test double rdma_rxe: with lab_hw=1 it makes RDMA devices as the driver of an adapter does (mlx5_ib), by itself, one
// for each function of a bus that has a netdev. `rdma_rxe` beside this file compiles it into the module.
//
//   - The device's parent is the function: /sys/bus/pci/devices/FUNCTION/infiniband has it.
//   - It comes lab_late_ms after the function's netdev, and goes when the function's driver is unbound. While the netdev is on its way
//     to another network namespace the device has none, and afterwards it has it again.
//   - Its node GUID is made of the function's MAC; with lab_guid=0 it is zero, if that MAC is a random one, as nobody has set it.
//   - Its port is ACTIVE lab_active_ms after the netdev has its carrier.
//   - Nobody deletes it by netlink, and its kernel name, mlx5_N, is udev's to change.
#include <linux/device.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>

#include "rxe.h"
#include "rxe_loc.h"

static bool lab_hw;
module_param(lab_hw, bool, 0444);
static uint lab_late_ms;
module_param(lab_late_ms, uint, 0644);
static uint lab_active_ms;
module_param(lab_active_ms, uint, 0644);
static bool lab_guid = true;
module_param(lab_guid, bool, 0644);

/* A function of a bus. All of it changes under lab_lock, which is taken with rtnl held, and never the other way round. */
struct lab_function {
	struct list_head list;
	struct device *parent;
	struct net_device *netdev; /* NULL while it is between two namespaces */
	u8 mac[ETH_ALEN]; /* of its node GUID */
	struct rxe_dev *rxe;
	struct delayed_work create;
	struct delayed_work activate;
};

static DEFINE_MUTEX(lab_lock);
static LIST_HEAD(lab_functions);
static struct workqueue_struct *lab_queue;

static struct lab_function *lab_find(struct device *parent)
{
	struct lab_function *f;

	list_for_each_entry(f, &lab_functions, list)
		if (f->parent == parent)
			return f;
	return NULL;
}

/* ---- the port -------------------------------------------------------------------------------------------- */
static bool lab_has_carrier(struct lab_function *f)
{
	return f->rxe && f->netdev && netif_running(f->netdev) && netif_carrier_ok(f->netdev);
}

static void lab_set_active(struct lab_function *f, bool active)
{
	struct ib_event event = {
		.device = &f->rxe->ib_dev,
		.element.port_num = 1,
		.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	if (f->rxe->lab_active == active)
		return;
	f->rxe->lab_active = active;
	ib_dispatch_event(&event);
}

static void lab_activate(struct work_struct *work)
{
	struct lab_function *f = container_of(to_delayed_work(work), struct lab_function, activate);

	mutex_lock(&lab_lock);
	if (lab_has_carrier(f))
		lab_set_active(f, true);
	mutex_unlock(&lab_lock);
}

static void lab_look(struct lab_function *f)
{
	if (!f->rxe)
		return;
	if (lab_has_carrier(f))
		queue_delayed_work(lab_queue, &f->activate, msecs_to_jiffies(lab_active_ms));
	else
		lab_set_active(f, false);
}

/* ---- a device's life --------------------------------------------------------------------------------------- */
static struct rxe_dev *lab_register(struct lab_function *f, struct net_device *netdev)
{
	struct rxe_dev *rxe = ib_alloc_device(rxe_dev, ib_dev);

	if (!rxe)
		return NULL;
	rxe->lab = true;
	ether_addr_copy(rxe->lab_mac, f->mac);
	rxe->ib_dev.dev.parent = f->parent;
	if (rxe_add(rxe, netdev->mtu, "mlx5_%d", netdev)) {
		ib_dealloc_device(&rxe->ib_dev);
		return NULL;
	}
	return rxe;
}

/* Called by rxe_register_device() when all else has been set. */
void lab_prepare(struct rxe_dev *rxe)
{
	rxe->attr.kernel_cap_flags &= ~IBK_ALLOW_USER_UNREG;
	rxe->ib_dev.node_guid = 0;
	if (!is_zero_ether_addr(rxe->lab_mac))
		addrconf_addr_eui48((u8 *)&rxe->ib_dev.node_guid, rxe->lab_mac);
	strscpy(rxe->ib_dev.node_desc, "lab", sizeof(rxe->ib_dev.node_desc));
}

static void lab_create(struct work_struct *work)
{
	struct lab_function *f = container_of(to_delayed_work(work), struct lab_function, create);
	struct net_device *netdev;
	struct rxe_dev *rxe;

	mutex_lock(&lab_lock);
	netdev = f->rxe ? NULL : f->netdev;
	dev_hold(netdev);
	mutex_unlock(&lab_lock);
	if (!netdev)
		return;
	rxe = lab_register(f, netdev); /* takes rtnl */
	mutex_lock(&lab_lock);
	f->rxe = rxe;
	if (rxe && f->netdev != netdev) /* meanwhile */
		ib_device_set_netdev(&rxe->ib_dev, f->netdev, 1);
	lab_look(f);
	mutex_unlock(&lab_lock);
	dev_put(netdev);
}

static struct lab_function *lab_new(struct device *parent)
{
	struct lab_function *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return NULL;
	f->parent = get_device(parent);
	INIT_DELAYED_WORK(&f->create, lab_create);
	INIT_DELAYED_WORK(&f->activate, lab_activate);
	list_add(&f->list, &lab_functions);
	return f;
}

/* Of one that is in no list any more. */
static void lab_remove(struct lab_function *f)
{
	cancel_delayed_work_sync(&f->create);
	cancel_delayed_work_sync(&f->activate);
	if (f->rxe)
		ib_unregister_device(&f->rxe->ib_dev);
	put_device(f->parent);
	kfree(f);
}

/* ---- netdevs ----------------------------------------------------------------------------------------------- */
static void lab_registered(struct lab_function *f, struct net_device *netdev)
{
	f->netdev = netdev;
	if (f->rxe) {
		ib_device_set_netdev(&f->rxe->ib_dev, netdev, 1);
		return;
	}
	eth_zero_addr(f->mac);
	if (lab_guid || netdev->addr_assign_type != NET_ADDR_RANDOM)
		ether_addr_copy(f->mac, netdev->dev_addr);
	queue_delayed_work(lab_queue, &f->create, msecs_to_jiffies(lab_late_ms));
}

static void lab_unregistered(struct lab_function *f)
{
	f->netdev = NULL;
	lab_look(f);
	if (f->rxe)
		ib_device_set_netdev(&f->rxe->ib_dev, NULL, 1);
}

static int lab_unbind(struct notifier_block *block, unsigned long action, void *data);
static struct notifier_block lab_pci = { .notifier_call = lab_unbind };
static struct notifier_block lab_netdevsim = { .notifier_call = lab_unbind };
static const struct bus_type *lab_netdevsim_bus;

static bool lab_is_function(struct device *parent)
{
	if (!parent || !parent->bus)
		return false;
	if (dev_is_pci(parent))
		return true;
	if (strcmp(parent->bus->name, "netdevsim"))
		return false;
	if (lab_netdevsim_bus != parent->bus && !bus_register_notifier(parent->bus, &lab_netdevsim))
		lab_netdevsim_bus = parent->bus;
	return true;
}

static int lab_notify(struct notifier_block *block, unsigned long event, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct device *parent = netdev->dev.parent;
	struct lab_function *f;

	if (!lab_is_function(parent))
		return NOTIFY_DONE;
	mutex_lock(&lab_lock);
	f = lab_find(parent);
	if (!f && event == NETDEV_REGISTER)
		f = lab_new(parent);
	if (f && !f->netdev && event == NETDEV_REGISTER)
		lab_registered(f, netdev);
	else if (f && f->netdev == netdev && event == NETDEV_UNREGISTER)
		lab_unregistered(f);
	else if (f && f->netdev == netdev && (event == NETDEV_UP || event == NETDEV_DOWN || event == NETDEV_CHANGE))
		lab_look(f);
	mutex_unlock(&lab_lock);
	return NOTIFY_DONE;
}

/* Before ib_core's, whose look for the GIDs of a netdev finds the device with it. */
static struct notifier_block lab_netdevs = { .notifier_call = lab_notify, .priority = 1 };

/* The RDMA driver goes before the netdev's. */
static int lab_unbind(struct notifier_block *block, unsigned long action, void *data)
{
	struct lab_function *f;

	if (action != BUS_NOTIFY_UNBIND_DRIVER)
		return NOTIFY_DONE;
	mutex_lock(&lab_lock);
	f = lab_find(data);
	if (f)
		list_del(&f->list);
	mutex_unlock(&lab_lock);
	if (f)
		lab_remove(f);
	return NOTIFY_DONE;
}

/* ---- the module -------------------------------------------------------------------------------------------- */
int lab_init(void)
{
	if (!lab_hw)
		return 0;
	lab_queue = alloc_workqueue("lab_hw", WQ_UNBOUND, 0);
	if (!lab_queue)
		return -ENOMEM;
	bus_register_notifier(&pci_bus_type, &lab_pci);
	return register_netdevice_notifier(&lab_netdevs);
}

void lab_exit(void)
{
	struct lab_function *f, *next;

	if (!lab_hw)
		return;
	unregister_netdevice_notifier(&lab_netdevs);
	bus_unregister_notifier(&pci_bus_type, &lab_pci);
	if (lab_netdevsim_bus)
		bus_unregister_notifier(lab_netdevsim_bus, &lab_netdevsim);
	list_for_each_entry_safe(f, next, &lab_functions, list)
		lab_remove(f);
	destroy_workqueue(lab_queue);
}
