use super::super::check_git_config_change;
use super::places;

fn check(old: &str, new: &str) -> Result<(), String> {
    check_git_config_change(old.as_bytes(), new.as_bytes(), &places()).map_err(|refusal| refusal.to_string())
}

const OWN: &str =
    "[alias]\n\tst = !status\n[core]\n\tpager = less\n[url \"a\"]\n\tinsteadOf = b\n\tinsteadOf = c\n";

#[test]
fn what_a_person_has_set_may_stay_and_go() {
    assert_eq!(check(OWN, OWN), Ok(()));
    assert_eq!(check(OWN, &format!("{OWN}[user]\n\tname = x\n")), Ok(()));
    assert_eq!(check(OWN, &format!("[user]name=x\n{OWN}")), Ok(()));
    // Another spelling of the same.
    assert_eq!(check(OWN, &OWN.replace("pager = less", "PAGER=\"le\"ss # x")), Ok(()));
    assert_eq!(check(OWN, &OWN.replace("\tst = !status\n", "")), Ok(()));
    assert_eq!(check("[alias]x = y", "[user]name = x"), Ok(()));
    assert_eq!(check("[core]\nbare = true\n", "[core]\nbare = true\n[gc]auto = 0\n"), Ok(()));
    assert_eq!(check("[core]\nbare = true\n", "[core]\nbare = false\n"), Ok(()));
    assert_eq!(check("[user]name=x", "[user]name=y"), Ok(()));
}

#[test]
fn it_may_not_be_changed_repeated_or_moved() {
    for new in [
        OWN.replace("!status", "!evil"),
        OWN.replace("less", "evil"),
        OWN.replace("st =", "ci ="),
        OWN.replace("pager = less", "editor = less"),
        OWN.replace("[alias]", "[alias \"x\"]"),
        OWN.replace("\"a\"", "\"A\""),
        OWN.replace("\tpager = less\n", "\tpager = less\n\tpager = less\n"),
        OWN.replace("\tpager = less\n", "\tpager\n"),
        OWN.replace("\tinsteadOf = c\n", ""),
        OWN.replace("\tinsteadOf = b\n\tinsteadOf = c\n", "\tinsteadOf = c\n\tinsteadOf = b\n"),
        format!("{OWN}[core]\n\tpager = evil\n"),
        format!("{OWN}[alias]\n\tnew = !evil\n"),
        format!("{OWN}[core]fsmonitor=evil"),
        "[core]\n\tpager = less\n[alias]\n\tst = !status\n[url \"a\"]\n\tinsteadOf = b\n\tinsteadOf = c\n"
            .to_owned(),
    ] {
        assert!(check(OWN, &new).is_err(), "{new}");
    }
}

#[test]
fn taking_away_the_last_value_does_not_bring_the_first_one_back() {
    let old = "[core]\npager = old\npager = new\n";
    assert!(check(old, "[core]\npager = old\n").is_err());
    assert!(check(old, "[core]\npager = new\n").is_err());
    assert_eq!(check(old, ""), Ok(()));
    let old = "[core]\neditor = evil\n[core]fsmonitor = evil\n[core]fsmonitor = false\n";
    assert!(check(old, "[core]\neditor = evil\n[core]fsmonitor = evil\n").is_err());
}

#[test]
fn what_protects_has_to_stay() {
    for own in [
        "[core]hooksPath = /safe",
        "[core]fsmonitor = false",
        "[core]protectNTFS = true",
        "[core]protectHFS = true",
        "[safe]bareRepository = explicit",
        "[transfer]fsckObjects = true",
        "[fetch]fsckObjects = true",
        "[receive]denyNonFastForwards = true",
        "[protocol]allow = never",
        "[protocol \"ext\"]allow = never",
        "[http]sslVerify = true",
        "[http \"https://x\"]sslVerify = true",
        "[credential]helper =",
        "[include]path = x",
        "[includeIf \"gitdir:/\"]path = x",
        "[commit]gpgSign = true",
        "[tag]gpgSign = true",
        "[filter \"crypt\"]clean = x",
        "[url \"https://\"]insteadOf = http://",
        "[gpg \"ssh\"]allowedSignersFile = x",
        "[core]sshCommand = ssh -F x",
    ] {
        let key = own.split([']', '=']).nth(1).unwrap().trim();
        let header = own.split_inclusive(']').next().unwrap();
        assert_eq!(check(own, &format!("{own}\n[user]name = x")), Ok(()), "{own}");
        assert!(check(own, "").is_err(), "{own}");
        assert!(check(own, &format!("{header}{key} = other")).is_err(), "{own}");
        assert!(check(own, &format!("{header}{key} = false\n{own}")).is_err(), "{own}");
        assert!(check(own, &format!("{own}\n{header}{key} = false")).is_err(), "{own}");
        assert!(check(own, &format!("{own}\n{own}")).is_err(), "{own}");
    }
}

#[test]
fn an_included_file_stays_where_it_is_between_the_others() {
    let old = "[core]sshCommand = a\n[include]path = x\n[core]fsmonitor = false\n";
    assert_eq!(check(old, &format!("[user]name=x\n{old}[user]name=y\n")), Ok(()));
    assert!(check(old, "[include]path = x\n[core]sshCommand = a\n[core]fsmonitor = false\n").is_err());
    assert!(check(old, "[core]sshCommand = a\n[core]fsmonitor = false\n[include]path = x\n").is_err());
}

#[test]
fn odd_lines_of_the_present_text_are_not_held_against_the_new_one() {
    let long = format!("# \u{c}{}\n", "x".repeat(2000));
    assert_eq!(check(&long, &format!("{long}[user]name = x\n")), Ok(()));
    assert!(check("", &long).is_err());
    assert!(check(&long, &long.replace("# ", "#  ")).is_err());
}

#[test]
fn a_present_text_that_cannot_be_read_leaves_nothing_to_compare() {
    let error = check("[core\n", "[user]name = x").unwrap_err();
    assert!(error.contains("the present configuration cannot be read"), "{error}");
    assert!(check("# \0\n", "").is_err());
    assert!(check("# \0\n", "# \0\n").is_err());
    assert!(check("", "[core\n").is_err());
}

#[test]
fn the_address_of_a_partial_clone_stays() {
    for own in [
        "[remote \"o\"]\n\turl = https://a\n\tpromisor = true\n",
        "[remote \"o\"]\n\turl = https://a\n\tpartialclonefilter = blob:none\n",
        "[extensions]\n\tpartialClone = o\n[remote \"o\"]\n\turl = https://a\n",
    ] {
        assert_eq!(check(own, &format!("{own}[user]\n\tname = x\n")), Ok(()), "{own}");
        assert_eq!(check(own, "[remote \"o\"]\n\turl = https://b\n"), Ok(()), "no partial clone any more");
        for new in [
            own.replace("https://a", "https://b"),
            own.replace("\turl = https://a\n", ""),
            own.replace("https://a\n", "https://a\n\turl = https://b\n"),
        ] {
            assert!(check(own, &new).is_err(), "{new}");
        }
        assert_eq!(check(own, &format!("{own}[remote \"p\"]\n\turl = https://b\n")), Ok(()));
    }
    assert!(check("", "[remote \"o\"]\n\tpromisor = true\n").is_err());
}
