//! The road of one request: what it asks for, whether it may, on to the server and back.

use super::agree::{Asked, Form, asked, bad, judged, still};
use super::answer::Answer;
use super::connect::unread;
use super::flow::{Body, Fault, Flow, Source, Tally, too_long};
use super::guard::{Gate, Unread};
use super::head::{BadRequest, Upgrade};
use super::lines::{Line, Lines, SendError, Speech, Way, failed, not_dialled};
use super::protocols::Protocols;
use super::wishes::{Wishes, plain_web_socket, refuse_echo};
use super::{inject, size, translate};
use crate::credentials::{Channel, Scrubber};
use crate::dial::Route;
use crate::gateway::{Admitted, Denied, Direction, Exchange, Place, Wanted, Ward, refusal};
use crate::{Verdict, Via, tls};
use http::{Method, Request, Response, StatusCode, header, request};
use http_body::Body as _;
use http_body_util::{BodyExt, Either, Empty};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use std::sync::{Arc, Mutex, PoisonError};
use stockade_policy::{Cause, NetLimits, Protocol, Target};

/// What is wrong with a request that is meant for a server.
const NOT_A_PROXY_REQUEST: &str = "not-a-proxy-request";

/// Where the requests of one client go.
#[derive(Debug)]
pub(super) enum Kind {
    /// Wherever each of them says.
    Proxy,
    /// To one target.
    Admitted(Arc<Admitted>),
}

/// The requests of one client.
#[derive(Debug)]
pub(super) struct Road {
    pub(super) ward: Arc<Ward>,
    pub(super) kind: Kind,
    pub(super) speech: Speech,
    pub(super) lines: Arc<Lines>,
    /// Who reads the client's bytes, where that is HTTP/1.
    pub(super) gate: Option<Arc<Gate>>,
    next: Mutex<Option<Next>>,
}

/// What a connection turns into after its last request: what the server has agreed to.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) client: OnUpgrade,
    pub(super) server: OnUpgrade,
    pub(super) admitted: Arc<Admitted>,
    pub(super) exchange: Arc<Exchange>,
    /// What covers real values in what the server says.
    pub(super) scrubber: Option<Scrubber>,
}

impl Road {
    pub(super) fn new(ward: &Arc<Ward>, kind: Kind, speech: Speech, gate: Option<Arc<Gate>>) -> Arc<Self> {
        let lines = Lines::new(Arc::clone(ward), speech);
        Arc::new(Self { ward: Arc::clone(ward), kind, speech, lines, gate, next: Mutex::default() })
    }

