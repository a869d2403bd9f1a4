//! The published thresholds of PIAS, by workload and load: packets of 1,460 B in the scripts.

use crate::param::Preset;

/// All presets; the first is the default.
pub(super) const ALL: &[Preset] = &[
    Preset {
        name: "web-search-0.8",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_dctcp.py",
        values: &[],
    },
    Preset {
        name: "web-search-0.5",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_dctcp.py",
        values: &[
            ("threshold1", "1546140B"),
            ("threshold2", "2061520B"),
            ("threshold3", "2398780B"),
            ("threshold4", "2728740B"),
            ("threshold5", "2931680B"),
            ("threshold6", "3087900B"),
            ("threshold7", "3188640B"),
        ],
    },
    Preset {
        name: "web-search-0.6",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_dctcp.py",
        values: &[
            ("threshold1", "1395760B"),
            ("threshold2", "2016260B"),
            ("threshold3", "2508280B"),
            ("threshold4", "2960880B"),
            ("threshold5", "3353620B"),
            ("threshold6", "3724460B"),
            ("threshold7", "3883600B"),
        ],
    },
    Preset {
        name: "web-search-0.7",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_dctcp.py",
        values: &[
            ("threshold1", "1458540B"),
            ("threshold2", "1905300B"),
            ("threshold3", "2283440B"),
            ("threshold4", "2573980B"),
            ("threshold5", "2855760B"),
            ("threshold6", "3137540B"),
            ("threshold7", "3371140B"),
        ],
    },
    Preset {
        name: "web-search-0.9",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_dctcp.py",
        values: &[
            ("threshold1", "1108140B"),
            ("threshold2", "1652720B"),
            ("threshold3", "2125760B"),
            ("threshold4", "2536020B"),
            ("threshold5", "2934600B"),
            ("threshold6", "3210540B"),
            ("threshold7", "3394500B"),
        ],
    },
    Preset {
        name: "data-mining-0.5",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_vl2.py",
        values: &[
            ("threshold1", "1175300B"),
            ("threshold2", "1614760B"),
            ("threshold3", "2045460B"),
            ("threshold4", "15611780B"),
            ("threshold5", "17476200B"),
            ("threshold6", "30896520B"),
            ("threshold7", "32517120B"),
        ],
    },
    Preset {
        name: "data-mining-0.6",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_vl2.py",
        values: &[
            ("threshold1", "1226400B"),
            ("threshold2", "1798720B"),
            ("threshold3", "2360820B"),
            ("threshold4", "17447000B"),
            ("threshold5", "17867480B"),
            ("threshold6", "31381240B"),
            ("threshold7", "37551200B"),
        ],
    },
    Preset {
        name: "data-mining-0.7",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_vl2.py",
        values: &[
            ("threshold1", "1324220B"),
            ("threshold2", "1899460B"),
            ("threshold3", "2363740B"),
            ("threshold4", "17762360B"),
            ("threshold5", "18855900B"),
            ("threshold6", "31116980B"),
            ("threshold7", "38506040B"),
        ],
    },
    Preset {
        name: "data-mining-0.8",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_vl2.py",
        values: &[
            ("threshold1", "1087700B"),
            ("threshold2", "1581180B"),
            ("threshold3", "2030860B"),
            ("threshold4", "19985940B"),
            ("threshold5", "21806560B"),
            ("threshold6", "30877540B"),
            ("threshold7", "39777700B"),
        ],
    },
    Preset {
        name: "data-mining-0.9",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pias_vl2.py",
        values: &[
            ("threshold1", "1095000B"),
            ("threshold2", "1581180B"),
            ("threshold3", "2067360B"),
            ("threshold4", "20009300B"),
            ("threshold5", "21829920B"),
            ("threshold6", "30842500B"),
            ("threshold7", "41249380B"),
        ],
    },
    Preset {
        name: "web-search-2015",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pfabric_dctcp.py: an earlier set",
        values: &[
            ("threshold1", "67160B"),
            ("threshold2", "1582640B"),
            ("threshold3", "2506820B"),
            ("threshold4", "2836780B"),
            ("threshold5", "2903940B"),
            ("threshold6", "2918540B"),
            ("threshold7", "2921460B"),
        ],
    },
    Preset {
        name: "data-mining-2015",
        source: "HKUST-SING/PIAS-NS2@5fb5867c, scripts/run_pfabric_vl2.py: an earlier set",
        values: &[
            ("threshold1", "375220B"),
            ("threshold2", "3076220B"),
            ("threshold3", "36066380B"),
            ("threshold4", "42215900B"),
            ("threshold5", "42316640B"),
            ("threshold6", "42340000B"),
            ("threshold7", "42363360B"),
        ],
    },
    Preset {
        name: "two-classes",
        source: "baiwei0427/PIAS@c40dc8a4: the kernel module with two classes, 100 KB",
        values: &[
            ("classes", "2"),
            ("threshold1", "100KB"),
        ],
    },
];
