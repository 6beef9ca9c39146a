"""Behind real proxies a client can neither use another's token nor read another's answer: proxies.py PROGRAM NGINX HAPROXY"""
import os
import re
import socket
import subprocess
import sys
import time

from program import OPERATE, PATIENCE, Program, exchange, main, statuses

BINARY, NGINX, HAPROXY = (os.path.abspath(path) for path in sys.argv[1:4])
HIDDEN = b"POST /api/v1/refused/0/resubmit HTTP/1.1\r\nHost: localhost\r\nX-Swallow: "


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx(program, folder, port):
    config = os.path.join(folder, "nginx.conf")
    with open(config, "w") as file:
        file.write(f"""daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream gateway {{ server {program.address[0]}:{program.address[1]}; keepalive 1; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://gateway; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_request_buffering off;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
""")
    return [NGINX, "-c", config, "-p", folder]


def haproxy(program, folder, port):
    config = os.path.join(folder, "haproxy.cfg")
    with open(config, "w") as file:
        file.write(f"""global
  maxconn 256
defaults
  mode http
  timeout connect 30s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend in
  bind 127.0.0.1:{port}
  default_backend gateway
backend gateway
  server g {program.address[0]}:{program.address[1]} pool-max-conn 1
""")
    return [HAPROXY, "-db", "-f", config]


def strangers_requests():
    """Requests whose body contains another request, at each alignment of a block-wise reader."""
    for pad in [0, 1, 17] + list(range(3900, 4120, 3)):
        body = b"q" * pad + HIDDEN
        length = f"Content-Length: {len(body)}".encode()
        for method in (b"GET", b"POST", b"DELETE"):
            for path in (b"/api/v1/health", b"/nothing", b"/api/v1/events?source=a"):
                yield method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n" + body
        yield (b"POST /api/v1/events?source=a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n"
               % len(body) + body + b"\r\n0\r\n\r\n")


def holds(start):
    with Program(BINARY, ["trusted_proxies: [127.0.0.1]", "rate_limit: 1000000", "rate_burst: 1000000"]) as program:
        # One refused event, which only the operator may resubmit.
        status, text = program.ask("POST", "/api/v1/events?source=s&first_line=0&bad_lines=refuse",
                                   "ingest-token-0123456789", b"no event\n", {"Content-Type": "application/x-ndjson"})
        assert status == 200, text
        port = free_port()
        with open(os.path.join(program.folder, "proxy.log"), "wb") as log:
            proxy = subprocess.Popen(start(program, program.folder, port), stdout=log, stderr=log)
        try:
            address = ("127.0.0.1", port)
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    socket.create_connection(address, 1).close()
                    break
                except OSError:
                    assert proxy.poll() is None and time.monotonic() < end, "the proxy does not start"
                    time.sleep(0.05)
            victim = (b"GET /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + OPERATE.encode() +
                      b"\r\nConnection: close\r\n\r\n")
            asked = 0
            for request in strangers_requests():
                with socket.create_connection(address, PATIENCE) as stranger:
                    stranger.settimeout(PATIENCE)
                    stranger.sendall(request)
                    # The proxy has the answer, and may reuse its connection to the gateway.
                    seen = stranger.recv(65536)
                    assert statuses(seen)[:1] != [], request[:80]
                    with socket.create_connection(address, PATIENCE) as other:
                        other.settimeout(PATIENCE)
                        answer = exchange(other, victim)
                assert statuses(answer) == [200] and b'"data":[' in answer, (request[:120], answer[:400])
                assert b"resubmitted" not in answer, answer
                asked += 1
            status, refused = program.ask("GET", "/api/v1/refused", OPERATE)
            assert status == 200 and len(re.findall(rb'"number"', refused)) == 1, refused
            print("         ", asked, "requests of a stranger", flush=True)
        finally:
            proxy.terminate()
            proxy.wait(PATIENCE)


if __name__ == "__main__":
    sys.exit(main({"nginx": lambda: holds(nginx), "haproxy": lambda: holds(haproxy)}, sys.argv[4:]))
