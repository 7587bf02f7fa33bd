"""Layers of neural networks, images first: axes are image, row, column, channel."""

import itertools

import numpy as np

from benchmarks.npbench.registry import kernel, weighted


# ----------------------------------------------------------------------------------- layers
def relu(x):
    """Cut off what is negative."""
    return np.maximum(x, 0)


def conv2d(images, weights):
    """Correlate images with square kernels, without padding."""
    K = weights.shape[0]
    N = images.shape[0]
    H_out = images.shape[1] - K + 1
    W_out = images.shape[2] - K + 1
    C_out = weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=images.dtype)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                images[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return output


def maxpool2d(x):
    """Keep the largest of each two by two entries."""
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def batchnorm2d(x, eps=1e-5):
    """Centre and scale every entry over the images."""
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


def softmax(x):
    """Exponentiate and normalise along the last axis."""
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


@kernel(lambda rng, *shape: (rng.normal(size=shape),), (2, 2, 3, 4), (8, 8, 32, 32), peer=True)
def sum_of_softmax(x):
    """The probabilities."""
    return weighted(softmax(x))


# --------------------------------------------------------------------------------- networks
def conv2d_bias(images, weights, bias):
    """One convolution with a bias."""
    return conv2d(images, weights) + bias


def convolution(rng, n, extent, k, c_in, c_out):
    """Images, square kernels, a bias."""
    images = rng.normal(size=(n, extent, extent, c_in))
    return images, rng.normal(size=(k, k, c_in, c_out)), rng.normal(size=c_out)


@kernel(convolution, (2, 5, 2, 2, 3), (4, 24, 4, 3, 8))
def sum_of_conv2d_bias(images, weights, bias):
    """The images that come out."""
    return weighted(conv2d_bias(images, weights, bias))


def mlp(x, w1, b1, w2, b2, w3, b3):
    """Classify by three layers; the first two are cut off in place."""
    h1 = x @ w1 + b1
    np.maximum(h1, 0, out=h1)
    h2 = h1 @ w2 + b2
    np.maximum(h2, 0, out=h2)
    return softmax(h2 @ w3 + b3)


def layers(rng, *extents):
    """The weights and the biases of dense layers, in turn."""
    made = []
    for n, m in itertools.pairwise(extents):
        made += [rng.normal(size=(n, m)) / np.sqrt(n), 0.1 * rng.normal(size=m)]
    return made


def perceptron(rng, n, *extents):
    """A batch and the layers."""
    return rng.normal(size=(n, extents[0])), *layers(rng, *extents)


@kernel(perceptron, (3, 4, 6, 5, 3), (64, 100, 120, 80, 10), peer=True)
def sum_of_mlp(x, w1, b1, w2, b2, w3, b3):
    """The probabilities."""
    return weighted(mlp(x, w1, b1, w2, b2, w3, b3))


def lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2, w3, b3, N, features):
    """LeNet-5 with rectifiers: two convolutions with pooling, three dense layers."""
    x = relu(conv2d(images, conv1) + bias1)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + bias2)
    x = maxpool2d(x)
    x = np.reshape(x, (N, features))
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return x @ w3 + b3


def digits(rng, n, extent, c1, c2, *dense):
    """Images and the parameters of the network."""
    features = ((extent - 4) // 2 - 4) // 2
    features *= features * c2
    _, conv1, bias1 = convolution(rng, 1, 1, 5, 1, c1)
    _, conv2, bias2 = convolution(rng, 1, 1, 5, c1, c2)
    images = rng.normal(size=(n, extent, extent, 1))
    parameters = layers(rng, features, *dense)
    return images, conv1 / 5, bias1, conv2 / 10, bias2, *parameters, n, features


@kernel(digits, (2, 16, 2, 3, 6, 5, 4), (8, 28, 6, 16, 120, 84, 10))
def sum_of_lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2, w3, b3, N, features):
    """The scores."""
    scores = lenet(images, conv1, bias1, conv2, bias2, w1, b1, w2, b2, w3, b3, N, features)
    return weighted(scores)


def resnet_basicblock(images, conv1, conv2, conv3):
    """Three convolutions around which the images go past."""
    padded = np.zeros(
        (images.shape[0], images.shape[1] + 2, images.shape[2] + 2, conv1.shape[3]),
        dtype=images.dtype,
    )
    padded[:, 1:-1, 1:-1, :] = conv2d(images, conv1)
    x = batchnorm2d(padded)
    x = relu(x)
    x = conv2d(x, conv2)
    x = batchnorm2d(x)
    x = relu(x)
    x = conv2d(x, conv3)
    x = batchnorm2d(x)
    return relu(x + images)


def block(rng, n, extent, c_out, c_in):
    """Images and three convolutions: down to fewer channels, across three by three, and up."""
    _, conv1, _ = convolution(rng, 1, 1, 1, c_out, c_in)
    _, conv2, _ = convolution(rng, 1, 1, 3, c_in, c_in)
    _, conv3, _ = convolution(rng, 1, 1, 1, c_in, c_out)
    return rng.normal(size=(n, extent, extent, c_out)), conv1, conv2, conv3


@kernel(block, (3, 3, 3, 2), (8, 14, 32, 8), complex_step=False)
def sum_of_resnet_basicblock(images, conv1, conv2, conv3):
    """The images that come out."""
    return weighted(resnet_basicblock(images, conv1, conv2, conv3))
