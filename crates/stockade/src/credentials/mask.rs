//! Putting stand-ins in the place of a value's secret parts.

use super::CredentialError;
use super::extract::{other_places, secret_parts};
use super::jwt;
use std::ops::Range;
use stockade_net::{Secret, StandIn, VaultEntry};
use stockade_policy::{CredentialPlan, Switch};

/// What became of a value.
pub(super) enum Masking {
    /// What is seen, what it stands for, and what should be known about it.
    Hidden { seen: Vec<u8>, entries: Vec<VaultEntry>, told: Option<&'static str> },
    /// Nothing in it is what the rule looks for.
    NotFound(&'static str),
}

/// One secret and what is seen in its place.
struct Part<'a> {
    real: &'a [u8],
    stand_in: StandIn,
}

const NO_TOKEN: &str = "nothing in it is a JSON web token with a claim that is to be hidden";
const TOKEN_BESIDE: &str = "a JSON web token stands in it beside other words, and only a value that is nothing else is \
                            taken for one, unless extract says where it is";
const NO_TOKEN_HIDDEN: &str =
    "what is no JSON web token, or has no claim that is to be hidden, is masked as a whole";
const NO_TOKEN_SEEN: &str =
    "what is no JSON web token, or has no claim that is to be hidden, is seen as it is";

/// Masks a value by a rule.
pub(super) fn mask(
    name: &str,
    credential: &CredentialPlan,
    value: &[u8],
) -> Result<Masking, CredentialError> {
    let places = secret_parts(name, credential, value)?;
    if places.is_empty() {
        return Ok(Masking::NotFound("nothing in it is what extract looks for"));
    }
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut entries = Vec::new();
    let mut spans: Vec<(Range<usize>, usize)> = Vec::new();
    let mut others = Vec::new();
    for place in places {
        let real = &value[place.clone()];
        let number = match parts.iter().position(|part| part.real == real) {
            Some(known) => known,
            None => {
                let Some(stand_in) = stand_in(name, credential, real, &mut entries)? else {
                    others.push(place);
                    continue;
                };
                parts.push(Part { real, stand_in });
                parts.len() - 1
            }
        };
        spans.push((place, number));
    }
    let told = match otherwise(credential) {
        _ if others.is_empty() => None,
        Otherwise::AsSaid | Otherwise::Seen if spans.is_empty() => {
            let hidden = credential.jwt_claims.as_deref().unwrap_or_default();
            let beside = others.iter().any(|place| jwt::is_beside(&value[place.clone()], hidden));
            return Ok(Masking::NotFound(if beside { TOKEN_BESIDE } else { NO_TOKEN }));
        }
        Otherwise::Seen => Some(NO_TOKEN_SEEN),
        Otherwise::AsSaid | Otherwise::Whole => {
            for place in others {
                let real = &value[place.clone()];
                let known = parts.iter().position(|part| part.real == real);
                if known.is_none() {
                    parts.push(Part { real, stand_in: StandIn::mint()? });
                    for piece in jwt::pieces(real) {
                        entries.push(VaultEntry {
                            name: format!("{name} (part)"),
                            stand_in: StandIn::mint()?,
                            real: Secret::new(piece.to_vec()),
                            hosts: credential.inject_hosts.clone(),
                        });
                    }
                }
                spans.push((place, known.unwrap_or(parts.len() - 1)));
            }
            Some(NO_TOKEN_HIDDEN)
        }
    };
    if credential.mask_duplicates == Switch::Allowed {
        add_duplicates(value, &parts, &mut spans);
    }
    spans.sort_by_key(|(place, _)| place.start);
    let seen = assemble(value, &parts, &spans);
    entries.extend(parts.into_iter().map(|part| VaultEntry {
        name: name.to_owned(),
        stand_in: part.stand_in,
        real: Secret::new(part.real.to_vec()),
        hosts: credential.inject_hosts.clone(),
    }));
    Ok(Masking::Hidden { seen, entries, told })
}

/// What becomes of what is to be a token and is none.
enum Otherwise {
    /// What the rule says of a value in which nothing is found.
    AsSaid,
    /// It stays: the person said so.
    Seen,
    /// All of it is the secret.
    Whole,
}

fn otherwise(credential: &CredentialPlan) -> Otherwise {
    let lists_claims = credential.jwt_claims.as_ref().is_some_and(|claims| !claims.is_empty());
    match credential.on_no_match.as_deref() {
        Some("error" | "deny") => Otherwise::AsSaid,
        Some("warn") if lists_claims => Otherwise::Seen,
        _ => Otherwise::Whole,
    }
}

/// What one part is replaced by; nothing when it is to be a token and is none. What is hidden in it goes among
/// the entries.
fn stand_in(
    name: &str,
    credential: &CredentialPlan,
    real: &[u8],
    entries: &mut Vec<VaultEntry>,
) -> Result<Option<StandIn>, CredentialError> {
    let Some(hidden) = &credential.jwt_claims else { return Ok(Some(StandIn::mint()?)) };
    let Some(fake) = jwt::fake(real, hidden)? else { return Ok(None) };
    entries.extend(fake.parts.into_iter().map(|part| VaultEntry {
        name: format!("{name} ({})", part.name),
        stand_in: part.stand_in,
        real: Secret::new(part.real),
        hosts: credential.inject_hosts.clone(),
    }));
    Ok(Some(fake.token))
}

/// Longer secrets first: one may be part of another.
fn add_duplicates(value: &[u8], parts: &[Part<'_>], spans: &mut Vec<(Range<usize>, usize)>) {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(parts[*number].real.len()));
    for number in order {
        let taken: Vec<_> = spans.iter().map(|(place, _)| place.clone()).collect();
        let others = other_places(value, parts[number].real, &taken);
        spans.extend(others.into_iter().map(|place| (place, number)));
    }
}

fn assemble(value: &[u8], parts: &[Part<'_>], spans: &[(Range<usize>, usize)]) -> Vec<u8> {
    let mut seen = Vec::with_capacity(value.len());
    let mut done = 0;
    for (place, number) in spans {
        seen.extend_from_slice(&value[done..place.start]);
        seen.extend_from_slice(parts[*number].stand_in.as_str().as_bytes());
        done = place.end;
    }
    seen.extend_from_slice(&value[done..]);
    seen
}
