//! Logged episodes, played again in the worlds that have not seen them.
//!
//! What an episode earned is known, so the worlds can be asked how wrong they are about returns, not
//! only about single steps. The logged actions alone would not do: a world that drifts off the logged
//! course would get actions for states that it is not in. So they are corrected by what the logged
//! policy would have done about it, as a network π_b learned it:
//!
//!   a_t = a_t(logged) + π_b(s~_t) - π_b(s_t(logged))
//!
//! A choice between a few is the logged one with probability min(1, π_b(a | s~_t) / π_b(a | s_t)), and
//! otherwise drawn so that all of them are as likely as π_b(s~_t) says.
//!
//! The replay chooses how much of the logs' errors worlds draw as noise, λ, and by which factor ρ their
//! disagreement is too small: with D = (mean over unseeing worlds) - (earned), per episode,
//!
//!   U_g = mean_g D + t_{1-δ/S} min(se_g, 2 σ_g)      ρ = max_g U_g / σ_g      σ_g = √(1 + 1/K) s_g
//!
//! (δ / 5S if another noise than the usual one was chosen on the same episodes)
//! over S groups of episodes, first and later pieces apart, where s_g is the standard deviation of the worlds' means over group g.

mod claims;
mod compare;
mod course;
mod demand;
mod groups;
mod outcome;
mod player;
mod replayed;
mod windows;

pub use claims::{Backtest, Claim, Outcome};
pub use demand::Demand;
pub(crate) use groups::Apart;
pub use outcome::Replay;
pub(crate) use player::Player;
pub use replayed::{Replayed, ReplayedGroup};
pub(crate) use windows::Window;
