from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from timesink.errors import TimesinkError
from timesink.reports import perfetto

BODY = b'{"traceEvents": []}'


@contextmanager
def serving(path: Path) -> Iterator[int]:
    made = perfetto.handler(path, "trace.json", once=False)
    server = ThreadingHTTPServer((perfetto.HOST, 0), made)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(port: int, method: str, target: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest(method, target, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{port}")
    connection.putheader("Origin", perfetto.ORIGIN)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    path = tmp_path / "rank0.json"
    path.write_bytes(BODY)
    return path


def test_serves_the_file_to_perfetto_only(trace: Path) -> None:
    with serving(trace) as port:
        status, headers, body = ask(port, "GET", "/trace.json")
        assert (status, body) == (200, BODY)
        assert headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
        status, headers, body = ask(port, "HEAD", "/trace.json")
        assert (status, body) == (200, b"")
        assert headers["Content-Length"] == str(len(BODY))
        status, headers, _ = ask(port, "OPTIONS", "/trace.json")
        assert status == 204
        assert headers["Access-Control-Allow-Private-Network"] == "true"


@pytest.mark.parametrize(
    "target",
    ["/", "/secret.txt", "/../secret.txt", "/trace.json/../secret.txt", "/%2e%2e/secret.txt",
     "/rank0.json", "/trace.json%00", "http://127.0.0.1/secret.txt"],
)  # fmt: skip
def test_serves_nothing_else(trace: Path, target: str) -> None:
    with serving(trace) as port:
        for method in ("GET", "HEAD", "OPTIONS"):
            status, _, body = ask(port, method, target)
            assert status == 404
            assert body == b""


def test_other_methods_are_refused(trace: Path) -> None:
    with serving(trace) as port:
        assert ask(port, "POST", "/trace.json")[0] == 501
        assert ask(port, "DELETE", "/trace.json")[0] == 501
    assert trace.read_bytes() == BODY


def test_a_page_under_another_name_for_this_host_reads_nothing(trace: Path) -> None:
    """DNS rebinding: a foreign name that resolves to 127.0.0.1 is not answered."""
    with serving(trace) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/trace.json", headers={"Host": "evil.example"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (404, b"")
        connection.close()


def test_a_busy_port_is_said_with_its_remedy(trace: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(TimesinkError) as caught:
            perfetto.serve(trace, port=other.getsockname()[1])
    assert "9001" in caught.value.remedy


def test_once_prints_the_link_and_ends(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    thread = Thread(target=perfetto.serve, args=(trace,), kwargs={"port": port, "once": True})
    thread.start()
    for _ in range(500):
        try:
            assert ask(port, "GET", "/trace.json")[2] == BODY
            break
        except ConnectionRefusedError:
            thread.join(0.02)
    thread.join(10)
    assert not thread.is_alive()
    link = f"https://ui.perfetto.dev/#!/?url=http://127.0.0.1:{port}/trace.json"
    assert link in capsys.readouterr().out


def test_a_packed_file_keeps_its_ending(tmp_path: Path) -> None:
    packed = tmp_path / "x.json"
    packed.write_bytes(b"\x1f\x8b\x08")
    assert perfetto._gzipped(packed)
