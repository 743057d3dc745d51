# SPDX-License-Identifier: BSD-3-Clause
"""sapstep.torch and sapstep.jax by the gradient checkers of these libraries."""

import numpy as np
import pytest

import sapstep

BLOCKS = [("friction-cone", 3, [0]), ("friction-cone", 4), ("box", 2, [1]), ("nonnegative", 1), ("free", 1, [0])]
SIZES = [4, 3]


def problem(seed=1, batch=()):
    random = np.random.default_rng(seed)
    nv, rows = sum(SIZES), sum(block[1] for block in BLOCKS)
    X = random.standard_normal((*batch, nv, nv))
    A = X @ np.swapaxes(X, -1, -2) + 2 * np.eye(nv)
    lower = -0.1 - random.random((*batch, rows))
    R = 0.1 + random.random((*batch, rows))
    return {"A": A, "v_star": random.standard_normal((*batch, nv)), "J": random.standard_normal((*batch, rows, nv)),
            "R": R, "v_hat": random.standard_normal((*batch, rows)), "friction": 0.3 + random.random((*batch, len(BLOCKS))),
            "lower": lower, "upper": -lower}


def tensors(torch, x):
    return [torch.tensor(values, requires_grad=True) for values in x.values()]


@pytest.mark.parametrize("options", [{}, {"coulomb": True}, {"couplings": [(1, 0)]}])
@pytest.mark.parametrize("seed", [1, 2])
def test_torch_gradcheck(options, seed):
    torch = pytest.importorskip("torch")
    import sapstep.torch

    contacts = sapstep.torch.Contacts(BLOCKS, SIZES, **options)
    assert torch.autograd.gradcheck(contacts, tensors(torch, problem(seed)), eps=1e-6, atol=1e-5, rtol=1e-4)


def test_torch_batches():
    torch = pytest.importorskip("torch")
    import sapstep.torch

    x = problem(3, batch=(2, 2))
    x["A"], x["friction"] = x["A"][0, 0], x["friction"][:, :1]  # broadcast
    single = sapstep.torch.Contacts(BLOCKS, SIZES)
    shared = sapstep.torch.Contacts(BLOCKS, SIZES, threads=2)
    given = [tensors(torch, x) for _ in range(2)]
    for contacts, t in zip((single, shared), given):
        v, gamma = contacts(*t)
        assert v.shape == (2, 2, 7) and gamma.shape == (2, 2, 11)
        (v.square().sum() + gamma.sum()).backward()
    for a, b in zip(*given):
        assert a.grad.shape == a.shape and torch.equal(a.grad, b.grad)
    one = [t.detach()[1, 0] if t.ndim > n else t.detach() for t, n in zip(given[0], (2, 1, 2, 1, 1, 1, 1, 1))]
    one[5] = given[0][5].detach()[1, 0]
    assert torch.equal(single(*one)[0], single(*given[0])[0][1, 0])


def test_torch_refuses():
    torch = pytest.importorskip("torch")
    import sapstep.torch

    contacts = sapstep.torch.Contacts(BLOCKS, SIZES)
    t = [values.detach() for values in tensors(torch, problem())]
    with pytest.raises(sapstep.InputError, match="float64"):
        contacts(t[0].float(), *t[1:])
    with pytest.raises(sapstep.InputError, match="v_star has shape"):
        contacts(t[0], t[1][:3], *t[2:])
    with pytest.raises(sapstep.InputError, match="tree 0"):
        contacts(-t[0], *t[1:])


@pytest.mark.parametrize("options", [{}, {"coulomb": True}])
def test_jax_check_grads(options):
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    import sapstep.jax

    contacts = sapstep.jax.Contacts(BLOCKS, SIZES, **options)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        x = [jax.numpy.asarray(values) for values in problem().values()]
        check_grads(contacts, x, order=1, modes=["rev"], atol=1e-5, rtol=1e-5, eps=1e-6)
        reference = contacts(*x)[0]
        assert np.array_equal(jax.jit(contacts)(*x)[0], reference)
        many = [jax.numpy.stack([values, values]) for values in x]
        assert np.array_equal(jax.vmap(contacts)(*many)[0][1], reference)
        grad = jax.grad(lambda v_star: contacts(x[0], v_star, *x[2:])[0].sum())
        assert np.allclose(jax.vmap(grad)(many[1])[1], grad(x[1]), rtol=1e-14)


def test_jax_refuses():
    jax = pytest.importorskip("jax")
    import sapstep.jax

    contacts = sapstep.jax.Contacts(BLOCKS, SIZES)
    with pytest.raises(sapstep.InputError, match="enable_x64"):
        contacts(*problem().values())
