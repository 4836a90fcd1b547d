//! The same for somebody without any rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[test]
fn everything_holds_for_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    const NOBODY_IN_PARTICULAR: u32 = 12345;
    // The program itself may lie where only its owner gets to.
    let place = tempfile::Builder::new().prefix("stockade-gateway-user-").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = place.path().join("gateway");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let done = Command::new(&program)
        .args(["--test-threads=2", "--skip", "user::"])
        .uid(NOBODY_IN_PARTICULAR)
        .gid(NOBODY_IN_PARTICULAR)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("doors::every_connection_comes_in_with_its_destination ... ok"), "{said}");
}
