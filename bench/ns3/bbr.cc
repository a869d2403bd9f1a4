// SPDX-License-Identifier: GPL-2.0-only
//
// Ten BBR senders into one receiver in ns-3, as scenarios/tcp-incast.toml has them:
//
//     bbr --starts=0,10,20,...  [--delay=1us] [--draft] [--fresh] [--milliseconds=100] [--trace=FILE]
//
// prints a line of JSON: mean RTT and mean queue of the second half, and the least RTT that each sender
// believes at the end. Starts are in microseconds, one for each sender. With --draft a sender's first
// pacing rate is the draft's: the initial window over the RTT of the handshake, in place of ns-3's RTT
// in whole milliseconds. With --fresh the sample of the delivery rate starts anew with each ACK, as in
// Linux and the draft; ns-3 keeps the start of the last one unless a packet of the ACK was sent at a
// later count of deliveries. With --trace each ACK of the first millisecond is a line of the file.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;
constexpr uint32_t SEGMENT = 1448;
constexpr double LINE_RATE = 1e10;

// ns-3's BBR, but for the first pacing rate.
class DraftBbr : public TcpBbr
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::DraftBbr").SetParent<TcpBbr>().AddConstructor<DraftBbr>();
        return tid;
    }

    void CongestionStateSet(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCongState_t state) override
    {
        TcpBbr::CongestionStateSet(tcb, state);
        const auto rtt = tcb->m_lastRtt.Get().GetSeconds();
        if (state == TcpSocketState::CA_OPEN && !m_opened && rtt > 0)
        {
            m_opened = true;
            const auto rate = 2.89 * tcb->m_cWnd.Get() * 8 / rtt;
            tcb->m_pacingRate = DataRate(static_cast<uint64_t>(std::min(rate, LINE_RATE)));
        }
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<DraftBbr>(this);
    }

  private:
    bool m_opened = false;
};

NS_OBJECT_ENSURE_REGISTERED(DraftBbr);

// Names a private member of a class of ns-3: an explicit instantiation may.
template <auto Member>
struct Open
{
    friend TcpRateOps::TcpRateSample& SampleOf(TcpRateLinux& rate)
    {
        return rate.*Member;
    }
};

TcpRateOps::TcpRateSample& SampleOf(TcpRateLinux& rate);
template struct Open<&TcpRateLinux::m_rateSample>;

// ns-3's samples of the delivery rate, each of which starts with its ACK.
class FreshRate : public TcpRateLinux
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::FreshRate").SetParent<TcpRateLinux>().AddConstructor<FreshRate>();
        return tid;
    }

    const TcpRateSample& GenerateSample(uint32_t delivered,
                                        uint32_t lost,
                                        bool reneged,
                                        uint32_t inFlight,
                                        const Time& minRtt) override
    {
        m_given = TcpRateLinux::GenerateSample(delivered, lost, reneged, inFlight, minRtt);
        SampleOf(*this).m_priorDelivered = 0;
        SampleOf(*this).m_priorTime = Seconds(0);
        return m_given;
    }

  private:
    TcpRateSample m_given;
};

NS_OBJECT_ENSURE_REGISTERED(FreshRate);

// Gives a socket other samples: the member is for those that derive from it.
struct Sampling : TcpSocketBase
{
    static void Replace(TcpSocketBase& socket)
    {
        socket.*(&Sampling::m_rateOps) = CreateObject<FreshRate>();
    }
};

// One sender, as its trace sources tell of it.
struct Sender
{
    uint32_t number;
    double rttUs = 0;
    double leastUs = 0;
    uint32_t cwnd = 0;
    uint32_t inFlight = 0;
    double pacingGbps = 0;
};

struct Run
{
    std::vector<std::unique_ptr<Sender>> senders;
    Time half;
    double rttSum = 0;
    uint64_t rtts = 0;
    double queueSum = 0;
    uint64_t queues = 0;
    Ptr<Queue<Packet>> port;
    std::ofstream trace;

    void Acknowledged(Sender& sender)
    {
        if (Simulator::Now() > half)
        {
            rttSum += sender.rttUs;
            ++rtts;
        }
        // What an ACK changes is all known when it has been handled.
        if (trace.is_open() && Simulator::Now() < MilliSeconds(1))
        {
            Simulator::ScheduleNow(&Run::Write, this, &sender);
        }
    }

    void Write(Sender* sender)
    {
        trace << Simulator::Now().GetNanoSeconds() / 1e3 << ',' << sender->number << ',' << sender->rttUs
              << ',' << sender->leastUs << ',' << sender->cwnd << ',' << sender->inFlight << ','
              << sender->pacingGbps << ',' << port->GetNPackets() << '\n';
    }

    void SampleQueue()
    {
        if (Simulator::Now() >= half)
        {
            queueSum += port->GetNPackets();
            ++queues;
        }
        Simulator::Schedule(MicroSeconds(10), &Run::SampleQueue, this);
    }
};

