from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gossamer.core.progress import show_progress
from gossamer.datasets.download import CHUNK_BYTES, check_file, download

CONTENT = bytes(range(256)) * (CHUNK_BYTES // 100)  # more than two chunks
MD5 = "md5:" + hashlib.md5(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/short" else CONTENT)

    def log_message(self, *args):
        pass


@pytest.fixture
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_whole_file_with_its_checksum_arrives(address, tmp_path):
    path = tmp_path / "folder" / "file"
    download(f"{address}/whole", path, MD5)
    assert path.read_bytes() == CONTENT


def test_progress_goes_to_stderr_only(address, tmp_path, capsys):
    with show_progress():
        download(f"{address}/whole", tmp_path / "file")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("ending", ["short", "missing"])
def test_a_cut_or_refused_download_leaves_nothing(address, tmp_path, ending):
    with pytest.raises(OSError, match=r"must be .* bytes, got|404"):
        download(f"{address}/{ending}", tmp_path / "file", MD5)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_checksum_leaves_nothing(address, tmp_path):
    with pytest.raises(ValueError, match=r"whole must have sha256 00, got [0-9a-f]{64}; the file is damaged"):
        download(f"{address}/whole", tmp_path / "file", "sha256:00")
    assert list(tmp_path.iterdir()) == []


def test_no_server_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match="refused"):
        download("http://127.0.0.1:9/file", tmp_path / "file")


def test_files_on_disk_are_checked_too(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    check_file(path, None)
    check_file(path, "md5:" + hashlib.md5(b"x").hexdigest())
    with pytest.raises(ValueError, match="must have md5 abc, got"):
        check_file(path, "md5:abc")
