//! The sandbox's own network, and its listening sockets on their way to the launcher.

use super::{Built, During};
use crate::linux::doors::{DoorStep, TRANSPARENT_PORT};
use crate::linux::script::{Network, Script};
use crate::linux::sys::{self, Carries, Reach};
use crate::linux::wire::{MAX_DOORS, Report, Step};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::mem::MaybeUninit;

/// Builds the network. The sockets are closed here once they are sent.
pub(super) fn build(script: &Script, loopback: super::Loopback, control: &OwnedFd) -> Built {
    if matches!(script.network, Network::Host) {
        return Ok(());
    }
    if loopback == super::Loopback::Down {
        sys::raise_loopback().during(Step::Network)?;
    }
    let (doors, reach) = match &script.network {
        Network::Gateway(doors) => (doors, sys::lead_everything_to(TRANSPARENT_PORT).during(Step::Gateway)?),
        Network::Loopback(doors) => (doors, Reach::Both),
        Network::Host => return Ok(()),
    };
    for (number, doors) in doors.chunks(MAX_DOORS).enumerate() {
        open_and_send(doors, number * MAX_DOORS, reach, control)?;
    }
    Ok(())
}

fn open_and_send(doors: &[DoorStep], first: usize, reach: Reach, control: &OwnedFd) -> Built {
    let mut numbers = [0; MAX_DOORS];
    let mut sockets = [const { None }; MAX_DOORS];
    let mut count = 0;
    for (at, door) in doors.iter().enumerate() {
        if door.address.is_ipv6() && reach == Reach::V4 {
            continue;
        }
        let socket = match sys::listen_at(door.address, door.carries) {
            Ok(socket) => socket,
            // Without it connections to there are refused, and programs try the other protocol.
            Err(_) if door.address.is_ipv6() => continue,
            // It only tells of what went nowhere.
            Err(_) if door.carries == Carries::Refusals => continue,
            Err(error) => return Err(error).during_mount(Step::Doors, first + at),
        };
        numbers[count] = (first + at + 1) as u16;
        sockets[count] = Some(socket);
        count += 1;
    }
    send(control, Report::Doors { doors: numbers }, &sockets).during(Step::Doors)
}

/// Sends a report with the descriptors that belong to it.
pub(super) fn send<const N: usize>(
    control: &OwnedFd,
    report: Report,
    descriptors: &[Option<OwnedFd>; N],
) -> Result<(), Errno> {
    let packet = report.encode();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DOORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let mut carried = [control.as_fd(); N];
    let mut count = 0;
    for (slot, descriptor) in carried.iter_mut().zip(descriptors.iter().flatten()) {
        *slot = descriptor.as_fd();
        count += 1;
    }
    let carried: &[BorrowedFd<'_>] = carried.get(..count).unwrap_or_default();
    if !carried.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(carried));
    }
    sendmsg(control, &[IoSlice::new(&packet)], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}
