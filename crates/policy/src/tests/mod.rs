//! Tests of the whole way from settings to plans.

mod broken;
mod model;
mod plans;
