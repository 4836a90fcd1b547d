use super::super::url::check_url;

#[test]
fn addresses_of_repositories() {
    for url in [
        "https://example.org/a.git",
        "http://example.org/a",
        "https://user:secret@example.org/a",
        "https://me%40corp.example@example.org/a",
        "ssh://git@example.org:22/a",
        "ssh://[::1]:22/a",
        "git://example.org/a",
        "file:///srv/a b",
        "git+ssh://example.org/a",
        "git@example.org:a/b.git",
        "example.org:a",
        "[::1]:a",
        "me@[::1]:a",
        "/srv/a.git",
        "../a.git",
        "./a::b",
        "/srv/a::b",
        "a.git",
        "origin",
        ".",
        "a/b://c",
        "gh:a/b",
    ] {
        assert_eq!(check_url(url.as_bytes()), Ok(()), "{url}");
    }
}

#[test]
fn programs_and_options_are_none() {
    for url in [
        "",
        "ext::sh -c evil",
        "ext::sh -c 'cat /etc/passwd'",
        "EXT::x",
        "fd::17",
        "foo::https://x",
        "::x",
        "a b::c",
        "transport-x.y+z::a",
        "foo://x",
        "ext://x",
        "HTTPS://x",
        "ftp://x/a",
        "rsync://x/a",
        "1x://a",
        " https://x",
        "https://x ",
        "-x",
        "--upload-pack=evil",
        "a --upload-pack=evil",
        "ssh://-oProxyCommand=evil/x",
        "ssh://%2doProxyCommand=evil/x",
        "ssh://%2DoProxyCommand=evil/x",
        "ssh://a@-oProxyCommand=evil/x",
        "ssh://[-oProxyCommand=evil]/x",
        "-oProxyCommand=evil:x",
        "a@-oProxyCommand=evil:x",
        "[-oProxyCommand=evil]:x",
        "host:-x",
        "[::1]:-x",
        "https://x/a%0ahost=y",
        "https://x/%0D",
        "https://x%00y/",
        "https://x/%7F",
        "a\nb",
        "a\rb",
        "a\u{7f}b",
        "://x",
    ] {
        assert!(check_url(url.as_bytes()).is_err(), "{url:?}");
    }
}
