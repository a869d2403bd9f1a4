//! Sets of values of TIMELY's parameters.

use crate::param::Preset;

/// The presets; the first is the default.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "authors-snippet",
        source: "the code snippet that the authors published",
        values: &[],
    },
    Preset {
        name: "zhu",
        source: "Zhu et al., CoNEXT 2016: the values that their models and simulator use",
        values: &[
            ("alpha", "0.875"),
            ("t_high", "500us"),
            ("time_scaling", "never"),
            ("max_decrease", "1"),
        ],
    },
    Preset {
        name: "erpc",
        source: "eRPC (NSDI 2019), its TIMELY defaults",
        values: &[
            ("alpha", "0.46"),
            ("beta", "0.26"),
            ("delta", "40Mbps"),
            ("delta_reference", "0bps"),
            ("min_rtt", "2us"),
            ("time_scaling", "always"),
            ("min_rate", "120Mbps"),
            ("initial_rate", "line-rate"),
            ("initial_rtt", "min-rtt"),
        ],
    },
    Preset {
        name: "cs244",
        source: "Fang and Orbay, CS244 (Stanford, 2016), star.cc and tcp-timely.cc: a window that takes four \
                 segments of 536 B for an ACK",
        values: &[
            ("alpha", "0.1"),
            ("beta", "0.01"),
            ("delta", "857.6kbps"),
            ("delta_reference", "0bps"),
            ("t_high", "500us"),
            ("hai_counts", "smoothed"),
            ("time_scaling", "never"),
            ("max_decrease", "1"),
            ("min_rate", "1bps"),
            ("window_rtt", "20ms"),
        ],
    },
    Preset {
        name: "linux-tcp",
        source: "this project: what incast attaches to Linux TCP, whose hosts time ACKs (docs/guide/kernel.md)",
        values: &[
            ("alpha", "0.25"),
            ("t_low", "100us"),
            ("min_rtt", "500us"),
            ("max_decrease", "0.2"),
            ("loss_decrease", "0.5"),
            ("initial_rate", "initial-window"),
            ("serialization", "acked"),
            ("min_filter", "500us"),
            ("min_filter_acks", "4"),
            ("catch_up", "16"),
            ("app_limited", "lowers"),
            ("startup", "on"),
            ("window", "500us"),
            ("window_floor", "6"),
        ],
    },
    Preset {
        name: "auto",
        source: "this project: constants that follow from what samples tell of the path",
        values: &[
            ("alpha", "0.5"),
            ("beta", "0.08"),
            ("max_decrease", "0.125"),
            ("loss_decrease", "0.5"),
            ("min_rate", "2.4Mbps"),
            ("delta_reference", "0bps"),
            ("initial_rate", "path"),
            ("app_limited", "lowers"),
            ("startup", "on"),
            ("window", "180us"),
            ("learning", "on"),
        ],
    },
    Preset {
        name: "queue-size",
        source: "the controller by queue size that the authors' talk compares with, T_low = T_high; no \
                 source gives the value, 100 us is the least T_high that a course's slides call best",
        values: &[("t_low", "100us"), ("t_high", "100us")],
    },
    Preset {
        name: "tuned-100g",
        source: "this project: found by incast tune at 100 Gb/s (docs/how-to/tune-an-algorithm.md)",
        values: &[
            ("alpha", "0.835"),
            ("beta", "0.544"),
            ("delta", "29.7Mbps"),
            ("t_low", "20.2us"),
            ("t_high", "158us"),
            ("min_rtt", "9.83us"),
            ("hai_n", "13"),
        ],
    },
    Preset {
        name: "tuned-400g",
        source: "this project: found by incast tune at 400 Gb/s (docs/how-to/tune-an-algorithm.md)",
        values: &[
            ("alpha", "0.827"),
            ("beta", "0.336"),
            ("delta", "13.7Mbps"),
            ("t_low", "8.07us"),
            ("t_high", "437us"),
            ("min_rtt", "2.88us"),
            ("hai_n", "13"),
        ],
    },
];
