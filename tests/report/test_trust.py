"""What a page says of how far its answer can be trusted: runs apart, candidates, standard errors, guesses marked."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from test_report import Reader, completion, decode, film

import qrank
from qrank.methods import METHODS
from qrank.report import facts, fibres, fragment, trust
from qrank.report.hints import hints
from qrank.report.pictures import Scene, frames
from qrank.report.strip import Strip
from qrank.report.view import View
from qrank.result import Choice, Completion, Record, Status, Trial

AXES = ("frame", "height", "width")
CHOICE = Choice(
    (Trial("views, then patches", 0.021, 0.75, 2.5), Trial("smooth", 0.052, 0.25, 0.25), Trial("tnn-c", 0.4, 0.0, 1.5)),
    1234,
    "the data",
    9.5,
    0.02,
)


def steps(run, first, count, objective):
    """Records of a run whose objective begins at a value; steps are counted over all runs, trials included."""
    return [
        Record(k, 0.1 * k, objective + k, 0.5**k, 0.1, 0.5**k, 1.0, 4, 2, (), None, run)
        for k in range(first, first + count)
    ]


def chosen(x, known, **more):
    """An answer of `auto` made without a run: of three runs, one of which only starts another."""
    history = [*steps("views", 101, 9, 5e6), *steps("views, then patches", 110, 3, 0.5), *steps("smooth", 113, 1, 0)]
    given = {"error": np.where(known, 0, 0.1), "choice": CHOICE} | more
    return Completion(
        x, Status.SETTLED, history, METHODS["auto"].configured(), None, known, **{"slice_axes": (1, 2)} | given
    )


def written(result, tmp_path, **options):
    path = tmp_path / "page.html"
    result.report(path, **{"axes": AXES} | options)
    html = path.read_text(encoding="utf-8")
    return Reader(html), html


def test_runs_are_kept_apart_with_the_heaviest_first():
    result = chosen(*film())
    assert list(result.runs) == ["views, then patches", "smooth", "views"]
    assert [len(records) for records in result.runs.values()] == [3, 1, 9]
    assert result.to_dict()["run"] == ["views"] * 9 + ["views, then patches"] * 3 + ["smooth"]


def ticks(html, chart):
    """The numbers on the axes of a chart: x, then y, in the order they are drawn in."""
    svg = html[html.index(f'id="{chart}-figure_1"') :]
    return [float(text) for text in re.findall(r">(\d[\d.]*)</text>", svg[: svg.index("</svg>")])]


def test_each_run_has_its_own_curves(tmp_path):
    read, html = written(chosen(*film()), tmp_path)
    titles = [attrs["aria-label"] for name, attrs in read.tags if name == "div" and attrs.get("role") == "img"]
    objectives = [title.split(": ")[1] for title in titles if title.startswith("Objective")]
    assert objectives == ["views, then patches", "views, then patches", "views", "views"]  # by steps and by seconds
    patches, views = ticks(html, "run0-objective-step"), ticks(html, "run2-residuals-step")
    assert patches[:3] == [1, 2, 3]  # steps of its own, though 109 came before
    assert 110 < min(patches[3:]) < max(patches[3:]) < 113  # and a scale of its own: that of the views is in millions
    assert views[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert "run1-" not in html  # smooth has one step, which is no curve


def test_pictures_and_trust_come_before_solver_charts(tmp_path):
    _, html = written(chosen(*film()), tmp_path)
    places = [html.index(f'id="{name}"') for name in ("look", "tried", "numbers", "run", "structure")]
    assert places == sorted(places)


def test_candidates_are_a_table_with_its_paragraph(tmp_path):
    read, html = written(chosen(*film()), tmp_path)
    assert str(CHOICE) in read.text
    table = html[html.index('id="candidates"') :]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table[: table.index("</table>")], re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    assert cells == [
        ["candidate", "held-out RMSE", "weight", "time"],
        ["views, then patches", "0.021", "0.75", "2.5 s"],
        ["smooth", "0.052", "0.25", "250 ms"],
        ["tnn-c", "0.4", "", "1.5 s"],
    ]
    read, html = written(completion(*film(), (1, 2)), tmp_path)
    assert 'id="candidates"' not in html
    untried = replace(CHOICE, trials=(Trial("views", None, 1.0, 2.0),), error=None, tried_on="nothing was tried")
    read, html = written(chosen(*film(), choice=untried, error=None), tmp_path)
    assert str(untried) in read.text
    assert 'id="candidates"' not in html


def test_map_of_standard_errors_has_their_scale():
    x, known = film()
    error = np.where(known, 0, 0.02 * np.arange(1, 6)[:, None, None])
    view = View.of(x, known, (1, 2), AXES)
    scene = Scene.of(x, known, None, view, sure=error)
    assert scene.worst == pytest.approx(0.1)
    shown = frames(scene)
    light = [decode(frame["sure"])[..., :3].sum(axis=2)[~known[k]] for k, frame in enumerate(shown)]
    assert all(np.ptp(values) == 0 for values in light)  # one error in each frame
    assert sorted(values[0] for values in light) == [values[0] for values in light]
    assert decode(shown[0]["sure"])[known[0]].max() < 8  # none where known
    both = Scene.of(x, known, x + 1, view, sure=error)
    assert both.worst == pytest.approx(1.0)  # one scale for the errors that are expected and those that are


@pytest.mark.parametrize("there", [True, False])
def test_page_shows_standard_errors_only_where_there_are_some(tmp_path, there):
    x, known = film()
    read, _ = written(chosen(x, known) if there else chosen(x, known, error=None), tmp_path)
    layers = {attrs.get("data-layer") for attrs in read.named("img")}
    assert ("sure" in layers) == there
    assert ("standard error, in the data's unit" in read.text) == there
    assert ("within 1.645 times their standard error" in read.text) == there
    assert ("median" in read.text) == there


def test_meaning_is_measured_where_the_truth_is_known():
    x, known = film((5, 40, 50))
    rng = np.random.default_rng(7)
    truth = np.where(known, x, x + 0.1 * rng.standard_normal(x.shape))
    result = chosen(x, known)
    told = trust.meaning(result, x, result.error, truth)
    assert "Calibrated on the 1,234 known entries" in told
    share = float(re.search(r"missing values ([\d.]+) % do", told)[1])
    assert share == pytest.approx(90, abs=2)  # errors are normal, of the standard error that is told
    truth[:, :20] = np.nan
    assert f"of {np.count_nonzero(~known[:, 20:]):,} missing" in trust.meaning(result, x, result.error, truth)
    own = trust.meaning(replace(result, choice=None), x, result.error, None)
    assert "calibrated on nothing" in own
    assert "truth" not in own


def test_guesses_are_marked_in_their_slices_only(tmp_path):
    x, known = film()
    blind = np.zeros(x.shape, bool)
    known[2], blind[2] = False, True
    known[3, :, 5:9], blind[3, :, 5:9] = False, True
    read, html = written(chosen(x, known, undetermined=blind), tmp_path)
    marks = [frame.get("marks") for frame in json.loads(read.data)["frames"]]
    assert [bool(mark) for mark in marks] == [False, False, True, True, False]
    for k in (2, 3):
        assert (decode(marks[k].removesuffix(")"))[..., 3] == np.where(blind[k], 255, 0)).all()
    assert "Striped in amber" in read.text
    assert html.count('class="marks"') == 4  # the wipe, before, after, standard error
    read, html = written(chosen(x, known, undetermined=np.zeros(x.shape, bool)), tmp_path)
    assert "Striped in amber" not in read.text
    assert 'class="marks"' not in html


def test_a_pixel_is_marked_where_any_colour_is_a_guess():
    x = np.full((20, 20, 3), 0.5)
    blind = np.zeros(x.shape, bool)
    blind[2, 3, 1] = True
    view = View.of(x, ~blind, (0, 1), ("height", "width", "colour"))
    found = decode(frames(Scene.of(x, ~blind, None, view, blind=blind))[0]["marks"].removesuffix(")"))
    assert np.argwhere(found[..., 3]).tolist() == [[2, 3]]


def test_page_opens_on_the_slice_that_lacks_most(tmp_path):
    x, known = film((100, 8, 9), share=0.9)
    known[77, :6] = False
    read, _ = written(chosen(x, known), tmp_path)
    data = json.loads(read.data)
    labels = [frame["label"] for frame in data["frames"]]
    assert labels[data["start"]] == "frame 77"
    assert len(labels) == len(set(labels)) == 40
    assert (labels[0], labels[-1]) == ("frame 0", "frame 99")
    assert labels == sorted(labels, key=lambda label: int(label.split()[1]))


def test_of_slices_that_lack_as_much_the_middle_one_is_first():
    x, known = film((9, 8, 9))
    known[:] = False
    assert Scene.of(x, known, None, View.of(x, known, (1, 2), AXES)).damaged == 4


def test_fibres_hold_the_standard_errors():
    x, known = film((6, 7, 9))
    error = np.where(known, 0, np.random.default_rng(1).random(x.shape))
    view = View.of(x, known, (0, 1), ("a", "b", "c"))
    packed = fibres.pack(Scene.of(x, known, None, view, sure=error))
    levels = np.frombuffer(base64.b64decode(packed["sure"]), "<u2").reshape(x.shape)
    assert np.abs(levels * packed["sure_step"] - error).max() <= packed["sure_step"]
    assert "sure" not in fibres.pack(Scene.of(x, known, None, view))


def test_options_that_were_not_given_say_where_they_come_from():
    result = completion(*film())
    told = dict(facts._options(replace(result, method=METHODS["vmtqn"].configured())))
    assert told["mu0"] == "1, from the data"  # that of the first record
    assert told["rho"] == "from the data"
    assert told["noise"] == "none: known values are kept as they are"
    for name, method in METHODS.items():
        given = {"q": np.eye(3)} if "q" in method.options() else {}
        given |= {"truth": np.zeros(3)} if "truth" in method.options() else {}
        lines = dict(facts._options(replace(result, method=method.configured(**given))))
        assert "None" not in lines.values(), name


def test_time_is_that_of_all_candidates():
    x, known = film()
    assert ("time", "9.5 s") in facts.headline(chosen(x, known), None)
    assert ("time", "500 ms") in facts.headline(completion(x, known), None)


def test_notebook_draws_the_main_run_and_tells_of_guesses():
    x, known = film()
    blind = ~known
    html = fragment(chosen(x, known, undetermined=blind))
    assert "Residuals of views, then patches against steps" in html
    assert ticks(html, "small")[:3] == [1, 2, 3]
    assert f"{blind.sum():,} entries lie in slices" in html


def test_a_real_run_of_auto_makes_such_a_page(tmp_path):
    x, known = film((6, 16, 20), share=0.6)
    known[2] = False
    with pytest.warns(qrank.UndeterminedWarning):
        result = qrank.complete(np.where(known, x, np.nan), slice_axes=(1, 2))
    taken = {trial.name for trial in result.choice.trials if trial.weight > 0}
    assert taken <= set(result.runs)
    assert next(iter(result.runs)) == result.choice.trials[0].name
    read, _ = written(result, tmp_path, truth=x)
    data = json.loads(read.data)
    assert data["frames"][data["start"]]["label"] == "frame 2"
    assert all(trial.name in read.text for trial in result.choice.trials)
    assert f"{np.count_nonzero(~known):,} missing values" in read.text


def test_strip_has_a_bar_for_every_slice():
    x, known = film((100, 8, 9))
    known[7] = True
    error = np.where(known, 0, np.arange(100)[:, None, None] + 1.0)
    blind = np.zeros(x.shape, bool)
    blind[60, 2] = ~known[60, 2]
    view = View.of(x, known, (1, 2), AXES)
    found = Strip.of(Scene.of(x, known, None, view, sure=error, blind=blind), [7, 49])
    assert (found.what, found.count, found.top) == ("standard error", 100, "100")
    assert found.told == {7: "all was known", 49: "standard error 50"}
    bars = {int(left): 1 - float(top) for left, top in re.findall(r"M(\d+) 1V([\d.]+)H", found.bars)}
    assert set(bars) == set(range(100)) - {7, 60}
    assert all(height == pytest.approx((i + 1) / 100, abs=1e-3) for i, height in bars.items())
    assert found.guesses == "M60 1V0.39H61V1Z"


def test_strip_without_standard_errors_shows_what_was_missing():
    known = np.ones((4, 5, 6), bool)
    known[1, :3] = known[2, 0] = False
    view = View.of(np.zeros(known.shape), known, (1, 2), AXES)
    found = Strip.of(Scene.of(np.zeros(known.shape), known, None, view), [1])
    assert (found.what, found.top, found.told) == ("share missing", "60.0 %", {1: "60.0 % missing"})
    assert found.bars == "M1 1V0H2V1ZM2 1V0.667H3V1Z"
    one = View.of(np.zeros((5, 6)), known[0], (0, 1), AXES[1:])
    assert Strip.of(Scene.of(np.zeros((5, 6)), known[0], None, one), [0]) is None


def test_strip_of_many_slices_is_short():
    known = np.ones((5000, 2, 2), bool)
    known[1234] = False
    view = View.of(np.zeros(known.shape), known, (1, 2), AXES)
    found = Strip.of(Scene.of(np.zeros(known.shape), known, None, view), [0])
    assert found.bars == "M1233 1V0H1242V1Z"


def hinted(choice=None, shape=(5, 24, 32), **more):
    x, known = film(shape)
    result = chosen(x, known, **{"choice": choice or CHOICE, "slice_axes": (0, 1)} | more)
    return " ".join(hints(result, View.of(x, known, (0, 1))))


def chosen_among(*errors, answer, weights=(1.0,), where="the data"):
    names = ("kriging", "vmtqn", "views from smooth", "similar")
    shares = [*weights, *[0.0] * len(names)]
    trials = [Trial(name, error, share, 1.0) for name, error, share in zip(names, errors, shares, strict=False)]
    return Choice(tuple(trials), 500, where, 5.0, answer)


def test_nothing_is_advised_without_a_sign():
    assert hinted() == ""
    assert hinted(chosen_among(0.05, 0.07, 0.09, answer=0.05)) == ""


def test_a_candidate_that_was_better_is_named():
    told = hinted(chosen_among(0.05, 0.04, 0.09, answer=0.05))
    assert "vmtqn alone erred by 0.04, the answer by 0.05" in told
    assert "Try method='vmtqn'" in told
    told = hinted(chosen_among(0.05, 0.06, 0.04, answer=0.05))
    assert "views from smooth alone erred by 0.04" in told
    assert "method='views" not in told  # there is no such method


def test_more_effort_is_advised_where_it_may_pay():
    assert "effort='best' takes a part four times" in hinted(
        chosen_among(0.05, 0.09, answer=0.05, where="a part of the data")
    )
    assert "effort='best'" in hinted(chosen_among(0.05, 0.06, 0.07, answer=0.045, weights=(0.4, 0.35, 0.25)))
    best = METHODS["auto"].configured(effort="best")
    split = chosen_among(0.05, 0.06, 0.07, answer=0.045, weights=(0.4, 0.35, 0.25))
    x, known = film()
    assert hints(replace(chosen(x, known, choice=split), method=best), View.of(x, known, (1, 2), AXES)) == []
    untried = Choice((Trial("views", None, 1.0, 2.0),), 0, "nothing was tried", 2.0)
    fast = replace(chosen(x, known, choice=untried), method=METHODS["auto"].configured(effort="fast"))
    assert "effort='balanced'" in " ".join(hints(fast, View.of(x, known, (1, 2), AXES)))


def test_methods_that_err_alike_tell_of_noise():
    told = hinted(chosen_among(0.1, 0.101, 0.103, 0.2, answer=0.1))
    assert "kriging, views, vmtqn err alike" in told
    assert "noise=" in told
    assert "noise" not in hinted(chosen_among(0.1, 0.101, 0.2, 0.2, answer=0.1))


def test_an_error_on_held_out_entries_that_rises_is_told():
    x, known = film()
    result = completion(x, known, (1, 2))
    assert hints(result, View.of(x, known, (1, 2), AXES)) == []  # it falls to the end
    rises = [replace(one, holdout=abs(one.step - 2) + 1.0) for one in result.history]
    told = " ".join(hints(replace(result, history=rises), View.of(x, known, (1, 2), AXES)))
    assert "lowest at step 2, 1, and 4 at the end" in told
    assert "max_steps=2" in told


def test_a_matrix_may_be_folded():
    x, known = film((70, 30))
    view = View.of(300 * x, known, (0, 1), ("time", "column"))
    assert "--fold" in " ".join(hints(completion(300 * x, known), view))


def test_hints_are_a_section_after_what_was_tried(tmp_path):
    read, html = written(chosen(*film(), choice=chosen_among(0.05, 0.04, answer=0.05)), tmp_path)
    places = [html.index(f'id="{name}"') for name in ("look", "tried", "next-steps", "numbers", "run")]
    assert places == sorted(places)
    assert "Try method='vmtqn'" in read.text
    assert "What to try next" not in written(chosen(*film()), tmp_path)[0].text


def test_options_have_the_values_that_the_run_took(tmp_path):
    x = np.einsum("i,j,k->ijk", *(np.random.default_rng(0).random(n) for n in (8, 9, 5)))
    known = np.random.default_rng(1).random(x.shape) < 0.7
    result = qrank.complete(np.where(known, x, np.nan), method="vmtqn", slice_axes=(0, 1))
    told = dict(facts._options(result))
    mu = [record.mu for record in result.history]
    assert told["r"].startswith("5,")  # the length of the third mode
    low, _, high = told["rho"].removesuffix(", from the data").partition(" to ")
    assert float(low) == pytest.approx(min(b / a for a, b in zip(mu[:-2], mu[1:-1], strict=True)), rel=0.01)
    assert float(high or low) == pytest.approx(max(b / a for a, b in zip(mu[:-2], mu[1:-1], strict=True)), rel=0.01)
    assert told["outliers"].startswith("none")
    read, _ = written(result, tmp_path, axes=None, meta={"rate": None, "file": "a.npy"})
    assert "None" not in read.text
