"""Arrays of other libraries as arguments: refused by name, with the conversion."""

import numpy as np
import pytest

import srcad
from srcad.errors import UnsupportedSyntaxError, UnsupportedTypeError, WrtError

CONVERSIONS = {
    "cupy": "x.get()",
    "dask.array.core": "x.compute()",
    "h5py._hl.dataset": "x[...]",
    "jaxlib._jax": "np.asarray(x)",
    "tensorflow.python.framework.ops": "x.numpy()",
    "torch": "x.detach().cpu().numpy()",
    "zarr.core.array": "x[...]",
}


def class_of(module, name="Array"):
    """Return a class of arrays as a module has it; it can only be converted."""

    class Fake:
        def __init__(self, values):
            self.values = np.asarray(values)

        shape = property(lambda self: self.values.shape)
        dtype = property(lambda self: self.values.dtype)

        def __array__(self, dtype=None, copy=None):
            return self.values

        __array_ufunc__ = None

    Fake.__module__, Fake.__name__, Fake.__qualname__ = module, name, name
    return Fake


Dask = class_of("dask.array.core")


def product(w, x):
    return np.sum(np.tanh(x @ w))


def by_length(w, x):
    return np.sum(w**2) * x.shape[0]


def by_items(w, *xs, **named):
    return np.sum(w * xs[1]) + np.sum(named["last"] * w)


class Batch:
    def __init__(self, data):
        self.rows = data


def by_attribute(w, batches):
    return np.sum(batches["first"][0].rows @ w)


def with_class(w, x):
    class Square:
        y = np.sum(w * w)

    return Square.y * x.shape[0]


ROWS, W = np.arange(6.0).reshape(3, 2), np.arange(2.0)


@pytest.mark.parametrize("module", CONVERSIONS)
@pytest.mark.parametrize("wrt", ["w", "x"])
def test_foreign_array_is_refused_with_its_conversion(module, wrt):
    with pytest.raises(UnsupportedTypeError, match="argument 'x' of 'product'") as found:
        srcad.grad(product, wrt=wrt)(W, class_of(module)(ROWS))

    assert found.value.help == (f"pass an array of NumPy:  {CONVERSIONS[module]}",)
    assert (found.value.where is None) == (wrt == "x")


def test_foreign_array_of_which_only_the_length_is_read_is_an_argument():
    gradient = srcad.grad(by_length)(W, Dask(ROWS))

    np.testing.assert_array_equal(gradient, 6 * W)


@pytest.mark.parametrize("mode", [srcad.grad, srcad.value_and_grad, srcad.hessian])
def test_differentiated_foreign_array_is_refused_also_after_a_numpy_array(mode):
    derivative = mode(by_length)
    derivative(W, ROWS)

    with pytest.raises(UnsupportedTypeError, match="argument 'w' of 'by_length'"):
        derivative(Dask(W), ROWS)


def test_foreign_primal_of_products_is_refused():
    with pytest.raises(UnsupportedTypeError, match="argument 'w' of 'product'"):
        srcad.jvp(product, (Dask(W), ROWS), (W, None))
    with pytest.raises(UnsupportedTypeError, match="argument 'x' of 'product'"):
        srcad.vjp(product, W, Dask(ROWS))


def test_foreign_arrays_in_containers_are_named_by_their_path():
    with pytest.raises(UnsupportedTypeError, match=r"argument 'xs\[1\]' of 'by_items'") as found:
        srcad.grad(by_items)(W, W, Dask(W), last=Dask(W))
    assert [line.split()[-1] for line in found.value.help] == [
        "xs[1].compute()",
        "named['last'].compute()",
    ]
    with pytest.raises(UnsupportedTypeError, match=r"argument \"batches\['first'\]\[0\].rows\""):
        srcad.grad(by_attribute)(W, {"first": [Batch(Dask(ROWS))]})
    with pytest.raises(UnsupportedTypeError, match=r"argument \"batches\['first'\]\[0\].rows\""):
        srcad.grad(by_attribute, wrt="batches['first'][0].rows")(W, {"first": [Batch(Dask(ROWS))]})


def test_subclass_of_a_foreign_array_is_one():
    class Mine(class_of("torch", "Tensor")):
        pass

    with pytest.raises(UnsupportedTypeError, match=r"x\.detach\(\)\.cpu\(\)\.numpy\(\)"):
        srcad.grad(product)(W, Mine(ROWS))


def test_traced_array_of_jax_gets_another_remedy():
    with pytest.raises(UnsupportedTypeError, match="pure_callback"):
        srcad.grad(product)(class_of("jax._src.core", "Tracer")(W), ROWS)


def test_other_objects_of_a_library_keep_their_refusals():
    Device = type("Device", (), {"__module__": "torch", "__array_ufunc__": None})

    with pytest.raises(UnsupportedSyntaxError, match="'class'"):
        srcad.grad(with_class)(W, ROWS)
    with pytest.raises(WrtError):
        srcad.grad(product, wrt="y")(W, Dask(ROWS))
    with pytest.raises(UnsupportedTypeError) as found:
        srcad.grad(product)(W, Device())
    assert "PyTorch" not in str(found.value)


def test_refusal_has_the_location_of_what_cannot_be_read():
    with pytest.raises(UnsupportedTypeError, match="argument 'x'") as found:
        srcad.grad(with_class)(W, Dask(ROWS))

    assert "class Square:" in str(found.value)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["dask.array", "torch", "jax.numpy", "zarr"])
@pytest.mark.filterwarnings("ignore")
def test_real_array_is_converted_as_the_message_says(library):
    module = pytest.importorskip(library)
    x = module.asarray(ROWS) if library != "zarr" else module.create_array({}, data=ROWS)
    with pytest.raises(UnsupportedTypeError, match="argument 'x'") as found:
        srcad.grad(product)(W, x)
    with pytest.raises(UnsupportedTypeError, match="argument 'w'"):
        srcad.grad(product)(x, ROWS)

    (remedy,) = found.value.help
    converted = eval(remedy.removeprefix("pass an array of NumPy:  "), {"np": np, "x": x})
    gradient = srcad.grad(product)(W, converted)

    h = 1e-6 * np.eye(2)
    steps = [(product(W + d, ROWS) - product(W - d, ROWS)) / 2e-6 for d in h]
    np.testing.assert_allclose(gradient, steps, rtol=1e-4 if "jax" in library else 1e-7)
