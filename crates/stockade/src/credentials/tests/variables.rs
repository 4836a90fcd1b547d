//! Variables, whole and in parts, and AWS pairs.

use super::*;
use stockade_policy::AwsPairPlan;

#[test]
fn a_whole_value() {
    let gathered = gathered(&[("TOKEN", "  secret \n")], with(vec![variable("TOKEN")])).unwrap();
    let shown = seen(&gathered, "TOKEN").unwrap();
    let stand_in = shown.strip_prefix("  ").and_then(|rest| rest.strip_suffix(" \n")).unwrap();
    assert!(stand_in.starts_with("fake_value_"), "{shown:?}");
    let [entry] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
    assert!(stands_for(entry, stand_in, "secret"));
    assert_eq!((entry.name.as_str(), entry.hosts[0].to_string().as_str()), ("TOKEN", "api.test"));
    assert!(gathered.masked.warnings.is_empty());
}

#[test]
fn what_is_too_short_to_be_covered_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pin");
    std::fs::write(&path, "12345\n").unwrap();
    let nowhere = CredentialPlan { inject_hosts: Vec::new(), ..variable("C") };
    let rules = vec![variable("A"), variable("B"), nowhere, file(&path)];
    let gathered = gathered(&[("A", "s3cre"), ("B", "s3cret"), ("C", "s3cre")], with(rules)).unwrap();
    let [of_a, of_file] = gathered.masked.warnings.as_slice() else {
        panic!("{:?}", gathered.masked.warnings)
    };
    assert!(of_a.starts_with("A: too short") && !of_a.contains("s3cre"), "{of_a}");
    assert!(of_file.starts_with(path.to_str().unwrap()) && !of_file.contains("12345"), "{of_file}");
}

#[test]
fn what_is_not_there_needs_no_stand_in() {
    let credentials = || with(vec![variable("TOKEN"), file(Path::new("/no/such/file"))]);
    for (variables, passed) in [
        (&[][..], &["TOKEN"][..]),
        (&[("TOKEN", "")], &["TOKEN"]),
        (&[("TOKEN", " \n")], &["TOKEN"]),
        // Denied elsewhere: the plan does not hand it on.
        (&[("TOKEN", "secret")], &["OTHER"]),
    ] {
        let masked = prepare(&plan(passed, credentials()), &environment(variables)).unwrap();
        assert!(masked.vault.is_none() && masked.variables.is_empty() && masked.contents.is_empty());
        assert!(masked.withheld.is_empty() && masked.warnings.is_empty());
    }
    let loopback = Plan { network: NetworkPlan::Loopback, ..plan(&["TOKEN"], credentials()) };
    assert!(prepare(&loopback, &environment(&[("TOKEN", "secret")])).unwrap().variables.is_empty());
    let gateway = plan(&["TOKEN"], credentials());
    assert!(prepare(&gateway, &environment(&[("TOKEN", "secret")])).unwrap().vault.is_some());
}

#[test]
fn only_what_the_first_group_finds() {
    let credential = extracted(variable("URL"), "://[^:]+:([^@]+)@", None);
    let url = "postgres://user:hunter2@db/x mysql://user:other@db/y pg://me:hunter2@db";
    let gathered = gathered(&[("URL", url)], with(vec![credential])).unwrap();
    let shown = seen(&gathered, "URL").unwrap();
    let [first, second] = gathered.entries.as_slice() else { panic!("{}", gathered.entries.len()) };
    let (one, two) = (first.stand_in.as_str(), second.stand_in.as_str());
    assert_eq!(shown, format!("postgres://user:{one}@db/x mysql://user:{two}@db/y pg://me:{one}@db"));
    assert!(stands_for(first, one, "hunter2") && stands_for(second, two, "other"));
}

