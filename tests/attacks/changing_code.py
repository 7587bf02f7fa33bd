"""Code and data that change between two gradients; memory that overlaps; what is read-only."""

import types

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

X = np.array([0.5, -1.5, 2.0])


def _nothing():
    return None


def code_replaced():
    def f(x):
        return x * 2.0

    def other(x):
        return x * 5.0

    def change():
        f.__code__ = other.__code__

    return f, (1.5,), _nothing, change


def code_of_a_helper_replaced():
    def h(x):
        return x * 2.0

    def other(x):
        return x**3

    def f(x):
        return h(x) + 1.0

    def change():
        h.__code__ = other.__code__

    return f, (1.5,), _nothing, change


def method_swapped():
    class Model:
        def scale(self, x):
            return 2.0 * x

    model = Model()

    def f(x):
        return model.scale(x)

    def change():
        Model.scale = lambda self, x: 7.0 * x * x

    return f, (1.5,), _nothing, change


def method_set_on_the_object():
    class Model:
        def scale(self, x):
            return 2.0 * x

    model = Model()

    def f(x):
        return model.scale(x)

    def change():
        model.scale = lambda x: x**3

    return f, (1.5,), _nothing, change


def bound_method_differentiated():
    class Model:
        def loss(self, x):
            return 2.0 * x

    model = Model()

    def change():
        Model.loss.__code__ = (lambda self, x: 9.0 * x).__code__

    return model.loss, (1.5,), _nothing, change


def base_class_gains_a_method():
    class Base:
        pass

    class Model(Base):
        def __getattr__(self, name):
            raise AttributeError(name)

    model = Model()

    def f(x):
        return x * getattr(model, "k", 2.0)

    def change():
        Base.k = 5.0

    return f, (1.5,), _nothing, change


def defaults_replaced():
    def h(x, k=2.0):
        return x * k

    def f(x):
        return h(x)

    def change():
        h.__defaults__ = (7.0,)

    return f, (1.5,), _nothing, change


def keyword_defaults_replaced():
    def h(x, *, k=2.0):
        return x * k

    def f(x):
        return h(x)

    def change():
        h.__kwdefaults__["k"] = 7.0

    return f, (1.5,), _nothing, change


def cell_rebound():
    k = 2.0

    def f(x):
        return x * k

    def change():
        nonlocal k
        k = 5.0

    return f, (1.5,), _nothing, change


def module_attribute_replaced():
    module = types.ModuleType("settings")
    module.rate = 2.0
    module.act = np.tanh

    def f(x):
        return module.act(x) * module.rate

    def change():
        module.act = np.sin

    return f, (1.5,), _nothing, change


def class_of_an_object_changed():
    class A:
        def k(self, x):
            return 2.0 * x

    class B:
        def k(self, x):
            return x * x

    obj = A()

    def f(x):
        return obj.k(x)

    def change():
        obj.__class__ = B

    return f, (1.5,), _nothing, change


def property_replaced():
    class Model:
        @property
        def rate(self):
            return 2.0

    model = Model()

    def f(x):
        return model.rate * x

    def change():
        Model.rate = property(lambda self: 11.0)

    return f, (1.5,), _nothing, change


def list_of_functions_changed():
    steps = [np.sin, np.cos]

    def f(x):
        for step in steps:
            x = step(x)
        return x

    def change():
        steps[0] = np.exp
        steps.append(np.tanh)

    return f, (1.5,), _nothing, change


def flag_flipped():
    flags = {"square": False}

    def f(x):
        return x * x if flags["square"] else x

    def change():
        flags["square"] = True

    return f, (1.5,), _nothing, change


def array_resized_outside():
    data = {"w": np.ones(3)}

    def f(x):
        return np.sum(x[: len(data["w"])] * data["w"])

    def change():
        data["w"] = np.full((1,), 4.0)

    return f, (X.copy(),), _nothing, change


# ------------------------------------------------------------------ read-only and overlapping
def read_only_argument():
    def f(x):
        x *= 2.0
        return np.sum(x)

    x = X.copy()
    x.flags.writeable = False
    return f, (x,)


def read_only_view_of_argument():
    def f(x):
        y = x[1:]
        y[0] = 3.0
        return np.sum(x)

    x = X.copy()
    x.flags.writeable = False
    return f, (x,)


def read_only_copied_first():
    def f(x):
        y = x.copy()
        y *= 2.0
        return np.sum(y * y)

    x = X.copy()
    x.flags.writeable = False
    return f, (x,)


def read_only_without_axes():
    def f(x):
        x += 1.0
        return x * x

    x = np.array(2.0)
    x.flags.writeable = False
    return f, (x,)


def broadcast_argument_written():
    def f(x):
        x[0] = 7.0
        return np.sum(x * x)

    base = np.array([2.0])
    x = as_strided(base, (3,), (0,))
    return f, (x,)


def strided_argument_written():
    def f(x):
        x += 1.0
        return np.sum(x**2)

    return f, (as_strided(np.arange(4.0), (3, 2), (8, 8)),)


def windows_written():
    def f(x):
        x[0, 1] = 9.0
        return np.sum(x**2)

    return f, (sliding_window_view(np.arange(4.0), 2, writeable=True),)


def windows_read():
    def f(x):
        return np.sum(x[:, 0] * x[:, 1])

    return f, (sliding_window_view(np.arange(4.0), 2).copy(),)


def broadcast_made_inside():
    def f(x):
        y = np.broadcast_to(x, (2, 3))
        y[0, 0] = 1.0
        return np.sum(y)

    return f, (X.copy(),)


def read_only_in_a_list():
    def f(xs):
        xs[0] += 1.0
        return np.sum(xs[0] * xs[1])

    x = X.copy()
    x.flags.writeable = False
    return f, ([x, X.copy()],)


def read_only_global():
    store = np.ones(3)
    store.flags.writeable = False

    def f(x):
        y = store
        y += x
        return np.sum(y)

    return f, (X.copy(),)


def result_of_diagonal():
    def f(x):
        d = np.diagonal(x)
        d[0] = 1.0
        return np.sum(d)

    return f, (np.ones((2, 2)),)


def out_into_read_only():
    def f(x):
        np.exp(x, out=x)
        return np.sum(x)

    x = X.copy()
    x.flags.writeable = False
    return f, (x,)
