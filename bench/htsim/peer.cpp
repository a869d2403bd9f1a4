// The networks of bench/star.toml and bench/fat-tree-128.toml in htsim (csg-htsim):
//
//     peer star|fat-tree MICROSECONDS
//
// prints a line of JSON at the end. A packet-hop is a packet, data or ACK, that a queue has put on
// its link.

#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "pipe.h"
#include "route.h"
#include "tcp.h"

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace
{

constexpr int SEGMENT = 1448;
constexpr int PACKET = 1490;
constexpr mem_b MARK_ABOVE = 65 * PACKET;

uint64_t g_packetHops = 0;

/// A link's propagation, which counts the packets that enter it.
class Wire : public Pipe
{
  public:
    explicit Wire(EventList& events)
        : Pipe(timeFromUs(1.0), events)
    {
    }

    void receivePacket(Packet& packet) override
    {
        ++g_packetHops;
        Pipe::receivePacket(packet);
    }
};

/// A queue and the link behind it.
struct Link
{
    Link(EventList& events, double gbps, mem_b room, mem_b mark_above)
        : queue(speedFromMbps(gbps * 1000), room, events, nullptr, mark_above),
          wire(events)
    {
    }

    ECNQueue queue;
    Wire wire;
};

/// A node: its level (0 for hosts), and its number there.
using Node = std::pair<int, int>;

/// Links by their ends, made at the first use.
class Network
{
  public:
    Network(EventList& events, double gbps, mem_b room)
        : m_events(events),
          m_gbps(gbps),
          m_room(room)
    {
    }

    /// The way along these nodes: a host holds what its windows allow and marks nothing.
    Route* route(const std::vector<Node>& nodes)
    {
        auto* way = new Route();
        for (size_t i = 0; i + 1 < nodes.size(); ++i)
        {
            auto& link = m_links[{nodes[i], nodes[i + 1]}];
            if (!link)
            {
                const bool host = nodes[i].first == 0;
                const mem_b endless = mem_b(1) << 40;
                link = std::make_unique<Link>(m_events, m_gbps, host ? endless : m_room,
                                              host ? endless : MARK_ABOVE);
            }
            way->push_back(&link->queue);
            way->push_back(&link->wire);
        }
        return way;
    }

  private:
    EventList& m_events;
    double m_gbps;
    mem_b m_room;
    std::map<std::pair<Node, Node>, std::unique_ptr<Link>> m_links;
};

double
userSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
}

/// A long-lived DCTCP flow there and back.
TcpSink*
connect(EventList& events, TcpRtxTimerScanner& timers, Route* there, Route* back,
        simtime_picosec start)
{
    auto* source = new DCTCPSrc(nullptr, nullptr, events);
    auto* sink = new TcpSink();
    there->push_back(sink);
    back->push_back(source);
    source->connect(*there, *back, *sink, start);
    timers.registerTcp(*source);
    return sink;
}

/// Ten senders, a switch, a receiver.
std::vector<TcpSink*>
star(EventList& events, TcpRtxTimerScanner& timers)
{
    auto* network = new Network(events, 10, 500 * PACKET);
    std::vector<TcpSink*> sinks;
    const Node receiver{0, 10}, hub{1, 0};
    for (int i = 0; i < 10; ++i)
    {
        const Node sender{0, i};
        sinks.push_back(connect(events, timers, network->route({sender, hub, receiver}),
                                network->route({receiver, hub, sender}), timeFromUs(10.0 * i)));
    }
    return sinks;
}

/// Host i of a pod sends to host i of the pod 1 + (i mod 7) further on, over a core that is drawn.
std::vector<TcpSink*>
fatTree(EventList& events, TcpRtxTimerScanner& timers)
{
    constexpr int k = 8, half = k / 2, perPod = half * half;
    auto* network = new Network(events, 100, 4'000'000);
    std::mt19937 draw(1);
    std::uniform_int_distribution<int> uplink(0, half - 1);
    auto way = [&](int from, int to) {
        const int up = uplink(draw), core = up * half + uplink(draw);
        const int pods[2] = {from / perPod, to / perPod};
        return network->route({{0, from},
                               {1, from / half},
                               {2, pods[0] * half + up},
                               {3, core},
                               {2, pods[1] * half + up},
                               {1, to / half},
                               {0, to}});
    };
    std::vector<TcpSink*> sinks;
    for (int from = 0; from < k * perPod; ++from)
    {
        const int host = from % perPod;
        const int to = (from / perPod + 1 + host % (k - 1)) % k * perPod + host;
        auto* there = way(from, to);
        sinks.push_back(connect(events, timers, there, way(to, from), 0));
    }
    return sinks;
}

} // namespace

int
main(int argc, char** argv)
{
    const std::string name = argc > 1 ? argv[1] : "";
    const double microseconds = argc > 2 ? std::atof(argv[2]) : 0;
    if ((name != "star" && name != "fat-tree") || microseconds <= 0)
    {
        std::cerr << "peer star|fat-tree MICROSECONDS\n";
        return 2;
    }
    Packet::set_packet_size(PACKET);
    EventList events;
    const simtime_picosec end = timeFromUs(microseconds);
    events.setEndtime(end);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    const auto sinks = name == "star" ? star(events, timers) : fatTree(events, timers);
    auto received = [&] {
        uint64_t bytes = 0;
        for (const auto* sink : sinks)
        {
            bytes += sink->_cumulative_ack;
        }
        return bytes;
    };

    uint64_t before = 0;
    const double began = userSeconds();
    while (events.doNextEvent())
    {
        if (before == 0 && events.now() >= end / 2)
        {
            before = received();
        }
    }
    const double seconds = userSeconds() - began;
    const double bits = double(received() - before) * 8 * SEGMENT / PACKET;
    std::cout << "{\"packet_hops\": " << g_packetHops << ", \"user_s\": " << seconds
              << ", \"goodput_gbps\": " << bits / (microseconds / 2) / 1e3 << "}" << std::endl;
}
