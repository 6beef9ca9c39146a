"""Attacks on the built program: attacks.py PROGRAM [NAME...]"""
import gzip
import os
import resource
import socket
import sys
import threading
import zlib

from program import INGEST, PATIENCE, READ, Program, exchange, main, statuses

BINARY = os.path.abspath(sys.argv[1])
MIB = 1 << 20


def head(method, path, *fields, host="localhost"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *fields, "", ""]).encode()


def honest(program):
    status, _ = program.ask("GET", "/api/v1/health", READ)
    assert status == 200, status


def one_request_ends_nothing():
    """A compressed multipart header of many blanks; long paths, ranges and queries: to every listener."""
    blanks = b"--B\r\nA: b\r\nContent-Disposition: form-data;" + b" " * 20000 + b"x\r\n\r\nx\r\n--B--\r\n"
    packed = gzip.compress(blanks)
    multipart = "Content-Type: multipart/form-data; boundary=B"
    shots = [head("POST", "/", multipart, "Content-Encoding: gzip", f"Content-Length: {len(packed)}") + packed,
             head("POST", "/api/v1/events?source=a", multipart, f"Content-Length: {len(blanks)}") + blanks,
             head("GET", "/" + "a" * 30000, "Connection: close"),
             head("GET", "/api/v1/health?" + "a=b&" * 7000, "Connection: close"),
             head("GET", "/", "Range: bytes=" + "0-1," * 7000, "Connection: close"),
             head("GET", "/", "Accept-Encoding: " + "gzip;q=0.1," * 2000, "Connection: close"),
             head("GET", "/", "X-Forwarded-For: " + "1.2.3.4," * 3000, "Connection: close"),
             b"\0" * 4096 + b"\r\n\r\n"]
    with Program(BINARY, ["anonymous_role: none"], ["metrics: {listen: '127.0.0.1:0'}"]) as program:
        metrics = ("127.0.0.1", int(program.find_in_log(r"serving metrics.*address=127\.0\.0\.1:(\d+)")))
        for shot in shots:
            for address in (program.address, metrics):
                assert statuses(program.raw(shot, address)), (address, shot[:80])
            local = socket.socket(socket.AF_UNIX)
            local.settimeout(PATIENCE)
            local.connect(program.socket)
            with local:
                assert statuses(exchange(local, shot)), shot[:80]
            assert program.alive()
        honest(program)


