"""Starts the built program with a gateway in a scratch folder, and speaks raw HTTP to it."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

READ = "read-token-0123456789"
INGEST = "ingest-token-0123456789"
OPERATE = "operate-token-0123456789"
PATIENCE = 120  # s, for anything that must happen eventually


class Program:
    """`gateway` and `more` are lines of the configuration, below `gateway:` and at its top."""

    def __init__(self, binary, gateway=(), more=()):
        self.folder = tempfile.mkdtemp(prefix="cobblestone-hostile-")
        tokens = os.path.join(self.folder, "tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(f"read {READ}\ningest * all {INGEST}\noperate {OPERATE}\n")
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w") as file:
            file.write("\n".join(["data_directory: " + self.folder + "/data", *more, "gateway:",
                                  "  listen: 127.0.0.1:0", "  tokens_file: " + tokens,
                                  *("  " + line for line in gateway)]) + "\n")
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([binary, "run", "--config", config], stdout=log, stderr=log)
        self.address = ("127.0.0.1", int(self.find_in_log(r"gateway=https?://127\.0\.0\.1:(\d+)")))
        self.socket = os.path.join(self.folder, "data", "cobblestone.sock")

    def find_in_log(self, pattern):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(self.log, errors="replace") as log:
                found = re.search(pattern, log.read())
            if found:
                return found.group(1) if found.groups() else found.group(0)
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError("no line of the log matches " + pattern + ":\n" + open(self.log, errors="replace").read())

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        """Sends SIGTERM and returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def memory(self):
        """The largest resident set so far, in MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) / 1024

    def cpu(self):
        """Seconds of CPU so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self, address=None):
        connection = socket.create_connection(address or self.address, PATIENCE)
        connection.settimeout(PATIENCE)
        return connection

    def raw(self, data, address=None):
        """Everything received until the peer closes the connection."""
        with self.connect(address) as connection:
            return exchange(connection, data)

    def ask(self, method, path, token=None, body=None, headers=None, address=None):
        """Status and body of one ordinary request."""
        connection = http.client.HTTPConnection(*(address or self.address), timeout=PATIENCE)
        fields = {"Authorization": "Bearer " + token} if token else {}
        connection.request(method, path, body, {**fields, **(headers or {})})
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return reply.status, text

    def events(self, lines, source, first_line=0, token=INGEST):
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        return self.ask("POST", f"/api/v1/events?source={source}&first_line={first_line}", token, body,
                        {"Content-Type": "application/x-ndjson"})


def exchange(connection, data):
    try:
        connection.sendall(data)
    except OSError:
        pass  # the program answered before it had read everything
    out = b""
    try:
        while True:
            piece = connection.recv(65536)
            if not piece:
                break
            out += piece
    except OSError:
        pass
    return out


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3})", answer)]


def main(checks, wanted):
    """Runs the named checks, or all; returns the exit code, 1 if one failed."""
    failed = 0
    for name, check in checks.items():
        if wanted and name not in wanted:
            continue
        try:
            check()
            print("held    ", name, flush=True)
        except Exception as error:  # every failed check is printed, and the others still run
            failed += 1
            print("FAILED  ", name, "-", type(error).__name__, error, flush=True)
    return 1 if failed else 0
