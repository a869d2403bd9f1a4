//! Algorithms as tables of C functions, which this process has loaded from elsewhere.
//!
//! * [`facts`]: the facts of each event, and the answer, as structs of C;
//! * [`calls`]: the functions of an algorithm, one for each event;
//! * [`control`]: a flow under such functions, as a guest of any carrier;
//! * [`table`]: a whole algorithm of a crate of one's own, with its name and its parameters;
//! * [`export`]: such a table of any algorithm of the contract, by
//!   [`export_algorithm!`](crate::export_algorithm);
//! * [`loaded`]: the algorithm of a table, as a guest.
//!
//! Times are in seconds, rates in bits per second, sizes in bytes. Seconds are `f64`: of times
//! below 2,000 seconds they tell each picosecond.

#![expect(unsafe_code, reason = "functions of C take pointers")]

mod back;
pub mod calls;
pub mod control;
pub mod export;
pub mod facts;
pub mod loaded;
pub mod table;
