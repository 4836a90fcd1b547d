//! Hosts are opened like files.

use crate::world::{World, asked, each_caller, run, works};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use stockade::{Access, Answered, Flags, Manager, PermissionAnswer, ViolationKind};

/// The rest of the world: a proxy that answers for every host. Gives its port.
fn outside() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nanswer\n");
        }
    });
    port
}

fn manager(world: &World) -> Manager {
    let port = outside();
    world.write_settings(&format!(
        r#"{{"network": {{"proxies": true, "parentProxy": {{"http": "http://127.0.0.1:{port}"}}}}}}"#
    ));
    let allow_domains = vec!["listed.test".to_owned()];
    Manager::new(world.builder().flags(Flags { allow_domains, ..Flags::default() }))
}

/// Without any network there is nobody who would ask for the name, and still it is known.
#[test]
fn a_host_is_opened_where_there_was_no_network() {
    each_caller(async |world| {
        let manager = Manager::new(world.builder());
        let fetch = "curl -sSf --connect-timeout 5 http://one.test:9/page";
        let request = asked(&run(&manager, fetch).await);
        assert_eq!((request.operation, request.resource.as_str()), (ViolationKind::Resolve, "one.test"));
        manager.answer(&request, PermissionAnswer::AllowSession).await.unwrap();
        // There is no such host here; but nobody refused anything any more.
        let result = run(&manager, fetch).await;
        assert_ne!(result.exit_code, 0, "{result:?}");
        assert!(!result.blocked && result.permission_request.is_none(), "{result:?}");
        assert_eq!(asked(&run(&manager, "getent hosts two.test").await).resource, "two.test");
    });
}

#[test]
fn a_host_is_opened_by_an_answer() {
    each_caller(async |world| {
        let manager = manager(&world);
        let fetch = |host: &str| format!("curl -sSf http://{host}.test/page");
        let request = asked(&run(&manager, fetch("one")).await);
        assert_eq!((request.operation, request.resource.as_str()), (ViolationKind::Connect, "one.test:80"));
        let answered = manager.answer(&request, PermissionAnswer::AllowOnce).await.unwrap();
        let Answered::Ran(result) = answered else { panic!("{answered:?}") };
        assert_eq!(works(&result), "answer\n");

        let request = asked(&run(&manager, fetch("one")).await);
        manager.answer(&request, PermissionAnswer::AllowSession).await.unwrap();
        assert_eq!(works(&run(&manager, fetch("one")).await), "answer\n");
        assert_eq!(asked(&run(&manager, fetch("two")).await).resource, "two.test:80");
        manager.allow(Access::Host("two.test".into())).await.unwrap();
        assert_eq!(works(&run(&manager, fetch("two")).await), "answer\n");
        assert_eq!(works(&run(&manager, fetch("one")).await), "answer\n");
    });
}
