//! Tests of the whole way from settings to plans.

mod broken;
mod environment;
mod held;
mod layers;
mod model;
mod named;
mod network;
mod plans;
mod protection;
mod schema;
mod secrets;
mod shapes;
mod surroundings;
