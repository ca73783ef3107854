"""Downloads against a server on this machine that breaks off in the middle."""

import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mmcasvit.datasets import download
from mmcasvit.datasets.download import SOURCES, Archive, DownloadError, Source, prepare


def make_zip(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


FILES = {f'train/{i:03d}.bin': bytes([i]) * 20_000 for i in range(20)}
BODY = make_zip(FILES)


class Server:
    """Serves BODY; sends at most `cut` bytes per answer and counts the requests."""

    def __init__(self):
        self.cut = len(BODY)
        self.ranges = True
        self.status = None
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f'http://127.0.0.1:{self.http.server_port}/data.zip'

    def answer(self, handler):
        asked = handler.headers.get('Range')
        self.requests.append(asked)
        if self.status:
            handler.send_error(self.status)
            return
        start = int(asked.removeprefix('bytes=').rstrip('-')) if self.ranges else 0
        if start >= len(BODY):
            handler.send_response(416)
            handler.send_header('Content-Range', f'bytes */{len(BODY)}')
            handler.end_headers()
            return
        handler.send_response(206 if self.ranges else 200)
        if self.ranges:
            span = f'bytes {start}-{len(BODY) - 1}/{len(BODY)}'
            handler.send_header('Content-Range', span)
        handler.send_header('Content-Length', str(len(BODY) - start))
        handler.end_headers()
        handler.wfile.write(BODY[start : start + self.cut])


@pytest.fixture
def server():
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def source(server, size=len(BODY), count=20):
    return Source('unused', (Archive(server.url, size, {'train': count}),))


def assert_unpacked(root):
    for name, content in FILES.items():
        assert (root / name).read_bytes() == content
    assert sorted(p.name for p in root.iterdir()) == ['train']


class TestPrepare:
    def test_whole(self, server, tmp_path):
        assert prepare(source(server), tmp_path / 'd') == tmp_path / 'd'
        assert_unpacked(tmp_path / 'd')
        assert len(server.requests) == 1

    def test_goes_on_where_it_broke_off(self, server, tmp_path):
        server.cut = len(BODY) // 3
        prepare(source(server), tmp_path)
        assert_unpacked(tmp_path)
        starts = [int(r.removeprefix('bytes=').rstrip('-')) for r in server.requests]
        assert starts[:3] == [0, server.cut, 2 * server.cut]

    def test_goes_on_in_the_next_call(self, server, tmp_path):
        part = tmp_path / 'data.zip.part'
        part.write_bytes(BODY[:1000])
        prepare(source(server), tmp_path)
        assert_unpacked(tmp_path)
        assert server.requests == ['bytes=1000-']

    def test_all_was_there(self, server, tmp_path):
        (tmp_path / 'data.zip.part').write_bytes(BODY)
        prepare(source(server), tmp_path)
        assert_unpacked(tmp_path)

    def test_server_without_ranges_starts_over(self, server, tmp_path):
        (tmp_path / 'data.zip.part').write_bytes(b'x' * 1000)
        server.ranges = False
        prepare(source(server), tmp_path)
        assert_unpacked(tmp_path)

    def test_archive_fetched_by_hand(self, server, tmp_path):
        (tmp_path / 'data.zip').write_bytes(BODY)
        prepare(source(server), tmp_path)
        assert_unpacked(tmp_path)
        assert server.requests == []

    def test_again_is_quick_and_changes_nothing(self, server, tmp_path):
        prepare(source(server), tmp_path)
        prepare(source(server), tmp_path)
        assert len(server.requests) == 1

    def test_progress(self, server, tmp_path):
        from contextlib import contextmanager

        seen = {}

        @contextmanager
        def progress(title):
            seen[title] = []
            yield lambda done, total: seen[title].append((done, total))

        prepare(source(server), tmp_path, progress)
        assert seen['data.zip'][-1] == (len(BODY), len(BODY))
        assert seen['unpack data.zip'][-1] == (20, 20)


class TestFailures:
    def test_a_dead_server(self, server, tmp_path, monkeypatch):
        monkeypatch.setattr(download, 'RETRIES', 2)
        server.cut = 0
        with pytest.raises(
            DownloadError, match=r'Fetch it by hand, put it at .*data.zip'
        ):
            prepare(source(server), tmp_path)

    def test_no_network(self, tmp_path):
        gone = Source('', (Archive('http://127.0.0.1:9/a.zip', 0, {'x': 1}),))
        with pytest.raises(
            DownloadError, match=r'127.0.0.1:9/a.zip could not be fetched'
        ):
            prepare(gone, tmp_path)

    def test_not_found(self, server, tmp_path):
        server.status = 404
        with pytest.raises(DownloadError, match='404'):
            prepare(source(server), tmp_path)
        assert len(server.requests) == 1

    def test_wrong_size(self, server, tmp_path):
        with pytest.raises(
            DownloadError, match=f'{len(BODY)} bytes instead of the publ'
        ):
            prepare(source(server, size=len(BODY) + 1), tmp_path)
        assert not (tmp_path / 'train').exists()

    def test_wrong_number_of_files(self, server, tmp_path):
        with pytest.raises(DownloadError, match='holds 20 files, not 21'):
            prepare(source(server, count=21), tmp_path)

    def test_no_zip(self, server, tmp_path):
        (tmp_path / 'data.zip').write_bytes(b'x' * len(BODY))
        with pytest.raises(DownloadError, match='is no zip file'):
            prepare(source(server), tmp_path)


def test_layouts_are_those_of_the_configs():
    assert SOURCES['coco'].archives[2].counts == {'train2017': 118_287}
    assert (
        'ADEChallengeData2016/images/training' in SOURCES['ade20k'].archives[0].counts
    )
