mod authority;
mod hello;
mod scene;
mod terminate;
