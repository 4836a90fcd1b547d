//! `--trace reads`: what was refused to be read is told, by its own name, and nothing else is.

use super::records::{Records, reported};
use crate::act;
use crate::support::each_caller;

#[test]
fn reads_of_hidden_files() {
    each_caller(|world| {
        let secret = world.file(world.outside.join("key"), "SECRET");
        let env = world.file("deep/.env", "SECRET");
        let plain = world.file("plain", "open");
        let linked = world.link(&secret, "link");
        let twice = world.link("link", "twice");
        let through = world.link(&world.outside, "out");
        let run = || reported(world).opts(["--trace", "reads"]).with("--deny-read", &secret);
        let answers = run().batch([
            act!["read", &secret],
            act!["read", &linked],
            act!["read", &twice],
            act!["read", through.join("key")],
            act!["read", "/proc/self/cwd/deep/.env"],
            act!["read", &env],
            act!["read", &plain],
            act!["read", world.ws.join("absent")],
            act!["read", "/etc/hostname"],
            act!["list", &world.ws],
        ]);
        for refused in &answers[..6] {
            refused.errno(&["EACCES"]);
        }
        answers[6].ok();
        answers[7].errno(&["ENOENT"]);
        let records = Records::of(world);
        let rule = format!("denyRead {}", secret.display());
        records.tell("read", &secret, &rule).tell("read", &env, "denyRead **/.env");
        records.only_about(&[secret.clone(), env.clone()]);
        let of_key = records.all().iter().filter(|record| record.subject == secret.to_str().unwrap()).count();
        assert_eq!(of_key, 4, "{:#?}", records.all());
    });
}

#[test]
fn ordinary_programs_leave_no_record() {
    each_caller(|world| {
        for number in 0..50 {
            world.file(format!("src/f{number}"), "text");
        }
        let ran = reported(world).opts(["--trace", "reads"]).shell(
            "cat src/* > all && grep -r text src | wc -l && find . | wc -l && cp -a src copy && \
             ls -la /usr/bin > /dev/null && cat /proc/self/status /proc/self/maps > /dev/null && \
             git init -q r && cd r && git -c user.name=n -c user.email=e commit -q --allow-empty -m x",
        );
        ran.exits(0);
        Records::of(world).only_about(&[]);
    });
}
