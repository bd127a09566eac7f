from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rackmark.numbers.words import MISSING
from rackmark.report.method import method
from rackmark.report.report import report_files
from unit.run_fixture import break_repeat, read_run, write_job, write_run

TEMPLATES = Path(__file__).parents[2] / "reports" / "templates"
CASES = {"1n1g": [0.50, 0.40], "2n1g": [0.50, 0.45], "4n1g": [0.55, 0.50]}


def report_of(run_dir):
    run = read_run(run_dir)
    return report_files(run.manifest, run.summary, run.measured, run.hosts, TEMPLATES)


def page_of(run_dir):
    return report_of(run_dir)["report.html"].decode()


class Words(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.words, self.cells = [], [], []
        self.skip = self.in_cell = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.skip = tag in ("style", "script")
        if tag == "td":
            self.in_cell = True
            self.cells.append("")

    def handle_endtag(self, tag):
        if tag == "td":
            self.in_cell = False

    def handle_data(self, data):
        if not self.skip:
            self.words.append(data)
        if self.in_cell:
            self.cells[-1] += data.strip()

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def test_the_report_says_what_a_number_means_that_a_program_states(tmp_path):
    mfu = {"unit": "%", "better": "higher", "from": "stated.mfu", "means": "6 N per token"}
    throughput = {"unit": "samples/s", "better": "higher", "from": "throughput", "over": "first"}
    run = read_run(write_run(tmp_path / "run", CASES, measures={"throughput": throughput, "mfu": mfu}))
    said = "mfu: as the program states mfu, in %, higher is better (6 N per token)."
    assert method(run.manifest, run.summary)["Measures"] == said


@pytest.fixture
def run_dir(tmp_path):
    return write_run(tmp_path / "run", CASES)


def test_the_page_needs_nothing_but_itself(run_dir):
    files = report_of(run_dir)
    page = files["report.html"].decode()
    tags = Words(page).tags
    assert not re.search(r"https?://|@import|url\(", page)
    assert [tag for tag, _ in tags if tag in ("script", "link", "iframe")] == []
    sources = [attributes["src"] for tag, attributes in tags if tag == "img"]
    pictures = [base64.b64decode(source.removeprefix("data:image/png;base64,")) for source in sources]
    assert pictures == [
        files[f"{name}.png"] for name in ("throughput", "speedup", "efficiency", "steps", "ranks", "loss")
    ]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)


def test_a_good_run_says_so_and_shows_its_numbers(run_dir):
    words = Words(page_of(run_dir))
    assert "Complete: all 6 repeats are ok." in words.text
    assert "Nothing: every repeat asked for is ok" in words.text
    assert words.cells[:5] == ["1n1g", "1", "8", "2/2", "18.00"]
    assert "Speedup is the median of a case divided by the median of 1n1g" in words.text
    assert "in 4 steps" in words.text and "2 warm-up steps" in words.text
    assert "Weak: every device gets the same batch" in words.text


def test_what_is_simulated_is_said_at_the_top(run_dir):
    text = Words(page_of(run_dir)).text
    assert text.index("Simulated in this run: nodes.") < text.index("Scaling")
    assert "share its 2 processors" in text


def test_every_repeat_that_is_not_ok_is_named_with_its_reason(run_dir):
    break_repeat(run_dir, "2n1g", 2, "NODE_FAIL")
    for repeat in (1, 2):
        break_repeat(run_dir, "4n1g", repeat, "CANCELLED")
    words = Words(page_of(run_dir))
    assert "Partial: 3 of 6 repeats are ok, the others are not (1 node_fail and 2 cancelled)." in words.text
    assert "2n1g repeat 2 is node_fail: A node failed while the job ran." in words.text
    assert "4n1g repeats 1 and 2 are cancelled: The job was cancelled." in words.text
    assert "No samples/s for 4n1g: no repeat is ok." in words.text
    place = words.cells.index("4n1g")
    assert words.cells[place : place + 9] == ["4n1g", "4", "8", "0/2", MISSING, MISSING, MISSING, MISSING, "failed"]


def test_a_run_without_any_number_still_has_a_report(tmp_path):
    run_dir = write_run(tmp_path, {"2n1g": [0.5]})
    (run_dir / "cases/2n1g/r1/job.json").unlink()
    for log in run_dir.glob("cases/*/*/rank-*"):
        log.unlink()
    text = Words(page_of(run_dir)).text
    assert "Failed: the only repeat is not ok (1 launch_failed)." in text
    assert "\N{EN DASH} (no step was logged)" in text
    assert "No speedup and no efficiency: the run has no case with one device" in text