def memory_of_a_stranger_is_bounded():
    """Endless headers, fields, chunk sizes and trailers, 32 MiB of each, and compressed bodies that expand."""
    endless = [(b"", b"A" * 1024), (b"GET / HTTP/1.1\r\nX: ", b"A" * 1024), (b"GET / HTTP/1.1\r\n", b"a:b\r\n" * 200),
               (head("POST", "/x", "Transfer-Encoding: chunked"), b"0" * 1024),
               (head("POST", "/x", "Transfer-Encoding: chunked") + b"0\r\n", b"A" * 1024),
               (head("POST", "/x", "Transfer-Encoding: chunked"), b"400\r\n" + b"A" * 1024 + b"\r\n")]
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(b"\0" * MIB) for _ in range(512)) + packer.flush()
    with Program(BINARY, ["anonymous_role: none"]) as program:
        honest(program)
        before, cpu = program.memory(), program.cpu()
        for first, unit in endless:
            with program.connect() as connection:
                exchange(connection, first + unit * (32 * MIB // len(unit)))
        for token, wanted in ((None, 401), (INGEST, 413)):
            status, _ = program.ask("POST", "/api/v1/events?source=bomb&first_line=0", token, bomb,
                                    {"Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"})
            assert status == wanted, (token, status)
        assert program.memory() - before < 96, (before, program.memory())
        assert program.cpu() - cpu < 10, program.cpu() - cpu
        honest(program)


def a_cut_or_damaged_batch_is_refused_whole():
    lines = "".join('{"id":"%d","project":1,"time":1700000000,"user":{"user":"%d","name":"n"}}\n' % (i, i)
                    for i in range(1, 301)).encode()
    packed = gzip.compress(lines)
    wrong = bytearray(packed)
    wrong[-5] ^= 1
    with Program(BINARY) as program:
        def send(body, coding="gzip"):
            return program.ask("POST", "/api/v1/events?source=s&first_line=0&bad_lines=refuse", INGEST, body,
                               {"Content-Encoding": coding, "Content-Type": "application/x-ndjson"})
        for body, coding, wanted in ((packed[:len(packed) // 2], "gzip", 400), (packed[:-1], "gzip", 400),
                                     (bytes(wrong), "gzip", 400), (packed + b"x", "gzip", 400), (lines, "br", 415),
                                     (lines, "gzip, gzip", 415)):
            status, text = send(body, coding)
            assert status == wanted, (coding, status, text)
        status, text = send(packed)
        assert status == 200 and b'"appended":300' in text, text


def a_dripping_client_delays_no_stop():
    begins = [b"", b"GET / HTTP/1.1\r\nX: ", head("POST", "/api/v1/events?source=a", "Authorization: Bearer " + INGEST,
                                                  "Content-Type: application/x-ndjson", "Content-Length: 1000000"),
              head("GET", "/api/v1/live")]
    with Program(BINARY) as program:
        honest(program)
        connections = [program.connect() for _ in begins]
        over = threading.Event()

        def drip():
            while not over.wait(0.05):
                for connection in connections:
                    try:
                        connection.sendall(b"a")
                    except OSError:
                        pass

        for connection, begin in zip(connections, begins):
            connection.sendall(begin)
        dripping = threading.Thread(target=drip)
        dripping.start()
        code = program.stop()
        over.set()
        dripping.join()
        assert code == 0, code
        for connection in connections:
            connection.close()


def silent_clients_keep_nobody_out():
    """More connections than the server holds, from one address, silent or in the middle of a header."""
    with Program(BINARY, ["connections: 40", "connections_per_address: 20"]) as program:
        held = []
        for i in range(200):
            connection = program.connect()
            connection.sendall(b"GET / HTTP/1.1\r\nX: " if i % 2 else b"")
            held.append(connection)
            if i % 20 == 0:
                honest(program)
        honest(program)
        for connection in held:
            connection.close()


def no_client_takes_all_streams():
    with Program(BINARY, ["streams: 8"]) as program:
        watching = []
        statuses_seen = []
        for _ in range(8):
            connection = program.connect()
            connection.sendall(head("GET", "/api/v1/live"))
            statuses_seen += statuses(connection.recv(15))
            watching.append(connection)
        assert statuses_seen == [200, 200] + [503] * 6, statuses_seen
        with program.connect() as own:
            own.sendall(head("GET", "/api/v1/live", "Authorization: Bearer " + READ))
            assert statuses(own.recv(15)) == [200]
        for connection in watching:
            connection.close()


def only_known_names_reach_a_loopback_address():
    close = "Connection: close"
    with Program(BINARY, ["hosts: 'stats.example, other.example'"]) as program:
        for host, wanted in (("localhost", 200), ("127.0.0.1:80", 200), ("[::1]:80", 200), ("stats.example", 200),
                             ("Other.Example:8080", 200), ("evil.example", 421), ("x", 421), ("127.0.0.1.evil.example", 421)):
            answer = program.raw(head("GET", "/api/v1/projects", close, host=host))
            assert statuses(answer) == [wanted], (host, answer[:200])
        answer = program.raw(b"GET http://evil.example/api/v1/projects HTTP/1.1\r\nHost: localhost\r\n"
                             b"Connection: close\r\n\r\n")
        assert statuses(answer) == [421], answer[:200]
    with Program(BINARY, ["trusted_proxies: [127.0.0.1]"]) as program:
        answer = program.raw(head("GET", "/api/v1/projects", close, host="public.example"))
        assert statuses(answer) == [200], "a proxy in front decides about names"


def a_failure_is_logged_while_a_client_drips():
    """The log's disk is full (simulated by a file size limit): the reason is logged and the program ends."""
    with Program(BINARY) as program:
        honest(program)
        with program.connect() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")
            over = threading.Event()

            def drip():
                while not over.wait(0.05):
                    try:
                        connection.sendall(b"a")
                    except OSError:
                        return

            dripping = threading.Thread(target=drip)
            dripping.start()
            resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, (MIB // 4, MIB // 4))
            for i in range(200):
                lines = [{"id": str(i * 1000 + k), "project": 1, "time": 1700000000,
                          "user": {"user": str(k + 1), "name": os.urandom(100).hex()}} for k in range(500)]
                try:
                    program.events(lines, "s", i * 500)
                except OSError:
                    break
                if not program.alive():
                    break
            code = program.process.wait(PATIENCE)
            over.set()
            dripping.join()
        with open(program.log, errors="replace") as log:
            text = log.read()
        assert code not in (0, None), code
        assert "failed" in text or "cannot continue" in text, text[-2000:]


CHECKS = {check.__name__: check for check in (
    one_request_ends_nothing, memory_of_a_stranger_is_bounded, a_cut_or_damaged_batch_is_refused_whole,
    a_dripping_client_delays_no_stop, silent_clients_keep_nobody_out, no_client_takes_all_streams,
    only_known_names_reach_a_loopback_address, a_failure_is_logged_while_a_client_drips)}

if __name__ == "__main__":
    sys.exit(main(CHECKS, sys.argv[2:]))
