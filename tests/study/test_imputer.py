import numpy as np
import pytest
from sklearn.base import clone

import qrank
from conftest import low_rank


def test_fit_transform_is_complete(rng):
    x = low_rank(rng, (8, 9, 6))
    y = np.where(rng.random(x.shape) < 0.7, x, np.nan)
    imputer = qrank.TensorImputer(method="tnn", tol=1e-4)
    np.testing.assert_array_equal(imputer.fit_transform(y), qrank.complete(y, method="tnn", tol=1e-4).x)
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
