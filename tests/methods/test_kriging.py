"""kriging: EM climbs, the prediction is near that of the true covariances and knows its error, and any array is survived."""

import numpy as np
import pytest
import scipy.io

import qrank
from conftest import LONG
from qrank.errors import InputError, KindError
from qrank.methods import METHODS, kriging_choice, kronecker
from qrank.methods.fibres import conditioned, fibre_axes, known_fibres
from qrank.methods.kriging_choice import Settings, held_out
from qrank.methods.kronecker import Covariances, Known
from qrank.problem import Problem
from qrank.run import Run

limited = pytest.mark.filterwarnings("ignore::qrank.errors.ConvergenceWarning")


def covariance(n, length, own):
    """Neighbours are alike; each has something of its own."""
    i = np.arange(n)
    return (1 - own) * np.exp(-np.abs(i[:, None] - i) / length) + own * np.eye(n)


def drawn(rng, places=14, times=12, fibre=10, coefficients=3, noise=0.1):
    """An array from the model, its covariances and the basis."""
    ks, kt = covariance(places, 4.0, 0.1), covariance(times, 6.0, 0.05)
    basis = np.linalg.qr(rng.standard_normal((fibre, coefficients)))[0]
    alpha = 9.0 / 3.0 ** np.arange(coefficients)
    f = np.einsum(
        "su,tv,uvc->stc",
        np.linalg.cholesky(ks),
        np.linalg.cholesky(kt),
        rng.standard_normal((places, times, coefficients)),
    )
    f = f * np.sqrt(alpha) + np.sqrt(noise) * rng.standard_normal(f.shape)
    return f @ basis.T, Covariances(ks, kt, alpha, np.full(coefficients, noise)), basis


def some_known(rng, places, times, rate=0.6):
    known = rng.random((places, times)) < rate
    known[np.arange(max(places, times)) % places, np.arange(max(places, times)) % times] = True
    return known


def finished(y, known, **options):
    """The run to its end, in the array's own unit: X, the deviation, the run."""
    problem = Problem.of(y, np.broadcast_to(known, y.shape))
    run = Run(problem, METHODS["kriging"].configured(**options), rng=0)
    history = [record for _, record in run]
    return problem.unscaled(run.answer().copy()), problem.unscaled(run.deviation().copy()), run, history


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


# ---------------------------------------------------------------- the model, against what is computed by hand


def by_hand(k, known):
    """Log-likelihood, posterior mean and variance from dense matrices (S T x S T), one coefficient at a time."""
    grid = np.kron(k.ks, k.kt)
    at = known.s * len(k.kt) + known.t
    value, mean, variance = 0.0, [], []
    for c in range(len(k.alpha)):
        v = k.alpha[c] * grid[np.ix_(at, at)] + k.sigma[c] * np.eye(len(at))
        cross = k.alpha[c] * grid[:, at]
        value += -0.5 * (np.linalg.slogdet(v)[1] + known.d[:, c] @ np.linalg.solve(v, known.d[:, c]))
        mean.append(cross @ np.linalg.solve(v, known.d[:, c]))
        variance.append(k.alpha[c] * np.diag(grid) - np.einsum("ij,ji->i", cross, np.linalg.solve(v, cross.T)))
    shape = (len(k.ks), len(k.kt), len(k.alpha))
    return value, np.stack(mean, 1).reshape(shape), np.stack(variance, 1).reshape(shape)


def a_field(rng, group=None):
    y, k, basis = drawn(rng)
    s, t = np.nonzero(some_known(rng, *y.shape[:2]))
    return k, Known((y @ basis)[s, t], s, t, np.zeros(len(y), int) if group is None else group)


