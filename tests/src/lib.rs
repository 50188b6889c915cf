//! Stand-ins for the outside, as servers on the wire, and the harness that starts, kills and
//! restarts the real application against them.

pub mod contract;
