//! That the simulator finds what is broken, and what it shows besides the statements that it checks after each write.

mod flaws;
mod inbox;
mod moods;
mod reach;
mod shrunk;
mod survey;