@pytest.mark.parametrize("grouped", [False, True])
def test_likelihood_mean_and_variance_are_those_of_dense_matrices(rng, grouped):
    k, known = a_field(rng, np.arange(14) // 7 if grouped else None)
    if grouped:
        k = k._replace(ks=k.ks * (known.group[:, None] == known.group))
    made = kronecker.step(k, known, common=False, places=True)
    value, mean, variance = by_hand(made.fitted, known)
    assert made.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(kronecker.mean(made.fitted, known, made.beta), mean, atol=1e-9)
    found, alone, variance_alone = kronecker.variance(made.fitted, known, made.beta)
    np.testing.assert_allclose(found, variance, atol=1e-9)
    others = Known(known.d[1:], known.s[1:], known.t[1:], known.group)
    at = known.s[0], known.t[0]
    _, mean, variance = by_hand(made.fitted, others)  # without the first fibre
    np.testing.assert_allclose(alone[0], mean[at], atol=1e-9)
    np.testing.assert_allclose(variance_alone[0], variance[at] + made.fitted.sigma, atol=1e-9)


@pytest.mark.parametrize(("common", "places"), [(True, False), (False, True)])
def test_em_never_lowers_the_likelihood(rng, common, places):
    k, known = a_field(rng)
    k = Covariances(np.eye(14), covariance(12, 2.0, 0.5), np.ones(3), np.ones(3))
    values = []
    for _ in range(40):
        made = kronecker.step(k, known, common, places, prior=0)
        values.append(made.value)
        k = made.fitted._replace(ks=made.ks, kt=made.kt)
    assert np.diff(values).min() > -1e-9 * abs(values[-1])
    assert values[-1] > values[0] + 10
    assert np.trace(k.kt) == pytest.approx(12)


def test_the_best_alpha_and_sigma_beat_all_others_near(rng):
    k, known = a_field(rng)
    for _ in range(30):
        made = kronecker.step(k, known, common=False, places=False)
        k = made.fitted
    for name in ("alpha", "sigma"):
        for factor in (0.8, 1.25):
            other = k._replace(**{name: factor * getattr(k, name)})
            assert by_hand(other, known)[0] < made.value


def test_conditioning_on_known_entries_is_that_of_a_dense_gaussian(rng):
    basis, rest = np.linalg.qr(rng.standard_normal((7, 3)))[0], rng.random(7) + 0.1
    mean, variance, v = rng.standard_normal((1, 3)), rng.random((1, 3)), rng.standard_normal((1, 7))
    there = np.array([[True, False, True, True, False, False, True]])
    x, spread = conditioned(v, there, mean, variance, basis, rest)
    full = (basis * variance) @ basis.T + np.diag(rest)
    on, off = np.flatnonzero(there[0]), np.flatnonzero(~there[0])
    gain = full[np.ix_(off, on)] @ np.linalg.inv(full[np.ix_(on, on)])
    prior = (mean @ basis.T)[0]
    np.testing.assert_allclose(x[0, off], prior[off] + gain @ (v[0, on] - prior[on]), atol=1e-9)
    np.testing.assert_allclose(spread[0, off], np.diag(full)[off] - np.einsum("ij,ji->i", gain, full[np.ix_(on, off)]))


# ---------------------------------------------------------------- the method, on data from the model


def test_predicts_nearly_as_well_as_the_true_covariances_and_knows_its_error():
    ratios, inside = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y, k, basis = drawn(rng, 20, 20, 12, 8, noise=0.01)
        known = some_known(rng, 20, 20)
        s, t = np.nonzero(known)
        best = by_hand(k, Known((y @ basis)[s, t], s, t, np.zeros(20, int)))[1] @ basis.T
        x, deviation, _, _ = finished(y, known[:, :, None])
        ratios.append(rms((x - y)[~known]) / rms((best - y)[~known]))
        inside.append(np.mean(np.abs(x - y)[~known] < 1.645 * deviation[~known]))
        assert (deviation[known] == 0).all()
    assert max(ratios) < 1.25
    assert 0.84 < np.mean(inside) < 0.95


def test_places_help_where_times_do_not():
    rng = np.random.default_rng(0)
    y, _, _ = drawn(rng, 20, 20)
    known = some_known(rng, 20, 20)[:, :, None]
    missing = ~np.broadcast_to(known, y.shape)
    error = {steps: rms((finished(y, known, steps=steps, a=0, p=1, times=1)[0] - y)[missing]) for steps in (0, 15)}
    assert error[15] < 0.9 * error[0]


def test_counts_of_stations_and_days(rng):
    """Weekly profiles of stations of very different sizes: better than the place's profile, and than days alone."""
    bins, days, places = np.arange(24), np.arange(28), np.exp(rng.normal(3, 1, 30))
    peaks = np.exp(-((bins - 8) ** 2) / 8), np.exp(-((bins - 18) ** 2) / 12)
    week = np.where(days % 7 < 5, 1.0, 0.4) * (1 + 0.1 * rng.standard_normal(28))
    share = rng.random(30)
    profile = np.outer(share, peaks[0]) + np.outer(1 - share, peaks[1])
    truth = rng.poisson(places[:, None, None] * week[:, None] * profile[:, None]).astype(float)
    known = some_known(rng, 30, 28, 0.5)
    result = qrank.complete(truth, known[:, :, None], method="kriging")
    mean = (truth * known[:, :, None]).sum(1) / known.sum(1)[:, None]
    missing = ~np.broadcast_to(known[:, :, None], truth.shape)
    assert rms((result.x - truth)[missing]) < 0.6 * rms((mean[:, None] - truth)[missing])
    noise = rms(np.sqrt(places[:, None, None] * week[:, None] * profile[:, None])[missing])
    assert rms((result.x - truth)[missing]) < 1.35 * noise  # of Poisson, which nothing can predict


@pytest.mark.data
@pytest.mark.skipif(not LONG, reason="make test-long: a quarter of a minute, for one figure of docs/accuracy.md")
def test_whole_station_days_of_a_metro(data):
    y = scipy.io.loadmat(data / "traffic" / "hangzhou-metro.mat")["tensor"].astype(float)
    draw = np.random.RandomState(1000).rand(80, 25)
    known = np.broadcast_to((np.round(draw + 0.5 - 0.7) == 1)[:, :, None], y.shape)
    x = qrank.complete(y, known, method="kriging").x
    assert rms((x - y)[~known & (y != 0)]) < 41.8


# ---------------------------------------------------------------- what holds for any array


@pytest.mark.parametrize("factor", [1e-7, 300.0])
def test_scale_equivariance(rng, factor):
    y, _, _ = drawn(rng)
    known = some_known(rng, *y.shape[:2])[:, :, None]
    one, other = (qrank.complete(f * y, known, method="kriging").x for f in (1.0, factor))
    np.testing.assert_allclose(other, factor * one, rtol=0, atol=1e-6 * factor * np.abs(y).max())


def test_the_same_call_gives_the_same_answer_and_leaves_the_input(rng):
    y, _, _ = drawn(rng)
    known = some_known(rng, *y.shape[:2])[:, :, None]
    before = y.copy()
    one, other = (qrank.complete(y, known, method="kriging").x for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(y, before)
    on = np.broadcast_to(known, y.shape)
    np.testing.assert_array_equal(one[on], y[on])


def test_float32_stays_float32_and_near_float64(rng):
    y, _, _ = drawn(rng)
    known = some_known(rng, *y.shape[:2])[:, :, None]
    given = {"a": 0.5, "p": 1, "times": 1, "steps": 5}
    single = qrank.complete(y.astype(np.float32), known, method="kriging", **given).x
    assert single.dtype == np.float32
    assert rms(single - qrank.complete(y, known, method="kriging", **given).x) < 1e-3 * rms(y)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_fibres_are_found_along_any_axis(order):
    rng = np.random.default_rng(3)
    y, _, _ = drawn(rng)
    known = np.broadcast_to(some_known(rng, *y.shape[:2])[:, :, None], y.shape)
    given = {"a": 0.5, "p": 1, "steps": 4}
    one = qrank.complete(y, known, method="kriging", times=1, **given)
    other = qrank.complete(
        y.transpose(order), known.transpose(order), method="kriging", times=order.index(1), slice_axes=(2, 0), **given
    )
    np.testing.assert_allclose(other.x, one.x.transpose(order), atol=1e-8)


def test_axes_of_an_array_of_four_are_merged(rng):
    y, _, _ = drawn(rng, fibre=12)
    known = some_known(rng, *y.shape[:2])
    four = np.broadcast_to(known[:, :, None, None], (14, 12, 3, 4))
    assert fibre_axes(four) == (2, 3)
    given = {"a": 0.5, "p": 1, "steps": 4, "times": 1}
    x = qrank.complete(y.reshape(14, 12, 3, 4), four, method="kriging", **given).x
    np.testing.assert_allclose(x.reshape(y.shape), qrank.complete(y, known[:, :, None], method="kriging", **given).x)


def test_fibres_with_some_entries_known_are_conditioned_on_them(rng):
    y, _, _ = drawn(rng)
    known = np.broadcast_to(some_known(rng, *y.shape[:2])[:, :, None], y.shape).copy()
    part = ~known.any(2) & (rng.random(known.shape[:2]) < 0.5)
    known[part, :3] = True  # three of ten entries, three coefficients
    mostly = known.all(2) & (rng.random(known.shape[:2]) < 0.2)
    known[mostly, -2:] = False
    assert known_fibres(known)[mostly].all()
    assert not known_fibres(known)[part].any()
    x, deviation, _, _ = finished(y, known)
    blank = ~known.any(2)
    assert rms((x - y)[mostly][:, -2:]) < 0.5 * rms((x - y)[blank])
    assert rms((x - y)[part][:, 3:]) < 0.8 * rms((x - y)[blank])
    assert deviation[part][:, 3:].mean() < deviation[blank].mean()


def test_a_place_and_a_time_without_any_known_fibre_are_like_the_others(rng):
    y, _, _ = drawn(rng)
    y += 5 * np.sin(np.arange(10))  # what all have in common
    known = some_known(rng, *y.shape[:2], rate=0.8)
    known[3], known[:, 5] = False, False
    x, deviation, _, _ = finished(y, known[:, :, None])
    usual = y[known].mean(0)
    assert rms((x - y)[3]) < 1.1 * rms((usual - y)[3])
    assert rms((x - y)[:, 5]) < 0.8 * rms((usual - y)[:, 5])
    assert np.isfinite(deviation).all()
    assert deviation[3].mean() > deviation[~known].mean()


@limited
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "shape",
    [(2, 2), (6, 5), (1, 1, 2), (1, 6, 5), (6, 1, 5), (5, 6, 1), (2, 2, 2), (3, 4, 5), (2, 3, 2, 3), (9, 8, 30)],
)
@pytest.mark.parametrize("kind", ["fibres", "random", "one entry"])
@pytest.mark.parametrize("value", ["noise", "counts", "zeros", "constant", "negative"])
def test_nothing_breaks(shape, kind, value):
    rng = np.random.default_rng(0)
    y = {"noise": rng.standard_normal(shape), "counts": rng.poisson(3, shape), "zeros": np.zeros(shape)}.get(
        value, np.full(shape, 7.0 if value == "constant" else -7.0)
    )
    known = rng.random(shape[:-1])[..., None] < 0.7 if kind == "fibres" else rng.random(shape) < 0.6
    known = np.broadcast_to(known, shape).copy()
    if kind == "one entry":
        known[:] = True
        known.flat[-1] = False
    known.flat[0] = True
    if known.all():
        return
    x, deviation, _, _ = finished(y, known)
    assert np.isfinite(x).all()
    assert np.isfinite(deviation).all()
    assert (deviation >= 0).all()
    assert np.abs(x).max() < 20 * max(1, np.abs(y).max())


def test_a_constant_is_continued():
    y = np.full((8, 9, 6), 3.0)
    known = some_known(np.random.default_rng(0), 8, 9)[:, :, None]
    np.testing.assert_allclose(qrank.complete(y, known, method="kriging").x, 3.0, rtol=0.06)


def test_many_fibres_are_put_into_groups(rng):
    y, _, _ = drawn(rng, 40, 12)
    known = some_known(rng, 40, 12)[:, :, None]
    missing = ~np.broadcast_to(known, y.shape)
    given = {"a": 0.5, "p": 1, "times": 1, "steps": 10}
    one, _, _, _ = finished(y, known, **given)
    other, _, run, _ = finished(y, known, largest=100, **given)
    assert len(set(run.state.group)) > 1
    assert rms((other - y)[missing]) < 1.2 * rms((one - y)[missing])


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"axis": 7}, InputError, "axis = 7 must be one or some, not all, of the axes 0 to 2"),
        ({"axis": "days"}, KindError, "axis must be an axis or some axes"),
        ({"axis": 1, "times": 1}, InputError, "other than that of its fibres"),
        ({"times": 5}, InputError, "must be an axis of the array"),
        ({"p": 0.5}, InputError, "needs values of at least 0"),
        ({"p": 0}, InputError, "p must be above 0"),
        ({"a": -1}, InputError, "a must be at least 0"),
        ({"steps": 1.5}, InputError, "steps must be a whole number"),
        ({"largest": 3, "times": 0}, InputError, "4 times, and kriging holds a covariance"),
    ],
)
def test_wrong_options_are_one_sentence(given, kind, message):
    y = np.random.default_rng(0).standard_normal((4, 4, 4))
    y[1, 2] = np.nan
    with pytest.raises(kind, match=message) as caught:
        qrank.complete(y, method="kriging", **given)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- what is held out to choose by