    /// What the connection turned into.
    pub(super) fn next(&self) -> Option<Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn turn_into(&self, next: Next) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
    }

    /// Answers one request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Source>) -> Response<Body> {
        let answered = match self.gate.as_ref().map_or(Ok(()), |gate| gate.next()) {
            Ok(()) if request.method() == Method::CONNECT => Err(self.late_connect(&request)),
            Ok(()) => self.forward(request).await,
            Err(Unread { wrong, said }) => Err(self.bad(wrong, &said)),
        };
        answered.unwrap_or_else(Answer::whole)
    }

    /// The answer to a CONNECT among other requests.
    fn late_connect(&self, request: &Request<Source>) -> Answer {
        match self.kind {
            Kind::Proxy => {
                let reason = "over HTTP/1.1, CONNECT is taken as the first request of a connection only";
                self.ward.denied_unread(
                    request.uri().to_string().as_bytes(),
                    Via::Connect,
                    reason.to_owned(),
                );
                Answer::plain(StatusCode::NOT_IMPLEMENTED, NOT_A_PROXY_REQUEST, reason)
            }
            Kind::Admitted(_) => self.bad(BadRequest::Target, b""),
        }
    }

    async fn forward(self: &Arc<Self>, request: Request<Source>) -> Result<Response<Body>, Answer> {
        let asked = self.asked(&request)?;
        let (place, _room) = self.room(&asked, &request)?;
        let way = self.way(&asked, &request);
        let (admitted, line) = self.admitted(&asked, way).await?;
        let (method, wishes) = (request.method().as_str(), Wishes::of(request.headers()));
        let still = still(&admitted.target, &asked, method, wishes);
        let exchange = Arc::new(admitted.exchange((method, &asked.path), still));
        exchange.hold(place);
        let result = tokio::select! {
            biased;
            result = self.pass(request, &asked, (&admitted, way, line), &exchange) => result,
            () = exchange.closed() => Err(Answer::plain(
                StatusCode::FORBIDDEN,
                "blocked-by-allowlist",
                "the rules have changed, and this request is no longer allowed",
            )),
        };
        if let Err(answer) = &result {
            exchange.answered(answer.status().as_u16());
            exchange.ended(match answer.status().is_server_error() {
                true => Verdict::Failed,
                false => Verdict::Refused,
            });
        }
        result
    }

    /// What a request asks for, in whichever version of HTTP.
    fn asked(&self, request: &Request<Source>) -> Result<Asked, Answer> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (named, more) = (hosts.next().map(|host| host.as_bytes()), hosts.next());
        let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        let named = match request.version() {
            http::Version::HTTP_2 => named.or(authority),
            _ => named,
        };
        let said = request.uri().to_string();
        if more.is_some() {
            return Err(self.bad(BadRequest::Host, said.as_bytes()));
        }
        let asked = asked(&said, named).map_err(|wrong| self.bad(wrong, said.as_bytes()))?;
        match (&self.kind, self.speech, asked.form) {
            (Kind::Proxy, _, Form::Http) => Ok(asked),
            (Kind::Proxy, _, Form::Origin) => {
                let reason = "this is a proxy: ask it for `http://host/path`, or CONNECT host:port";
                Err(self.not_for_a_proxy(asked.target(), reason))
            }
            (Kind::Proxy, _, Form::Https) => {
                let target = Target { port: asked.port.unwrap_or(443), host: asked.host };
                Err(self.not_for_a_proxy(target, "this proxy takes https only through CONNECT host:port"))
            }
            (_, _, Form::Origin) => Ok(asked),
            (_, Speech::Plain | Speech::PlainTwo, Form::Http) => Ok(asked),
            (_, Speech::Tls | Speech::TlsTwo, Form::Https) => Ok(asked),
            _ => Err(self.bad(BadRequest::Target, said.as_bytes())),
        }
    }

    /// The answer to a request that a proxy does not take, once it is told.
    fn not_for_a_proxy(&self, target: Target, reason: &str) -> Answer {
        let refusal = refusal(&target, Cause::Grammar, reason.to_owned(), None);
        self.ward.denied(&Wanted { target, via: Via::HttpProxy, spoken: Some(Protocol::Http) }, refusal);
        Answer::plain(StatusCode::BAD_REQUEST, NOT_A_PROXY_REQUEST, reason)
    }

    /// The answer to what cannot be read as a request, once it is told. `said` is what it asks for.
    fn bad(&self, wrong: BadRequest, said: &[u8]) -> Answer {
        match &self.kind {
            Kind::Admitted(admitted) => bad(admitted, wrong),
            Kind::Proxy => unread(&self.ward, said, Via::HttpProxy, wrong),
        }
    }

    /// A place for the request, until its answer is over, and room for its head, until that begins.
    fn room(&self, asked: &Asked, request: &Request<Source>) -> Result<(Place, Place), Answer> {
        let wanted = self.wanted(asked);
        let crowded = |denied: Denied| Answer::refused(&denied.refusal);
        let place = self.ward.place_for_request(&wanted).map_err(crowded)?;
        let room = self.ward.room_for_head(&wanted, translate::weight(request)).map_err(crowded)?;
        Ok((place, room))
    }

    /// What the request wants, for whoever lets it in.
    fn wanted(&self, asked: &Asked) -> Wanted {
        match &self.kind {
            Kind::Admitted(admitted) => admitted.wanted(),
            Kind::Proxy => {
                Wanted { target: asked.target(), via: Via::HttpProxy, spoken: Some(Protocol::Http) }
            }
        }
    }

    /// Whom the request is sent to.
    ///
    /// A proxy is asked only for what the request itself says that it is for, so that it is the same whatever
    /// the proxy goes by. To turn a connection into something else takes a tunnel, as does a request for no
    /// path.
    fn way(&self, asked: &Asked, request: &Request<Source>) -> Way {
        let target = asked.target();
        let agrees = match &self.kind {
            Kind::Proxy => true,
            Kind::Admitted(admitted) => admitted.target == target,
        };
        let forwarded = self.speech == Speech::Plain
            && agrees
            && asked.path != "*"
            && translate::wanted_upgrade(request.headers()) != Upgrade::Opaque
            && self.ward.routes().of_request(&target) != Route::Direct;
        if forwarded { Way::Forwarder } else { Way::Server }
    }

    /// What lets the request in, with a connection that waits for one.
    async fn admitted(&self, asked: &Asked, way: Way) -> Result<(Arc<Admitted>, Option<Line>), Answer> {
        match &self.kind {
            Kind::Admitted(admitted) => Ok((Arc::clone(admitted), None)),
            Kind::Proxy => {
                if let Some(line) = self.lines.waiting(&asked.target(), way).await {
                    return Ok((Arc::clone(&line.admitted), Some(line)));
                }
                let admitted = self.ward.admit(self.wanted(asked)).await;
                let admitted = admitted.map_err(|denied| Answer::refused(&denied.refusal))?;
                Ok((Arc::new(admitted), None))
            }
        }
    }

    async fn pass(
        self: &Arc<Self>,
        mut request: Request<Source>,
        asked: &Asked,
        (admitted, way, line): (&Arc<Admitted>, Way, Option<Line>),
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Answer> {
        let method = request.method().as_str();
        if way == Way::Forwarder || self.ward.vault().is_some() {
            refuse_echo(&self.ward, admitted, asked, method)?;
        }
        judged(&self.ward, admitted, asked, method).await?;
        Wishes::of(request.headers()).judged(&self.ward, admitted, asked, method)?;
        let upgrade = translate::wanted_upgrade(request.headers());
        if upgrade == Upgrade::Opaque && self.scrubber(admitted).is_some() {
            plain_web_socket(&self.ward, admitted, asked, &mut request)?;
        }
        let client = (upgrade == Upgrade::Opaque)
            .then(|| (hyper::upgrade::on(&mut request), Protocols::of(request.headers())));
        let (head, body) = request.into_parts();
        let outgoing = self.outgoing(head, body, admitted, exchange).await?;
        let (response, line) = self.send(outgoing, (admitted, exchange), way, line).await?;
        exchange.answered(response.status().as_u16());
        size::count_head(admitted, exchange, size::of_answer(&response), Direction::Received).await?;
        if way == Way::Forwarder && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // Nobody inside could introduce themselves to it.
            let text = format!("the proxy that leads to {} wants another login", admitted.target);
            return Err(Answer::plain(StatusCode::BAD_GATEWAY, "upstream-failed", text));
        }
        match (response.status(), client) {
            (StatusCode::SWITCHING_PROTOCOLS, Some((client, wanted)))
                if wanted.agree(&Protocols::of(response.headers())) =>
            {
                let (admitted, exchange) = (Arc::clone(admitted), Arc::clone(exchange));
                self.switch(response, client, admitted, exchange)
            }
            (StatusCode::SWITCHING_PROTOCOLS, _) => Err(Answer::other_protocol(&admitted.target)),
            _ => {
                if let Some(gate) = &self.gate {
                    gate.stay();
                }
                self.incoming(response, line, admitted, exchange)
            }
        }
    }

    /// The request as it goes out, in the form of HTTP/1.
    async fn outgoing(
        &self,
        mut head: request::Parts,
        body: Source,
        admitted: &Arc<Admitted>,
        exchange: &Arc<Exchange>,
    ) -> Result<Request<Body>, Answer> {
        let tally = self.tally(admitted, exchange, Direction::Sent);
        if tally.left.is_some_and(|most| body.size_hint().lower() > most) {
            let refusal = self.ward.refuse(too_long(&admitted.target, Direction::Sent)).refusal;
            return Err(Answer::plain(StatusCode::PAYLOAD_TOO_LARGE, "too-long", refusal.reason));
        }
        let port = match self.channel() {
            Channel::Plain => 80,
            Channel::Tls => 443,
        };
        translate::outward(&mut head, &admitted.target, port);
        if let Some(scrubber) = self.scrubber(admitted) {
            scrubber.ask_plainly(&mut head.headers);
        }
        let body = inject::inject(self.channel(), &mut head, body, tally).await?;
        Ok(Request::from_parts(head, body))
    }

    /// Sends a request, over a new connection where the kept one had ended.
    async fn send(
        &self,
        mut request: Request<Body>,
        (admitted, exchange): (&Arc<Admitted>, &Exchange),
        way: Way,
        line: Option<Line>,
    ) -> Result<(Response<Incoming>, Line), Answer> {
        if way == Way::Forwarder {
            self.ward.judge_forwarded(admitted).await.map_err(|error| not_dialled(&error))?;
        }
        let (mut kept, mut counted) = (line, false);
        for _ in 0..2 {
            let mut line = match kept.take() {
                Some(line) => line,
                None => self.lines.line(admitted, way).await?,
            };
            if way == Way::Forwarder {
                let (mut head, body) = request.into_parts();
                let asked = translate::forwarded(&mut head, &admitted.target, line.authorization());
                asked.ok_or(Answer::bad(BadRequest::Target))?;
                request = Request::from_parts(head, body);
            }
            if line.is_second() && request.version() != http::Version::HTTP_2 {
                let (mut head, body) = request.into_parts();
                let scheme = if self.speech == Speech::PlainTwo { "http" } else { "https" };
                translate::second(&mut head, scheme).ok_or(Answer::bad(BadRequest::Target))?;
                request = Request::from_parts(head, body);
            }
            line.end_with(&mut request);
            // What a kept connection did not take has not been sent.
            if !std::mem::replace(&mut counted, true) {
                let size = size::of_request(&request);
                size::count_head(admitted, exchange, size, Direction::Sent).await?;
            }
            match line.send(request).await {
                Ok(response) => return Ok((response, line)),
                Err(SendError::Unsent(unsent)) => request = *unsent,
                Err(SendError::Failed(error)) => {
                    return Err(match (Fault::of(&error), way) {
                        (Some(Fault::Cut(cut)), _) => cut.answer(),
                        (Some(Fault::Bad(wrong)), _) => self.bad_body(admitted, wrong),
                        (Some(Fault::Short), _) => {
                            let text = "the body of the request did not arrive in full";
                            Answer::plain(StatusCode::BAD_REQUEST, "bad-request", text)
                        }
                        (None, Way::Server) => failed(&admitted.target, &error),
                        (None, Way::Forwarder) => self.not_forwarded(admitted, &error),
                    });
                }
            }
        }
        let text = format!("{} closes every connection before it answers", admitted.target);
        Err(Answer::plain(StatusCode::BAD_GATEWAY, "upstream-failed", text))
    }

    /// The answer to a request whose body cannot be read in one way, once it is told.
    fn bad_body(&self, admitted: &Admitted, wrong: BadRequest) -> Answer {
        self.ward.refuse(refusal(&admitted.target, Cause::Grammar, wrong.to_string(), None));
        Answer::bad(wrong)
    }

    /// The answer to whoever got none because a proxy gave none.
    fn not_forwarded(&self, admitted: &Admitted, error: &hyper::Error) -> Answer {
        let (routes, target) = (self.ward.routes(), &admitted.target);
        let cause = tls::cause(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        let text = format!("{target} gave no answer through {}: {error}{cause}", routes.of_request(target));
        Answer::plain(StatusCode::BAD_GATEWAY, "upstream-failed", text)
    }

    /// The answer as it goes to the client.
    fn incoming(
        &self,
        response: Response<Incoming>,
        line: Line,
        admitted: &Arc<Admitted>,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Answer> {
        let (mut head, body) = response.into_parts();
        let tally = self.tally(admitted, exchange, Direction::Received);
        if tally.left.is_some_and(|most| body.size_hint().lower() > most) {
            let refusal = self.ward.refuse(too_long(&admitted.target, Direction::Received)).refusal;
            return Err(Answer::plain(StatusCode::BAD_GATEWAY, "too-long", refusal.reason));
        }
        let is_empty = body.is_end_stream();
        if !is_empty && translate::is_packed(&head.headers) {
            let text = format!("{} packs its answer for the way, which nobody asked for", admitted.target);
            return Err(Answer::plain(StatusCode::BAD_GATEWAY, "answer-not-readable", text));
        }
        translate::inward(&mut head, &self.ward.judge().plan().strip_response_headers);
        let mut flow =
            Flow::new(Either::Left(body), tally).holding(line.lease(&self.lines)).told_to(self.gate.clone());
        if let Some(scrubber) = self.scrubber(admitted) {
            let unread = if is_empty { Ok(()) } else { scrubber.can_read(&head) };
            unread.map_err(|unread| {
                let text = format!("{} sends {unread}", admitted.target);
                Answer::plain(StatusCode::BAD_GATEWAY, "answer-not-readable", text)
            })?;
            scrubber.answer(&mut head);
            if !is_empty {
                flow = flow.scrubbing(scrubber);
            }
        }
        Ok(Response::from_parts(head, flow.boxed_unsync()))
    }

    /// What covers real values in an answer, where its host may have been sent one.
    fn scrubber(&self, admitted: &Admitted) -> Option<Scrubber> {
        self.ward.vault().and_then(|vault| vault.scrubber(&admitted.target))
    }

    fn channel(&self) -> Channel {
        match self.speech {
            Speech::Plain | Speech::PlainTwo => Channel::Plain,
            Speech::Tls | Speech::TlsTwo => Channel::Tls,
        }
    }

    fn switch(
        &self,
        mut response: Response<Incoming>,
        client: OnUpgrade,
        admitted: Arc<Admitted>,
        exchange: Arc<Exchange>,
    ) -> Result<Response<Body>, Answer> {
        let server = hyper::upgrade::on(&mut response);
        let (mut head, _) = response.into_parts();
        let scrubber = self.scrubber(&admitted);
        if let Some(scrubber) = &scrubber {
            if head.headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS) {
                let text = format!("{} wants to send messages that cannot be read", admitted.target);
                return Err(Answer::plain(StatusCode::BAD_GATEWAY, "answer-not-readable", text));
            }
            scrubber.answer(&mut head);
        }
        exchange.leave();
        self.turn_into(Next { client, server, admitted, exchange, scrubber });
        Ok(Response::from_parts(head, Empty::new().map_err(|no| match no {}).boxed_unsync()))
    }

    fn tally(&self, admitted: &Arc<Admitted>, exchange: &Arc<Exchange>, direction: Direction) -> Tally {
        let judge = self.ward.judge();
        let most = |of: fn(&NetLimits) -> Option<u64>| {
            let (sandbox, rule) = (of(&judge.plan().limits), of(&admitted.allowance.limits));
            sandbox.into_iter().chain(rule).min()
        };
        let left = match direction {
            Direction::Sent => most(|limits| limits.max_request_bytes),
            Direction::Received => most(|limits| limits.max_response_bytes),
        };
        let (ward, admitted, exchange) = (Arc::clone(&self.ward), Arc::clone(admitted), Arc::clone(exchange));
        Tally { ward, admitted, exchange, direction, left }
    }
}
