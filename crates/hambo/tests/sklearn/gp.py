"""Reference values for tests/gp.rs from scikit-learn's GaussianProcessRegressor.

    python gp.py > gp.json        (scikit-learn 1.9, numpy 2)

Hyper-parameters are fixed. The posterior is that of the function, without noise: the noise enters as
`alpha`. For the gradient it is a WhiteKernel, so that its logarithm is one of the parameters.
"""

import json
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

VARIANCE, NOISE = 1.7, 0.03
LENGTHS = [0.8, 1.5, 2.3]

rng = np.random.default_rng(0)
x = rng.normal(size=(40, 3))
y = np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=40)
points = 1.5 * rng.normal(size=(9, 3))

shapes = {
    "rbf": RBF(LENGTHS),
    "matern12": Matern(LENGTHS, nu=0.5),
    "matern32": Matern(LENGTHS, nu=1.5),
    "matern52": Matern(LENGTHS, nu=2.5),
}


def fitted(kernel, alpha, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(inputs, y)


cases = {}
for name, shape in shapes.items():
    posterior = fitted(ConstantKernel(VARIANCE) * shape, NOISE, x)
    mean, std = posterior.predict(points, return_std=True)
    noisy = fitted(ConstantKernel(VARIANCE) * shape + WhiteKernel(NOISE), 1e-300, x)
    value, gradient = noisy.log_marginal_likelihood(noisy.kernel_.theta, eval_gradient=True)
    cases[name] = dict(
        mean=mean.tolist(), std=std.tolist(), log_likelihood=value, gradient=gradient.tolist()
    )

# scikit-learn's linear kernel has no length scales: the inputs are divided instead, and it has no
# gradient by them.
kernel = ConstantKernel(VARIANCE) * DotProduct(0.0)
posterior = fitted(kernel, NOISE, x / LENGTHS)
mean, std = posterior.predict(points / np.array(LENGTHS), return_std=True)
value = posterior.log_marginal_likelihood_value_
cases["linear"] = dict(mean=mean.tolist(), std=std.tolist(), log_likelihood=value, gradient=None)

print(json.dumps(dict(
    variance=VARIANCE, noise_variance=NOISE, length_scales=LENGTHS,
    inputs=x.tolist(), targets=y.tolist(), points=points.tolist(), cases=cases,
), indent=1))