@pytest.mark.parametrize(("lost_axis", "kept_axis"), [(0, 1), (1, 0)])
def test_held_out_like_what_is_lost_whole_times_or_whole_places(lost_axis, kept_axis):
    """Where whole lines of fibres are lost, whole lines are held out, and only along that axis."""
    places, times, fibre = 12, 16, 5
    known = np.ones((places, times), bool)
    np.moveaxis(known, lost_axis, 0)[[2, 5]] = False
    y = np.random.default_rng(0).standard_normal((places, times, fibre))
    observed = np.broadcast_to(known[:, :, None], y.shape)
    problem = Problem.of(y, observed, slice_axes=(1, 2))
    assert problem.observed.shape == y.shape
    settings = Settings(0.5, 1.0, 5, (0, 1, 2), (1, 1), 1, (2,))
    hidden = held_out(problem, settings, np.random.default_rng(1))
    assert hidden.any()
    assert not (hidden & ~observed).any()
    assert (hidden == hidden[:, :, :1]).all()  # whole fibres
    lines = hidden.any(axis=(kept_axis, 2))
    np.testing.assert_array_equal(hidden, np.broadcast_to(np.expand_dims(lines, (kept_axis, 2)), y.shape))
    assert not lines[[2, 5]].any()
    assert 1 <= lines.sum() < len(lines) / 2