def test_text_from_logs_and_hosts_cannot_become_markup(tmp_path):
    hosts = [{"name": "<i>node1</i>", "cpus": 2}, {"name": "node2", "devices": ["8 & more"]}]
    run_dir = write_run(tmp_path, {"1n1g": [0.5]}, hosts=hosts, title="A <b>title</b>")
    write_job(run_dir / "cases/1n1g/r1", "FAILED", "1:0")
    (run_dir / "cases/1n1g/r1/rank-0.log").write_text("Error: <script>alert(1)</script>\n")
    (run_dir / "cases/1n1g/r1/rank-0.exit").write_text("1")
    words = Words(page_of(run_dir))
    assert {tag for tag, _ in words.tags}.isdisjoint({"script", "i", "b"})
    assert "Error: <script>alert(1)</script>" in words.text
    assert "<i>node1</i>" in words.cells
    assert "1 \N{MULTIPLICATION SIGN} 8 & more" in words.cells


def test_the_same_run_gives_the_same_bytes(run_dir):
    assert report_of(run_dir) == report_of(run_dir)


def sentences_of(page):
    """The words of a page and of the Markdown beside it, without what only marks them up."""
    return re.sub(r"[*|\s]+", " ", page.replace("\\", ""))


def test_the_markdown_states_the_same_facts(run_dir):
    break_repeat(run_dir, "2n1g", 2, "NODE_FAIL")
    files = report_of(run_dir)
    words, markdown = Words(files["report.html"].decode()), files["report.md"].decode()
    missing = [cell for cell in words.cells if sentences_of(cell) not in sentences_of(markdown)]
    assert missing == []
    for sentence in (
        "Partial: 5 of 6 repeats",
        "2n1g repeat 2 is node\\_fail: A node failed",
        "100.0 %",
        "PyTorch: 1.13.1",
    ):
        assert sentence in markdown
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", markdown)
    assert links == [name for name in files if name.endswith(".png")]


def test_text_from_logs_cannot_become_markdown(run_dir):
    write_job(run_dir / "cases/1n1g/r1", "FAILED", "1:0")
    (run_dir / "cases/1n1g/r1/rank-0.log").write_text("Error: *all* | <b>bold</b> [link](x) `code` # 1\n")
    (run_dir / "cases/1n1g/r1/rank-0.exit").write_text("1")
    markdown = report_of(run_dir)["report.md"].decode()
    assert r"Error: \*all\* \| \<b\>bold\</b\> \[link\](x) \`code\` \# 1" in markdown


def test_how_it_was_measured_is_said_in_words(tmp_path):
    settings = {"settings": {"image_size": 96, "depth": 50}, "data": "ImageFolder with 1000 classes"}
    run = {"launcher": "ssh", "runtime": "docker", "scaling": "strong", "baseline": "2n1g", "simulated": []}
    text = Words(page_of(write_run(tmp_path, {"2n1g": [0.5], "4n1g": [0.5]}, **settings, **run))).text
    assert "preset lab (image size 96, depth 50); data: ImageFolder with 1000 classes." in text
    assert "Over SSH, one repeat after the other, in containers." in text
    assert "Strong: the work of a step stays the same and is divided among the devices" in text
    assert "Speedup is the median of a case divided by the median of 2n1g" in text
    assert "the number of devices relative to its 2" in text
    assert "Simulated Nothing." in text


def test_how_an_interval_came_about_is_said_by_case(tmp_path):
    five, two, one = [0.5, 0.51, 0.52, 0.49, 0.48], [0.5, 0.51], [0.5]
    ordered = "order statistics (from one of the ordered repeats to another)"
    student = "Student's t on the logarithms, with fewer than 5 repeats"
    for cases, sentence in (
        (
            {"1n1g": five, "2n1g": two, "4n1g": two, "3n1g": one},
            f"by {ordered} (1n1g) and by {student} (2n1g, 4n1g).",
        ),
        ({"1n1g": five, "2n1g": five}, f"The 95 % interval of the median is by {ordered}."),
        ({"1n1g": one}, "There is no 95 % interval: it takes at least two repeats."),
    ):
        run = read_run(write_run(tmp_path / str(len(cases)), cases))
        assert sentence in method(run.manifest, run.summary)["Repeats"]


def test_hosts_that_are_the_same_share_a_row(tmp_path):
    hosts = [{"name": f"node{number}", "cpus": 8, "devices": ["V100"] * 8} for number in (1, 2, 3)]
    hosts.append({"name": "node4", "cpus": 8, "devices": ["V100"] * 7})
    cells = Words(page_of(write_run(tmp_path, {"1n1g": [0.5]}, hosts=hosts))).cells
    assert cells[-6:] == [
        *("node[1-3]", "8", "8 \N{MULTIPLICATION SIGN} V100"),
        *("node4", "8", "7 \N{MULTIPLICATION SIGN} V100"),
    ]
