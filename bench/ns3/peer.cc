// SPDX-License-Identifier: GPL-2.0-only
//
// The networks of bench/star.toml and bench/leaf-spine-tcp.toml in ns-3:
//
//     peer star|leaf-spine MILLISECONDS
//
// prints a line of JSON. A packet-hop is a packet that a device has sent to its end, data or ACK.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <sys/resource.h>

#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;

uint64_t g_packetHops = 0;

void
CountPacket(Ptr<const Packet>)
{
    ++g_packetHops;
}

double
UserSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
}

void
SetDefaults(uint32_t socketBuffer)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(socketBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(socketBuffer));
    // Their tick is a millisecond, and so would be that of every RTT.
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(4)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(10)));

    // A step: all are marked that find more than 65 packets, none of the others.
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", StringValue("500p"));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(1490));
    Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(65));
    Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(66));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
}

// What the two networks are made of: links with addresses of their own, and static routes.
class Network
{
  public:
    Network()
        : m_addresses("10.0.0.0", "255.255.255.252")
    {
        Ipv4StaticRoutingHelper routing;
        m_stack.SetRoutingHelper(routing);
    }

    Ptr<Node> AddNode()
    {
        auto node = CreateObject<Node>();
        m_stack.Install(node);
        return node;
    }

    // A host on `leaf`, whose number it returns.
    uint32_t AddHost(Ptr<Node> leaf, const std::string& rate)
    {
        auto host = AddNode();
        // A host has no queue discipline, and room for all that it may send.
        auto link = Connect(host, "100000p", leaf, "1p", rate);
        auto unwanted = TrafficControlHelper();
        unwanted.Uninstall(link.devices.Get(0));
        MarkAt(link.devices.Get(1), rate);
        Table(host)->SetDefaultRoute(link.addresses[1], 1);
        m_hosts.push_back({host, link.addresses[0]});
        return m_hosts.size() - 1;
    }

    // A link between switches; returns what the first calls its side, and the second's address.
    struct Uplink
    {
        uint32_t interface[2];
        Ipv4Address address[2];
    };

    Uplink AddUplink(Ptr<Node> a, Ptr<Node> b, const std::string& rate)
    {
        auto link = Connect(a, "1p", b, "1p", rate);
        MarkAt(link.devices.Get(0), rate);
        MarkAt(link.devices.Get(1), rate);
        return {{link.interfaces[0], link.interfaces[1]}, {link.addresses[0], link.addresses[1]}};
    }

    void AddRoute(Ptr<Node> node, uint32_t toHost, Ipv4Address next, uint32_t interface)
    {
        Table(node)->AddHostRouteTo(m_hosts[toHost].address, next, interface);
    }

    void AddFlow(uint32_t from, uint32_t to, Time start)
    {
        if (!m_hosts[to].listens)
        {
            PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
            m_sinks.Add(sink.Install(m_hosts[to].node));
            m_hosts[to].listens = true;
        }
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(m_hosts[to].address, PORT));
        // Whole segments, some at a time: it takes fewer instructions than the default of 512 B.
        bulk.SetAttribute("SendSize", UintegerValue(10 * 1448));
        bulk.Install(m_hosts[from].node).Start(start);
    }

    uint64_t Received() const
    {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < m_sinks.GetN(); ++i)
        {
            sum += DynamicCast<PacketSink>(m_sinks.Get(i))->GetTotalRx();
        }
        return sum;
    }

  private:
    struct Host
    {
        Ptr<Node> node;
        Ipv4Address address;
        bool listens = false;
    };

    struct Link
    {
        NetDeviceContainer devices;
        uint32_t interfaces[2];
        Ipv4Address addresses[2];
    };

    Link Connect(Ptr<Node> a, const char* queueA, Ptr<Node> b, const char* queueB, const std::string& rate)
    {
        PointToPointHelper helper;
        helper.SetDeviceAttribute("DataRate", StringValue(rate));
        helper.SetChannelAttribute("Delay", StringValue("1us"));
        auto devices = helper.Install(a, b);
        const char* room[] = {queueA, queueB};
        for (uint32_t end = 0; end < 2; ++end)
        {
            auto device = DynamicCast<PointToPointNetDevice>(devices.Get(end));
            device->GetQueue()->SetMaxSize(QueueSize(room[end]));
            device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountPacket));
        }
        auto assigned = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        return {devices,
                {assigned.Get(0).second, assigned.Get(1).second},
                {assigned.GetAddress(0), assigned.GetAddress(1)}};
    }

    static void MarkAt(Ptr<NetDevice> port, const std::string& rate)
    {
        TrafficControlHelper red;
        red.Uninstall(port);
        red.SetRootQueueDisc("ns3::RedQueueDisc",
                             "LinkBandwidth",
                             StringValue(rate),
                             "LinkDelay",
                             StringValue("1us"));
        red.Install(port);
    }

    static Ptr<Ipv4StaticRouting> Table(Ptr<Node> node)
    {
        Ipv4StaticRoutingHelper routing;
        return routing.GetStaticRouting(node->GetObject<Ipv4>());
    }

    InternetStackHelper m_stack;
    Ipv4AddressHelper m_addresses;
    std::vector<Host> m_hosts;
    ApplicationContainer m_sinks;
};

