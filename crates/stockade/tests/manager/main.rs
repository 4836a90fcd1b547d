//! Managers with real commands in real sandboxes, as root and as an ordinary user.

#[cfg(test)]
mod background;
#[cfg(test)]
mod bare;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod network;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod world;
