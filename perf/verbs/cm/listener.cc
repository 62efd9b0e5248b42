// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <sys/random.h>

#include "perf/protocol/message.h"
#include "perf/verbs/cm/connection.h"

namespace perf {

namespace {
// Requests that wait to be read; more of them the kernel refuses.
constexpr int kCmBacklog = 64;
}  // namespace

// The lanes of a listener on their way.
class CmAcceptor {
  public:
    CmAcceptor(const CmBound& bound, const CmTicket& ticket, std::span<const CmQueue> queues)
        : bound_(&bound), ticket_(&ticket), queues_(queues), lanes_(queues.size()) {}

    [[nodiscard]] size_t established() const {
        return static_cast<size_t>(std::ranges::count_if(
            lanes_, [](const auto& lane) { return lane && lane->established_; }));
    }

    // True if a lane came further by it.
    Result<bool> take(const rdma_cm_event& event) {
        if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
            return take_request(event);
        const auto lane = std::ranges::find_if(
            lanes_, [&](const auto& each) { return each && each->bound_.id.get() == event.id; });
        const bool ours = lane != lanes_.end();
        if (is_no_matter(event.event) || (!ours && event.id != bound_->id.get()))
            return false;
        if (!ours || event.event != RDMA_CM_EVENT_ESTABLISHED || event.status != 0)
            return event_error(event, bound_->device.iwarp);
        (*lane)->established_ = true;
        return true;
    }

    std::vector<CmConnection> finish() {
        std::vector<CmConnection> out;
        for (auto& lane : lanes_)
            out.push_back(std::move(*lane));
        return out;
    }

  private:
    Result<bool> take_request(const rdma_cm_event& event) {
        Cm& cm = *bound_->cm;
        CmOwned<rdma_cm_id> id(event.id, CmRelease{&cm});
        const rdma_conn_param& asked = event.param.conn;
        const auto tag =
            decode_tag({static_cast<const std::byte*>(asked.private_data), asked.private_data_len});
        const bool ours = tag && tag->nonce == ticket_->nonce && tag->lane < lanes_.size();
        if (!ours || lanes_[tag->lane]) {
            (void)cm.reject(id.get());  // whoever asked may have gone: then nobody misses it
            return false;
        }
        CmBound bound{
            .cm = &cm, .channel = bound_->channel, .id = std::move(id), .device = bound_->device};
        lanes_[tag->lane] = CmConnection(std::move(bound));
        TRY(accept_lane(*lanes_[tag->lane], queues_[tag->lane], asked)
                .context(fmt::format("accept lane {} by rdma_cm", tag->lane)));
        return true;
    }

    static Result<> accept_lane(CmConnection& lane,
                                const CmQueue& queue,
                                const rdma_conn_param& asked) {
        Cm& cm = *lane.bound_.cm;
        auto path = move_to_rts(queue, lane.bound_);
        if (!path) {
            (void)cm.reject(lane.bound_.id.get());
            return std::move(path).error();
        }
        lane.path_ = *path;
        rdma_conn_param param = connection_parameters(queue);
        param.responder_resources = std::min(param.responder_resources, asked.responder_resources);
        param.initiator_depth = std::min(param.initiator_depth, asked.initiator_depth);
        if (cm.accept(lane.bound_.id.get(), &param) != 0)
            return call_error("accept the connection");
        return {};
    }

    const CmBound* bound_;
    const CmTicket* ticket_;
    std::span<const CmQueue> queues_;
    std::vector<std::optional<CmConnection>> lanes_;
};

Result<CmListener> CmListener::open(Cm& cm, const CmPlace& place) {
    CmBound bound = TRY(bind_id(cm, place));
    if (cm.listen(bound.id.get(), kCmBacklog) != 0)
        return call_error(fmt::format("listen by rdma_cm on {}", place.address.text()));
    CmTicket ticket;
    ticket.port = cm.port_of(bound.id.get());
    ticket.confirm = bound.device.iwarp;
    if (::getrandom(&ticket.nonce, sizeof ticket.nonce, 0) != sizeof ticket.nonce)
        return sys_error("getrandom");
    return CmListener(std::move(bound), ticket);
}

Result<> CmListener::init(const CmQueue& queue) {
    return move_to_init(queue, bound_);
}

Result<std::vector<CmConnection>> CmListener::accept(std::span<const CmQueue> queues,
                                                     const CmWait& wait) {
    CmAcceptor lanes(bound_, ticket_, queues);
    Deadline deadline = wait.step();
    for (size_t ready = 0; ready < queues.size(); ready = lanes.established()) {
        const auto where =
            fmt::format("wait for the client by rdma_cm on port {} ({} of {} lanes connected)",
                        ticket_.port,
                        ready,
                        queues.size());
        const auto event =
            TRY(next_event(*bound_.cm, bound_.channel, deadline, wait).context(where));
        if (TRY(lanes.take(*event).context(where)))
            deadline = wait.step();
    }
    return lanes.finish();
}

}  // namespace perf
