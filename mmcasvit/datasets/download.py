"""Fetching the official archives of COCO 2017 and ADE20K, and unpacking them."""

import re
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20
RETRIES = 5
TIMEOUT = 60

# Called with (bytes done, bytes in all); a progress bar's update.
Report = Callable[[int, int], None]
ProgressFactory = Callable[[str], AbstractContextManager[Report]]


class DownloadError(RuntimeError):
    """An archive could not be fetched or is not what it should be."""


@dataclass(frozen=True)
class Archive:
    """A zip file and what it holds.

    Args:
        url: Where it lies.
        size: Its bytes, as published; 0 where unknown.
        counts: Folder (or file) of the unpacked tree → number of files in it.
    """

    url: str
    size: int
    counts: dict[str, int]

    @property
    def name(self) -> str:
        return self.url.rsplit('/', 1)[-1]


@dataclass(frozen=True)
class Source:
    """A data set as a set of archives that unpack into one folder.

    Args:
        root: Default folder.
        archives: Unpacked in turn.
    """

    root: str
    archives: tuple[Archive, ...]


COCO = Source(
    'data/coco',
    (
        Archive(
            'http://images.cocodataset.org/annotations/annotations_trainval2017.zip',
            252_907_541,
            {
                'annotations/instances_train2017.json': 1,
                'annotations/instances_val2017.json': 1,
            },
        ),
        Archive(
            'http://images.cocodataset.org/zips/val2017.zip',
            815_585_330,
            {'val2017': 5000},
        ),
        Archive(
            'http://images.cocodataset.org/zips/train2017.zip',
            19_336_861_798,
            {'train2017': 118_287},
        ),
    ),
)
ADE20K = Source(
    'data/ade',
    (
        Archive(
            'http://data.csail.mit.edu/places/ADEchallenge/ADEChallengeData2016.zip',
            0,
            {
                f'ADEChallengeData2016/{kind}/{split}': count
                for kind in ('images', 'annotations')
                for split, count in (('training', 20_210), ('validation', 2000))
            },
        ),
    ),
)
SOURCES = {'coco': COCO, 'ade20k': ADE20K}


def prepare(
    source: Source,
    root: str | Path | None = None,
    progress: ProgressFactory = lambda _: nullcontext(lambda done, total: None),
) -> Path:
    """Fetch, check and unpack a data set; what is there already is left alone.

    A download that breaks off goes on where it stopped, in this call or the next.

    Args:
        source: The data set.
        root: Folder to unpack into; default `source.root`.
        progress: Makes a progress report for a title.

    Returns:
        root.

    Raises:
        DownloadError: If an archive cannot be fetched, or has the wrong size or
            number of files; the message says what to fetch by hand.
    """
    root = Path(root or source.root)
    root.mkdir(parents=True, exist_ok=True)
    for archive in source.archives:
        if not missing_counts(archive, root):
            continue
        file = root / archive.name
        try:
            with progress(archive.name) as report:
                fetch(archive.url, file, archive.size, report)
        except (OSError, DownloadError) as error:
            raise DownloadError(
                f'{archive.url} could not be fetched ({error}). Fetch it by hand, put '
                f'it at {file} and call this again'
            ) from error
        with progress(f'unpack {archive.name}') as report:
            unpack(file, root, report)
        wrong = missing_counts(archive, root)
        if wrong:
            raise DownloadError(f'{file} is unpacked, but {"; ".join(wrong)}')
        file.unlink()
    return root


def missing_counts(archive: Archive, root: Path) -> list[str]:
    """Where the unpacked tree has fewer or more files than published."""
    wrong = []
    for folder, count in archive.counts.items():
        path = root / folder
        found = len(list(path.iterdir())) if path.is_dir() else int(path.is_file())
        if found != count:
            wrong.append(f'{path} holds {found} files, not {count}')
    return wrong


def fetch(url: str, file: Path, size: int, report: Report) -> None:
    """Download `url` to `file`, going on at what is there of `file`.part.

    Raises:
        DownloadError: If the server gives up `RETRIES` times without a byte in
            between, or the size differs from the published one.
        OSError: If the server cannot be reached.
    """
    if file.is_file() and (not size or file.stat().st_size == size):
        return
    part = file.with_name(file.name + '.part')
    if file.is_file():
        file.rename(part)
    failures = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            total = _fetch_rest(url, part, report)
        except (OSError, urllib.error.URLError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise
            total, reason = None, str(error)
        else:
            reason = 'the connection broke off'
        done = part.stat().st_size if part.exists() else 0
        if total is not None and done == total:
            break
        failures = 0 if done > before else failures + 1
        if failures == RETRIES:
            raise DownloadError(f'{reason}, {done} bytes are there')
    if size and done != size:
        part.unlink()
        raise DownloadError(f'{done} bytes instead of the published {size}')
    part.rename(file)


def _fetch_rest(url: str, part: Path, report: Report) -> int | None:
    """Append what is missing of `part`; returns the whole's size, if it is known."""
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={'Range': f'bytes={done}-'})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to send
            return _total_from_range(error.headers.get('Content-Range'))
        raise
    with response, open(part, 'ab') as out:
        if response.status == 206:
            total = _total_from_range(response.headers['Content-Range'])
        else:  # the server starts over
            done = 0
            out.truncate(0)
            length = response.headers.get('Content-Length')
            total = int(length) if length else None
        while chunk := response.read(CHUNK):
            out.write(chunk)
            done += len(chunk)
            report(done, total or 0)
    return total


def _total_from_range(header: str | None) -> int | None:
    match = re.search(r'/(\d+)$', header or '')
    return int(match[1]) if match else None


def unpack(file: Path, root: Path, report: Report) -> None:
    """Unpack a zip file; files that are there with the right size are kept.

    Raises:
        DownloadError: If the file is no zip file.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            for number, member in enumerate(members):
                target = root / member.filename
                there = target.is_file() and target.stat().st_size == member.file_size
                if not there:
                    archive.extract(member, root)
                report(number + 1, len(members))
    except zipfile.BadZipFile as error:
        raise DownloadError(
            f'{file} is no zip file: delete it and try again'
        ) from error
