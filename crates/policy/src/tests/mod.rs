//! Tests of the whole way from settings to plans.

mod broken;
mod environment;
mod layers;
mod model;
mod plans;
mod protection;
mod schema;