void
Follow(Run* run, Sender* sender, Ptr<BulkSendApplication> application, bool fresh)
{
    auto socket = DynamicCast<TcpSocketBase>(application->GetSocket());
    if (fresh)
    {
        Sampling::Replace(*socket);
    }
    auto connect = [](Ptr<Object> object, const char* source, auto function) {
        NS_ABORT_MSG_UNLESS(object->TraceConnectWithoutContext(source, function), "no source " << source);
    };
    connect(socket, "CongestionWindow", Callback<void, uint32_t, uint32_t>([sender](uint32_t, uint32_t now) {
                sender->cwnd = now;
            }));
    connect(socket, "BytesInFlight", Callback<void, uint32_t, uint32_t>([sender](uint32_t, uint32_t now) {
                sender->inFlight = now;
            }));
    connect(socket, "PacingRate", Callback<void, DataRate, DataRate>([sender](DataRate, DataRate now) {
                sender->pacingGbps = now.GetBitRate() / 1e9;
            }));
    connect(socket, "LastRTT", Callback<void, Time, Time>([run, sender](Time, Time now) {
                sender->rttUs = now.GetNanoSeconds() / 1e3;
                run->Acknowledged(*sender);
            }));
    PointerValue algorithm;
    socket->GetAttribute("CongestionOps", algorithm);
    connect(algorithm.GetObject(), "MinRtt", Callback<void, Time, Time>([sender](Time, Time now) {
                sender->leastUs = now.GetNanoSeconds() / 1e3;
            }));
}

void
SetDefaults(bool draft)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(draft ? DraftBbr::GetTypeId() : TcpBbr::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4'000'000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4'000'000));
    // Their tick is a millisecond, and so would be that of every RTT.
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(4)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(10)));
    // The default is 4 Gb/s, which no sender here would have.
    Config::SetDefault("ns3::TcpSocketState::MaxPacingRate", DataRateValue(DataRate("10Gbps")));
}

std::vector<double>
Numbers(const std::string& text)
{
    std::vector<double> numbers;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');)
    {
        numbers.push_back(std::stod(word));
    }
    return numbers;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string startsText = "0,10,20,30,40,50,60,70,80,90";
    std::string traceFile;
    double milliseconds = 100;
    std::string delay = "1us";
    bool draft = false;
    bool fresh = false;
    CommandLine commandLine(__FILE__);
    commandLine.AddValue("starts", "of the senders, in microseconds", startsText);
    commandLine.AddValue("delay", "of each link", delay);
    commandLine.AddValue("fresh", "a new sample of the delivery rate for each ACK", fresh);
    commandLine.AddValue("draft", "the first pacing rate as in the draft", draft);
    commandLine.AddValue("milliseconds", "how long", milliseconds);
    commandLine.AddValue("trace", "file for each ACK of the first millisecond", traceFile);
    commandLine.Parse(argc, argv);
    const auto starts = Numbers(startsText);
    SetDefaults(draft);

    Run run;
    run.half = Seconds(milliseconds / 2e3);
    if (!traceFile.empty())
    {
        run.trace.open(traceFile);
        run.trace << "time_us,flow,rtt_us,min_rtt_us,cwnd_bytes,in_flight_bytes,rate_gbps,queue_packets\n";
    }
    const auto count = static_cast<uint32_t>(starts.size());
    NodeContainer hub(1);
    NodeContainer hosts(count + 1);
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.Install(hub);
    stack.Install(hosts);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4Address receiver;
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", StringValue(delay));
    for (uint32_t i = 0; i <= count; ++i)
    {
        auto devices = link.Install(hosts.Get(i), hub.Get(0));
        auto assigned = addresses.Assign(devices);
        addresses.NewNetwork();
        // No queue discipline: a host has room for all that it may send, a port for 500 packets.
        TrafficControlHelper().Uninstall(devices);
        const char* room[] = {"100000p", "500p"};
        for (uint32_t end = 0; end < 2; ++end)
        {
            run.port = DynamicCast<PointToPointNetDevice>(devices.Get(end))->GetQueue();
            run.port->SetMaxSize(QueueSize(room[end]));
        }
        receiver = assigned.GetAddress(0);
        routing.GetStaticRouting(hosts.Get(i)->GetObject<Ipv4>())->SetDefaultRoute(assigned.GetAddress(1), 1);
    }

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
    auto sinks = sink.Install(hosts.Get(count));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, PORT));
    bulk.SetAttribute("SendSize", UintegerValue(10 * SEGMENT));
    for (uint32_t i = 0; i < count; ++i)
    {
        auto application = DynamicCast<BulkSendApplication>(bulk.Install(hosts.Get(i)).Get(0));
        const auto start = NanoSeconds(static_cast<int64_t>(starts[i] * 1e3));
        application->SetStartTime(start);
        run.senders.push_back(std::make_unique<Sender>(Sender{i}));
        // The socket is there when the application has started.
        Simulator::Schedule(start + NanoSeconds(1), &Follow, &run, run.senders.back().get(), application, fresh);
    }

    Simulator::ScheduleNow(&Run::SampleQueue, &run);
    const auto received = [&sinks] { return DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(); };
    uint64_t before = 0;
    Simulator::Schedule(run.half, [&] { before = received(); });
    Simulator::Stop(Seconds(milliseconds / 1e3));
    Simulator::Run();
    std::cout << "{\"rtt_us\": " << run.rttSum / run.rtts
              << ", \"queue_packets\": " << run.queueSum / run.queues << ", \"goodput_gbps\": "
              << (received() - before) * 8 / 1e9 / run.half.GetSeconds() << ", \"min_rtt_us\": [";
    for (uint32_t i = 0; i < count; ++i)
    {
        std::cout << (i ? ", " : "") << run.senders[i]->leastUs;
    }
    std::cout << "]}\n";
    Simulator::Destroy();
    return 0;
}