void
BuildStar(Network& network)
{
    constexpr uint32_t SENDERS = 10;
    auto hub = network.AddNode();
    for (uint32_t i = 0; i <= SENDERS; ++i)
    {
        network.AddHost(hub, "10Gbps");
    }
    for (uint32_t i = 0; i < SENDERS; ++i)
    {
        network.AddFlow(i, SENDERS, MicroSeconds(10 * i));
    }
}

void
BuildLeafSpine(Network& network)
{
    constexpr uint32_t LEAVES = 6;
    constexpr uint32_t SPINES = 4;
    constexpr uint32_t HOSTS = 16;

    std::vector<Ptr<Node>> leaves;
    for (uint32_t leaf = 0; leaf < LEAVES; ++leaf)
    {
        leaves.push_back(network.AddNode());
        for (uint32_t i = 0; i < HOSTS; ++i)
        {
            network.AddHost(leaves[leaf], "10Gbps");
        }
    }
    std::vector<Ptr<Node>> spines;
    std::vector<std::vector<Network::Uplink>> uplinks(LEAVES);
    for (uint32_t spine = 0; spine < SPINES; ++spine)
    {
        spines.push_back(network.AddNode());
        for (uint32_t leaf = 0; leaf < LEAVES; ++leaf)
        {
            uplinks[leaf].push_back(network.AddUplink(leaves[leaf], spines[spine], "40Gbps"));
            const auto& link = uplinks[leaf].back();
            for (uint32_t host = leaf * HOSTS; host < (leaf + 1) * HOSTS; ++host)
            {
                network.AddRoute(spines[spine], host, link.address[0], link.interface[1]);
            }
        }
    }

    // A path for each flow and direction, drawn once. A host has one flow to it and ACKs of one other.
    auto random = CreateObject<UniformRandomVariable>();
    auto route = [&](uint32_t from, uint32_t to) {
        const auto leaf = from / HOSTS;
        const auto& link = uplinks[leaf][random->GetInteger(0, SPINES - 1)];
        network.AddRoute(leaves[leaf], to, link.address[1], link.interface[0]);
    };
    for (uint32_t from = 0; from < LEAVES * HOSTS; ++from)
    {
        const auto to = (from + HOSTS * (1 + from % HOSTS % (LEAVES - 1))) % (LEAVES * HOSTS);
        route(from, to);
        route(to, from);
        network.AddFlow(from, to, MicroSeconds(from));
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    const std::string name = argc == 3 ? argv[1] : "";
    if (name != "star" && name != "leaf-spine")
    {
        std::cerr << "usage: peer star|leaf-spine MILLISECONDS\n";
        return 2;
    }
    const auto duration = Seconds(std::stod(argv[2]) / 1e3);
    const auto half = Seconds(duration.GetSeconds() / 2);

    SetDefaults(name == "star" ? 4'000'000 : 128'000);
    Network network;
    (name == "star" ? BuildStar : BuildLeafSpine)(network);

    uint64_t receivedBefore = 0;
    Simulator::Schedule(half, [&] { receivedBefore = network.Received(); });
    Simulator::Stop(duration);
    const auto before = UserSeconds();
    Simulator::Run();
    const auto seconds = UserSeconds() - before;
    const auto gbps = (network.Received() - receivedBefore) * 8 / 1e9 / (duration - half).GetSeconds();
    std::cout << "{\"packet_hops\": " << g_packetHops << ", \"user_s\": " << seconds
              << ", \"goodput_gbps\": " << gbps << ", \"events\": " << Simulator::GetEventCount() << "}\n";
    Simulator::Destroy();
    return 0;
}
