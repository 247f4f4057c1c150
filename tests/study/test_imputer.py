import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import qrank
from conftest import low_rank


@pytest.fixture
def table(rng):
    x = 3 + rng.standard_normal((90, 3)) @ rng.standard_normal((3, 12))
    return x, np.where(rng.random(x.shape) < 0.75, x, np.nan)


def test_fit_transform_is_complete(rng):
    x = low_rank(rng, (8, 9, 6))
    y = np.where(rng.random(x.shape) < 0.7, x, np.nan)
    imputer = qrank.TensorImputer(method="tnn", tol=1e-4)
    answer = qrank.complete(y, method="tnn", tol=1e-4).x
    np.testing.assert_array_equal(imputer.fit_transform(y), answer)
    np.testing.assert_array_equal(imputer.transform(y), answer)
    assert imputer.transform_ is imputer.result_.transform
    assert imputer.fit(y) is imputer


def test_scikit_learn_conventions():
    imputer = qrank.TensorImputer(method="vmtqn", slice_axes=(1, 2), rho=1.3)
    copy = clone(imputer)
    assert copy is not imputer
    assert copy.get_params() == imputer.get_params()
    assert copy.get_params()["rho"] == 1.3
    assert repr(copy) == "TensorImputer(method='vmtqn', slice_axes=(1, 2), rho=1.3)"
    assert copy.set_params(method="tnn", tol=1e-3) is copy
    assert (copy.method, copy.get_params()["tol"], imputer.method) == ("tnn", 1e-3, "vmtqn")
    with pytest.raises(qrank.InputError, match="did you mean 'method'"):
        copy.set_params(metod="tnn")
    with pytest.raises(NotFittedError):
        copy.transform(np.ones((2, 2)))
    assert "TensorImputer" in copy._repr_html_()


@pytest.mark.filterwarnings("ignore")
def test_check_estimator():
    check_estimator(qrank.TensorImputer(method="tnn"))


def test_new_samples_are_completed_against_those_fitted(table, rng):
    x, y = table
    imputer = qrank.TensorImputer(method="vmtqn").fit(y[:60])
    np.testing.assert_array_equal(imputer.transform(y[:60]), imputer.result_.x)
    found, known = imputer.transform(y[60:]), np.isfinite(y[60:])
    np.testing.assert_array_equal(found[known], y[60:][known])
    rms = np.sqrt(np.square(found - x[60:])[~known].mean())
    plain = np.sqrt(np.square(SimpleImputer().fit(y[:60]).transform(y[60:]) - x[60:])[~known].mean())
    assert rms < 0.3 * plain
    np.testing.assert_allclose(imputer.transform(y[70:72]), found[10:12])  # each on its own
    nothing = np.full((1, 12), np.nan)
    np.testing.assert_allclose(imputer.transform(nothing)[0], imputer.result_.x.mean(axis=0))
    with pytest.raises(ValueError, match="12 features"):
        imputer.transform(y[:, :5])


def test_bounds_and_types_hold_for_new_samples(table):
    _, y = table
    imputer = qrank.TensorImputer(method="vmtqn", bounds=(2, 4)).fit(y[:60].astype(np.float32))
    found = imputer.transform(y[60:].astype(np.float32))
    filled = found[np.isnan(y[60:])]
    assert found.dtype == np.float32
    assert filled.min() >= 2
    assert filled.max() <= 4


def test_samples_of_more_axes_directly_or_folded(rng):
    x = 2 + np.moveaxis(low_rank(rng, (6, 8, 30), directions=3), 2, 0)
    y = np.where(rng.random(x.shape) < 0.7, x, np.nan)
    direct = qrank.TensorImputer(method="vmtqn", slice_axes=(1, 2)).fit(y[:25])
    for fold in ((6, 8), (8,), (6, -1)):
        folded = qrank.TensorImputer(method="vmtqn", slice_axes=(1, 2), fold=fold).fit(y[:25].reshape(25, 48))
        assert folded.result_.x.shape == (25, 6, 8)
        np.testing.assert_allclose(folded.transform(y[25:].reshape(5, 48)), direct.transform(y[25:]).reshape(5, 48))
    missing = np.isnan(y[25:])
    assert np.sqrt(np.square(direct.transform(y[25:]) - x[25:])[missing].mean()) < 0.3 * x[25:][missing].std()
    with pytest.raises(qrank.InputError, match="48 features of a sample cannot be folded"):
        qrank.TensorImputer(fold=(7,)).fit(y.reshape(30, 48))
    with pytest.raises(qrank.InputError, match="more than two axes"):
        qrank.TensorImputer(add_indicator=True).fit(y)
    with pytest.raises(qrank.InputError, match="samples of shape"):
        direct.transform(y[:, :3])


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_containers_names_and_indicators(table, container):
    pytest.importorskip(container)
    x, y = table
    y[:, 3] = x[:, 3]
    frame = pd.DataFrame(y, columns=[f"sensor {k}" for k in range(12)], index=np.arange(90) + 7)
    imputer = qrank.TensorImputer(method="vmtqn", add_indicator=True).set_output(transform=container)
    found = imputer.fit_transform(frame)
    theirs = SimpleImputer(add_indicator=True).fit(frame).get_feature_names_out()
    assert list(imputer.get_feature_names_out()) == list(theirs) == list(found.columns)
    if container == "pandas":
        assert (found.index == frame.index).all()
    np.testing.assert_array_equal(np.asarray(found)[:, 12:], np.isnan(y)[:, np.arange(12) != 3])
    np.testing.assert_array_equal(np.asarray(imputer.transform(frame)), np.asarray(found))
    with pytest.raises(ValueError, match="feature names should match"):
        imputer.transform(frame.iloc[:, ::-1])


def test_in_a_pipeline_and_a_search(table, rng):
    x, y = table
    target = x @ rng.standard_normal(12)
    pipe = make_pipeline(qrank.TensorImputer(method="vmtqn"), Ridge(1e-3))
    grid = {"tensorimputer__method": ["tnn", "vmtqn"], "tensorimputer__tol": [1e-2, 1e-4]}
    search = GridSearchCV(pipe, grid, cv=3, error_score="raise").fit(y, target)
    assert search.best_score_ > cross(SimpleImputer(), y, target)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(y), search.best_estimator_.predict(y))


def cross(imputer, y, target):
    return GridSearchCV(make_pipeline(imputer, Ridge(1e-3)), {}, cv=3).fit(y, target).best_score_


def test_without_scikit_learn():
    script = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import pickle, numpy as np, qrank
y = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
y[2, 3] = np.nan
imputer = qrank.TensorImputer(method="tnn")
try:
    imputer.transform(y)
except qrank.InputError as error:
    print(error)
print(round(imputer.fit_transform(y)[2, 3]), imputer.get_params()["method"], imputer.get_feature_names_out()[1])
y[4, 4] = np.nan
print(round(pickle.loads(pickle.dumps(imputer)).transform(y)[4, 4]))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["this TensorImputer is not fitted yet: call fit first", "12 tnn x1", "25"]


def test_scikit_learn_is_not_imported_with_the_package():
    script = "import sys, qrank; print('sklearn' in sys.modules); qrank.TensorImputer; print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]
