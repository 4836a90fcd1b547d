// A TLS server for HTTP/1 and HTTP/2. One JSON line for every request, written before its answer.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http2 = require('http2');
const { spawn } = require('child_process');

const [place, repositories] = process.argv.slice(2);
const log = fs.openSync(place + '/secure.log', 'a');

const server = http2.createSecureServer({
  allowHTTP1: true,
  cert: fs.readFileSync(place + '/certificate.pem'),
  key: fs.readFileSync(place + '/key.pem'),
});

function note(request, body) {
  const headers = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
  const line = {
    method: request.method,
    target: request.url,
    version: request.httpVersion,
    headers,
    sni: request.socket.servername || '',
    body: body.toString('latin1'),
  };
  fs.writeSync(log, JSON.stringify(line) + '\n');
}

server.on('request', (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('error', () => {});
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    note(request, body);
    const url = new URL(request.url, 'https://server.test');
    const value = url.search.split('=').slice(1).join('=');
    switch (url.pathname) {
      case '/echo':
        return response.end(body);
      case '/headers':
        return response.end(JSON.stringify(request.headers));
      case '/last-part':
        return response.end(request.headers.authorization.split('.').pop());
      case '/redirect':
        response.writeHead(302, { location: value });
        return response.end();
      case '/cookie':
        response.writeHead(200, { 'set-cookie': 'a=b', 'x-kept': 'yes' });
        return response.end();
      case '/big': {
        const block = Buffer.alloc(1 << 20, 'x');
        let left = Number(value);
        const more = () => {
          while (left > 0) {
            left -= 1;
            if (!response.write(block)) return response.once('drain', more);
          }
          return response.end();
        };
        return more();
      }
      default:
        if (url.pathname.startsWith('/git/')) return git(request, url, body, response);
        return response.end(`hello over h${request.httpVersion}\n`);
    }
  });
});

// git's own server program, as a web server would run it.
function git(request, url, body, response) {
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: url.pathname.slice('/git'.length),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] || '',
      CONTENT_LENGTH: String(body.length),
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] || '',
      GIT_PROTOCOL: request.headers['git-protocol'] || '',
      REMOTE_USER: 'tester',
      REMOTE_ADDR: '203.0.113.1',
    },
  });
  const out = [];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.on('close', () => {
    const all = Buffer.concat(out);
    const end = all.indexOf('\r\n\r\n');
    let status = 200;
    const headers = {};
    for (const line of all.subarray(0, end).toString().split('\r\n')) {
      const at = line.indexOf(':');
      const name = line.slice(0, at).toLowerCase();
      if (name === 'status') status = Number.parseInt(line.slice(at + 1), 10);
      else headers[name] = line.slice(at + 1).trim();
    }
    response.writeHead(status, headers);
    response.end(all.subarray(end + 4));
  });
  child.stdin.on('error', () => {});
  child.stdin.end(body);
}

// A web socket that repeats every short message.
server.on('upgrade', (request, socket) => {
  note(request, Buffer.alloc(0));
  const accept = crypto
    .createHash('sha1')
    .update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11')
    .digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
    + `Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
  socket.on('data', (frame) => {
    const length = frame[1] & 127;
    const mask = frame.subarray(2, 6);
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ mask[at % 4]));
    socket.write(Buffer.concat([Buffer.from([0x80 | (frame[0] & 15), length]), text]));
  });
  socket.on('error', () => {});
});

server.on('sessionError', () => {});
server.on('tlsClientError', () => {});
server.listen(443, '::', () => fs.writeSync(1, 'ready\n'));
