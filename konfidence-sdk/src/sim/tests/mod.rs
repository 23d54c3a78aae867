//! That the simulator finds what is broken.

mod broken;