#[test]
fn where_nothing_is_found() {
    let run = |no_match| {
        let credential = extracted(variable("URL"), "password=(.+)", no_match);
        gathered(&[("URL", "s3cr3t")], with(vec![credential]))
    };
    for no_match in [None, Some("warn")] {
        let warned = run(no_match).unwrap();
        assert_eq!(seen(&warned, "URL"), Some("s3cr3t"));
        assert!(warned.masked.warnings[0].contains("sees it as it is"), "{:?}", warned.masked.warnings);
        assert!(warned.entries.is_empty() && warned.masked.withheld.is_empty());
        assert!(!warned.masked.warnings[0].contains("s3cr3t"));
    }
    let denied = run(Some("deny")).unwrap();
    assert_eq!(seen(&denied, "URL"), None);
    assert_eq!(denied.masked.withheld, [CredentialSource::Variable("URL".to_owned())]);
    let error = run(Some("error")).err().unwrap();
    assert!(matches!(error, CredentialError::NoMatch { .. }));
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("URL") && !shown.contains("s3cr3t"), "{shown}");
}

#[test]
fn an_expression_that_is_none() {
    let credential = extracted(variable("URL"), "(?<=a)(b)", None);
    let error = gathered(&[("URL", "s3cr3t")], with(vec![credential])).err().unwrap();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("URL") && shown.contains("look-around") && !shown.contains("s3cr3t"), "{shown}");
}

const KEYS: &[(&str, &str)] =
    &[("ID", "ASIAREALREALREALREAL"), ("KEY", "real key"), ("SESSION", "real session")];

fn pair(session: Option<&str>) -> AwsPairPlan {
    let session_token = session.map(str::to_owned);
    AwsPairPlan { access_key_id: "ID".to_owned(), secret_access_key: "KEY".to_owned(), session_token }
}

#[test]
fn a_pair_of_keys() {
    let credentials = vec![variable("ID"), variable("KEY"), variable("SESSION")];
    let gateway = GatewayPlan { aws_pairs: vec![pair(Some("SESSION"))], ..with(credentials) };
    let gathered = gathered(KEYS, gateway).unwrap();
    let [pair] = gathered.pairs.as_slice() else { panic!("{}", gathered.pairs.len()) };
    let id = seen(&gathered, "ID").unwrap();
    assert!(id.starts_with("ASIA") && id.len() == 20 && id != "ASIAREALREALREALREAL", "{id}");
    assert!(stands_for(&pair.key_id, id, "ASIAREALREALREALREAL"));
    assert!(stands_for(&pair.secret, seen(&gathered, "KEY").unwrap(), "real key"));
    let session = pair.session_token.as_ref().unwrap();
    assert!(stands_for(session, seen(&gathered, "SESSION").unwrap(), "real session"));
    assert_eq!(pair.key_id.hosts[0].to_string(), "api.test");
    // Members of a pair are not secrets on their own, too.
    assert!(gathered.entries.is_empty());
    assert_eq!(gathered.masked.variables.len(), 3);
}

#[test]
fn half_a_pair_is_none() {
    let credentials = || vec![variable("ID"), variable("KEY")];
    let gateway = || GatewayPlan { aws_pairs: vec![pair(None)], ..with(credentials()) };
    let gathered_half = gathered(&KEYS[1..], gateway()).unwrap();
    assert_eq!((gathered_half.pairs.len(), gathered_half.entries.len()), (0, 1));
    assert!(seen(&gathered_half, "KEY").unwrap().starts_with("fake_value_"));
    let part = vec![variable("ID"), extracted(variable("KEY"), "(.+)", None)];
    let gathered = gathered(KEYS, GatewayPlan { credentials: part, ..gateway() }).unwrap();
    assert_eq!((gathered.pairs.len(), gathered.entries.len()), (0, 2));
}

#[test]
fn the_usual_names_are_a_pair_unless_the_plan_says_otherwise() {
    let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
    let variables: Vec<(&str, &str)> = names.iter().map(|name| (*name, "real")).collect();
    let masks = |names: &[&str]| names.iter().map(|name| variable(name)).collect::<Vec<_>>();
    let whole = gathered(&variables, with(masks(&names))).unwrap();
    assert!(whole.pairs[0].session_token.is_some() && whole.entries.is_empty());
    let without = gathered(&variables[..2], with(masks(&names[..2]))).unwrap();
    assert!(without.pairs[0].session_token.is_none());
    let named = AwsPairPlan { access_key_id: names[0].to_owned(), ..pair(None) };
    let gateway = GatewayPlan { aws_pairs: vec![named], ..with(masks(&names)) };
    let otherwise = gathered(&variables, gateway).unwrap();
    assert_eq!((otherwise.pairs.len(), otherwise.entries.len()), (0, 3));
}
