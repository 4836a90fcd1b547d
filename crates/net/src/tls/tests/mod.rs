mod authority;
mod hello;
mod scene;
mod terminate;
mod upstream;
