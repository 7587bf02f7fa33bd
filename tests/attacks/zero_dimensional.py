"""Arrays without axes, and which results are arrays."""

import numpy as np

X = np.array([0.5, -1.5, 2.0])


def added_through_an_alias():
    def f(x):
        y = np.array(2.0)
        z = y
        y += x[0]
        return z * x[1]

    return f, (X.copy(),)


def stored_by_ellipsis():
    def f(x):
        y = np.zeros(())
        y[...] = x[0] * x[1]
        return y * 3.0

    return f, (X.copy(),)


def stored_by_empty_tuple():
    def f(x):
        y = np.empty(())
        y[()] = x[0] ** 2
        z = y
        y[()] = 3.0 * x[1]
        return z + y

    return f, (X.copy(),)


def result_given_by_out():
    def f(x):
        y = np.array(1.5)
        alias = y
        np.multiply(y, x[2], out=y)
        return alias**2

    return f, (X.copy(),)


def argument_without_axes():
    def f(y):
        alias = y
        y *= 2.0
        return alias * alias

    return f, (np.array(1.5),)


def argument_written_in_a_loop():
    def f(y, x):
        for v in x:
            y += v * y
        return y

    return f, (np.array(0.5), X.copy())


def in_a_list():
    def f(x):
        cells = [np.array(0.0), np.array(1.0)]
        first = cells[0]
        for v in x:
            cells[0] += v
            cells[1] *= v
        return first * cells[1]

    return f, (X.copy(),)


def in_a_dict():
    def f(x):
        d = {"a": np.array(1.0)}
        a = d["a"]
        d["a"] -= x[0]
        return a * x[1]

    return f, (X.copy(),)


def by_a_helper():
    def grow(cell, v):
        cell += v

    def f(x):
        cell = np.zeros(())
        for v in x:
            grow(cell, v * v)
        return cell + 0.0

    return f, (X.copy(),)


def sum_with_kept_axes():
    def f(x):
        s = np.sum(x[0], keepdims=True)
        t = s
        s += x[1]
        return np.sum(t * x[2])

    return f, (X.copy(),)


def reshaped_to_no_axes():
    def f(x):
        y = x[:1].copy()
        z = y.reshape(())
        z *= 3.0
        return y[0] * x[1]

    return f, (X.copy(),)


def squeezed():
    def f(x):
        y = (x[:1] * 2.0).squeeze()
        w = y
        y += 1.0
        return w * x[1]

    return f, (X.copy(),)


def sum_is_a_scalar():
    def f(x):
        s = np.sum(x)
        t = s
        s += 1.0
        return t * s

    return f, (X.copy(),)


def item_of_vector_is_a_scalar():
    def f(x):
        a = x[0]
        b = a
        a *= 2.0
        return a * b

    return f, (X.copy(),)


def item_by_ellipsis_is_a_view():
    def f(x):
        y = x.copy()
        a = y[0, ...]
        a *= 2.0
        return y[0] * y[1]

    return f, (X.copy(),)


def asarray_of_a_scalar():
    def f(x):
        a = np.asarray(x[0] * 1.0)
        b = a
        a += x[1]
        return b * a

    return f, (X.copy(),)


def asarray_of_an_array_is_itself():
    def f(y):
        z = np.asarray(y)
        z += 1.0
        return y * y

    return f, (np.array(0.7),)


def arithmetic_gives_scalars():
    def f(y):
        z = y + 1.0
        w = z
        z *= 2.0
        return w * z

    return f, (np.array(0.7),)


def negative_of_array_without_axes():
    def f(y):
        z = -y
        w = z
        z -= 1.0
        return w * z

    return f, (np.array(0.7),)


def copy_is_an_array():
    def f(y):
        z = y.copy()
        w = z
        z -= 1.0
        return w * z + y

    return f, (np.array(0.7),)


def where_of_scalars():
    def f(x):
        z = np.where(x[0] > 0, x[0], x[1])
        w = z
        z += 1.0
        return w * z

    return f, (X.copy(),)


def full_and_ones_like():
    def f(y):
        z = np.full_like(y, 2.0)
        w = np.ones_like(y)
        v = w
        w += z * y
        return v * w

    return f, (np.array(0.7),)


def swapped_in_a_loop():
    def f(x):
        a, b = np.array(1.0), np.array(2.0)
        for v in x:
            a, b = b, a
            a += v
        return a * b * b

    return f, (X.copy(),)


def max_over_no_axis():
    def f(x):
        m = np.max(x)
        n = m
        m -= 1.0
        return n * m

    return f, (X.copy(),)


def einsum_to_a_scalar():
    def f(x):
        s = np.einsum("i,i->", x, x)
        t = s
        s += 1.0
        return t * s

    return f, (X.copy(),)


def dot_into_out():
    def f(x):
        s = np.zeros(())
        t = s
        np.dot(x, x, out=s)
        return t * x[0]

    return f, (X.copy(),)


def view_of_one_entry():
    def f(x):
        y = x.copy()
        v = y[1:2].reshape(())
        v[...] = x[0] * 3.0
        return np.sum(y * y)

    return f, (X.copy(),)


def returned_array():
    def f(x):
        y = np.array(0.0)
        y += np.sum(x * x)
        return y

    return f, (X.copy(),)


def branch_of_array_and_scalar():
    def f(x):
        y = np.array(1.0) if x[0] > 0 else 1.0
        z = y
        y += x[1]
        return y * z

    return f, (X.copy(),)


def nditer_free_accumulation():
    def f(x):
        acc = np.zeros((), dtype=float)
        for k in range(3):
            np.add(acc, x[k] ** 2, out=acc)
        return acc * 1.0

    return f, (X.copy(),)
