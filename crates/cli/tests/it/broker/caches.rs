//! Repositories in the caches of tools: a link or an address in the workspace may lead the host's git there.

use super::records::{Records, reported};
use crate::support::each_caller;

/// Tries everything that would make the host's git run `$EVIL`. Whatever is refused is left out.
const ATTACKS: &str = r#"
EVIL=$PWD/evil; printf '#!/bin/sh\ntouch %s/ran\n' "$PWD" > evil; chmod +x evil
top=${XDG_CACHE_HOME%/*}; mkdir -p "$XDG_CACHE_HOME" "$top/cargo/git/db"
git init -q . && git config user.name n && git config user.email e@example.test && git commit -q --allow-empty -m x
# A repository with a work tree, behind a link.
git init -q "$XDG_CACHE_HOME/near"; git -C "$XDG_CACHE_HOME/near" config core.fsmonitor "$EVIL"
cp evil "$XDG_CACHE_HOME/near/.git/hooks/post-checkout"
ln -s "$XDG_CACHE_HOME/near" docs
# One without, made by git, and by hand in the other order.
git init -q --bare "$XDG_CACHE_HOME/up.git"
hand=$XDG_CACHE_HOME/hand; mkdir -p "$hand/hooks"; cp evil "$hand/hooks/pre-receive"
printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = %s\n' "$EVIL" > "$hand/config"
mkdir "$hand/objects" "$hand/refs"; echo 'ref: refs/heads/main' > "$hand/HEAD"
# Moved to where tools keep them, with a directory above it, too, and made there.
kept=$top/cargo/git/db/moved; mv "$hand" "$kept"
above=$XDG_CACHE_HOME/above; mkdir -p "$above/vcs/aa/hooks" "$above/vcs/aa/objects" "$above/vcs/aa/refs" "$top/go-mod"
cp evil "$above/vcs/aa/hooks/pre-receive"; mv "$above" "$top/go-mod/cache"
echo 'ref: refs/heads/main' > "$top/go-mod/cache/vcs/aa/HEAD"
git init -q --bare "$top/cargo/git/db/made" && echo made
cp evil "$top/cargo/git/db/made/hooks/pre-receive"; cp -a evil "$top/cargo/git/db/made/hooks/update"
git -C "$top/cargo/git/db/made" config core.hooksPath "$PWD"
git -C "$top/cargo/git/db/made" config gc.auto 0 && echo set
# Moved away from there, with what is above them.
for name in cargo/git/db/made cargo/git/db cargo/git cargo; do
  mv "$top/$name" "$top/$name.x" && echo "moved $name"
done
mkdir -p "$top/cargo/registry/a" && mv "$top/cargo/registry" "$top/cargo/r2" && echo others
git remote add aa "$top/go-mod/cache/vcs/aa"
git remote add up "$XDG_CACHE_HOME/up.git"; git remote add hand "$hand"
git remote add moved "$kept"; git remote add made "$top/cargo/git/db/made"
"#;

#[test]
fn f23_nothing_in_a_cache_makes_the_hosts_git_run_something() {
    each_caller(|world| {
        let ran = reported(world).shell(ATTACKS);
        assert_eq!(ran.out(), "made\nset\nothers\n", "{ran}");
        let records = Records::of(world);
        for end in [
            "near/.git/hooks/post-checkout",
            "up.git/objects",
            "hand/HEAD",
            "made/hooks/pre-receive",
            "made/hooks/update",
        ] {
            assert!(records.all().iter().any(|found| found.subject.ends_with(end)), "{end}: {ran}");
        }
        // The host, which nothing holds back.
        let safe = "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'\n";
        let outside = "cd docs && git status -s; cd ..; for to in up hand moved made aa; do git push -q $to HEAD:refs/heads/x; done";
        world.bare("/bin/sh").opts(["-c", &format!("{safe}{outside}")]).go();
        assert!(!world.ws.join("ran").exists(), "the host ran what a command left in a cache: {ran}");
    });
}
