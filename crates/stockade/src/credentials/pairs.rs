//! Which variables are an AWS pair of keys.

use stockade_policy::{AwsPairPlan, CredentialPlan, CredentialSource, GatewayPlan};

/// The pairs of the plan, and the one with the usual names unless the plan says otherwise about them. Only
/// variables whose whole value is hidden can be members, each of one pair.
pub(super) fn pairs(plan: &GatewayPlan) -> Vec<AwsPairPlan> {
    let usual = AwsPairPlan {
        access_key_id: "AWS_ACCESS_KEY_ID".to_owned(),
        secret_access_key: "AWS_SECRET_ACCESS_KEY".to_owned(),
        session_token: Some("AWS_SESSION_TOKEN".to_owned()),
    };
    let mut named: Vec<&str> = Vec::new();
    let mut pairs = Vec::new();
    for pair in plan.aws_pairs.iter().chain([&usual]) {
        let members = members(pair);
        if members.iter().any(|member| named.contains(member)) {
            continue;
        }
        named.extend(members);
        let whole = |name: &str| plan.credentials.iter().any(|credential| is_whole(credential, name));
        if whole(&pair.access_key_id) && whole(&pair.secret_access_key) {
            let session_token = pair.session_token.clone().filter(|name| whole(name));
            pairs.push(AwsPairPlan { session_token, ..pair.clone() });
        }
    }
    pairs
}

fn members(pair: &AwsPairPlan) -> Vec<&str> {
    let first = [&pair.access_key_id, &pair.secret_access_key];
    first.into_iter().chain(&pair.session_token).map(String::as_str).collect()
}

fn is_whole(credential: &CredentialPlan, name: &str) -> bool {
    matches!(&credential.source, CredentialSource::Variable(variable) if variable == name)
        && credential.extract.is_none()
        && credential.jwt_claims.is_none()
}