def test_nothing_is_held_out_where_it_would_leave_nothing():
    y = np.random.default_rng(0).standard_normal((6, 7, 4))
    known = np.zeros((6, 7, 1), bool)
    known[0, 0] = True
    problem = Problem.of(y, np.broadcast_to(known, y.shape), slice_axes=(1, 2))
    settings = Settings(0.5, 1.0, 5, (0, 1, 2), (1, 1), 1, (2,))
    assert held_out(problem, settings, np.random.default_rng(1)) is None


def test_a_run_tells_its_settings_and_a_run_with_them_is_the_same(rng, monkeypatch):
    """So `auto` runs on everything what it has tried."""
    x = drawn(rng)[0]
    known = np.broadcast_to(some_known(rng, *x.shape[:2])[:, :, None], x.shape)
    problem, method = Problem.of(np.where(known, x, 0), known), METHODS["kriging"].configured()
    run = Run(problem, method, rng=0)
    for _ in run:
        pass
    found = method.as_found(problem, run.state)
    assert None not in (found.a, found.p, found.steps, found.times, found.axis)
    monkeypatch.setattr("qrank.methods.kriging_choice.held_out", None)  # nothing is chosen any more
    again = Run(problem, found, rng=1)
    for _ in again:
        pass
    np.testing.assert_allclose(again.answer(), run.answer())


def test_settings_are_chosen_by_two_draws_together(rng, monkeypatch):
    """Of which each run sees what the other has hidden, and where one draw is luck the other says so."""
    x = drawn(rng)[0]
    known = np.broadcast_to(some_known(rng, *x.shape[:2])[:, :, None], x.shape)
    squares, folds = kriging_choice._squares, []

    def watched(method, settings, truth, without, hidden):
        folds.append(hidden)
        assert not (without.observed & hidden).any()
        yield from squares(method, settings, truth, without, hidden)

    monkeypatch.setattr(kriging_choice, "_squares", watched)
    finished(np.where(known, x, 0), known, a=0.0, p=1.0)
    assert len({one.tobytes() for one in folds}) == kriging_choice.FOLDS == 2
