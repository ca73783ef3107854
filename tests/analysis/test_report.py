import csv

import cv2

from mmcasvit.analysis.report import ReportRow, write_report

ROWS = [
    ReportRow('one', dict(mIoU=12.3456, β=0.5), [(10, 2.0), (20, 1.0)]),
    ReportRow('another', dict(mIoU=7.0, α=1, β=2), [(10, 3.0), (20, 2.5)]),
]


def test_files(tmp_path):
    markdown, table, plot = write_report('a set', ROWS, tmp_path)
    assert markdown.read_text().splitlines() == [
        '# a set',
        '',
        '|  | mIoU | α | β |',
        '| --- | ---: | ---: | ---: |',
        '| one | 12.35 |  | 0.5 |',
        '| another | 7 | 1 | 2 |',
    ]
    with table.open() as file:
        assert list(csv.reader(file)) == [
            ['', 'mIoU', 'α', 'β'],
            ['one', '12.35', '', '0.5'],
            ['another', '7', '1', '2'],
        ]
    drawn = cv2.imread(str(plot))
    assert drawn.shape[1] == 11 * 120
    # Bars as long as their values: the first colour covers 12.35 / 7 of the second's.
    right = drawn[:, drawn.shape[1] // 2 :]
    blue, orange = (180, 119, 31), (14, 127, 255)
    areas = [(abs(right.astype(int) - c).sum(2) < 9).sum() for c in (blue, orange)]
    assert 1.65 < areas[0] / areas[1] < 1.85
