//! The list of algorithms, by family.
//!
//! A line declares the module of an algorithm and registers its type; `lib.rs` makes the modules of
//! the list, and `registry.rs` all that goes by an algorithm's name.

macro_rules! algorithms {
    ($make:ident) => {
        $make! {
            // TIMELY: a rate, from the trend of the RTT.
            timely::Timely,
            patched_timely::PatchedTimely,
            integral_timely::IntegralTimely,

            // TCP: a window, from losses.
            newreno::NewReno,
            highspeed::HighSpeed,
            bic::Bic,
            cubic::Cubic,
            westwood::Westwood,
            veno::Veno,

            // A window, from delay.
            vegas::Vegas,
            fast::Fast,
            ledbat::Ledbat,
            rtcp::Rtcp,
            swift::Swift,

            // From marks that the switches of a datacenter set (ECN).
            dctcp::Dctcp,
            d2tcp::D2tcp,
            dcqcn::Dcqcn,
            hull::Hull,
            pias::Pias,
            tcp_bolt::TcpBolt,

            // From deadlines.
            mcp::Mcp,
            karuna::Karuna,

            // From what switches do: they serve the shortest flow first.
            pfabric::Pfabric,

            // From the reports of switches (telemetry).
            hpcc::Hpcc,

            // From what switches tell explicitly (feedback).
            d3::D3,
            rcp::Rcp,
            vcp::Vcp,

            // A rate, from a model of the path or from the outcome of trials.
            bbr::Bbr,
            allegro::Allegro,
            vivace::Vivace,

            // Fixed.
            line_rate::LineRate,
        }
    };
}
