"""Programs in the style of scripts that people write to teach and to fit."""

from __future__ import annotations

import numpy as np


# ---------------------------------------------------- a character RNN with states by time
def characters(text):
    chars = sorted(set(text))
    return chars, {c: i for i, c in enumerate(chars)}


def rnn_loss(model, inputs, targets, hprev):
    """Negative log-likelihood of a text; states are kept in dicts by time."""
    Wxh, Whh, Why, bh, by = (model[k] for k in ("Wxh", "Whh", "Why", "bh", "by"))
    vocabulary = by.shape[0]
    xs, hs, ys, ps = {}, {}, {}, {}
    hs[-1] = np.copy(hprev)
    loss = 0
    for t in range(len(inputs)):
        xs[t] = np.zeros((vocabulary, 1))
        xs[t][inputs[t]] = 1
        hs[t] = np.tanh(np.dot(Wxh, xs[t]) + np.dot(Whh, hs[t - 1]) + bh)
        ys[t] = np.dot(Why, hs[t]) + by
        ps[t] = np.exp(ys[t]) / np.sum(np.exp(ys[t]))
        loss += -np.log(ps[t][targets[t], 0])
    return loss


def lstm_loss(params, tokens, size):
    """The same with gates, states and caches in one dict by time."""
    W, b, V = params
    state = {"h": np.zeros(size), "c": np.zeros(size)}
    cache = {}
    loss = 0.0
    for t, (now, then) in enumerate(zip(tokens[:-1], tokens[1:])):
        z = W @ np.concatenate([state["h"], V[now]]) + b
        i, f, o, g = np.split(z, 4)
        i, f, o = (1 / (1 + np.exp(-a)) for a in (i, f, o))
        state["c"] = f * state["c"] + i * np.tanh(g)
        state["h"] = o * np.tanh(state["c"])
        cache[t] = dict(state)
        logits = V @ cache[t]["h"]
        loss -= logits[then] - np.log(np.sum(np.exp(logits)))
    return loss / (len(tokens) - 1)


# ---------------------------------------------------- a GPT forward pass
def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    exp_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exp_x / np.sum(exp_x, axis=-1, keepdims=True)


def layer_norm(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def linear(x, w, b):
    return x @ w + b


def ffn(x, c_fc, c_proj):
    return linear(gelu(linear(x, **c_fc)), **c_proj)


def attention(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv = np.split(x, 3, axis=-1)
    qkv_heads = list(map(lambda x: np.split(x, n_head, axis=-1), qkv))
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attention(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    x = linear(np.hstack(out_heads), **c_proj)
    return x


def transformer_block(x, mlp, attn, ln_1, ln_2, n_head):
    x = x + mha(layer_norm(x, **ln_1), **attn, n_head=n_head)
    return x + ffn(layer_norm(x, **ln_2), **mlp)


def gpt2(inputs, wte, wpe, blocks, ln_f, n_head):
    x = wte[inputs] + wpe[range(len(inputs))]
    for block in blocks:
        x = transformer_block(x, **block, n_head=n_head)
    return layer_norm(x, **ln_f) @ wte.T


def lm_loss(params, inputs, n_head):
    x, y = inputs[:-1], inputs[1:]
    logits = gpt2(x, **params, n_head=n_head)
    picked = softmax(logits)[range(len(y)), y]
    return np.mean(-np.log(picked))


def gpt_params(rng, n_embd=4, n_ctx=6, n_vocab=5, n_layer=2):
    def normal(*shape):
        return 0.3 * rng.normal(size=shape)

    def norm():
        return {"g": 1 + normal(n_embd), "b": normal(n_embd)}

    def dense(n, m):
        return {"w": normal(n, m), "b": normal(m)}

    def block():
        return {
            "mlp": {"c_fc": dense(n_embd, 4 * n_embd), "c_proj": dense(4 * n_embd, n_embd)},
            "attn": {"c_attn": dense(n_embd, 3 * n_embd), "c_proj": dense(n_embd, n_embd)},
            "ln_1": norm(),
            "ln_2": norm(),
        }

    return {
        "wte": normal(n_vocab, n_embd),
        "wpe": normal(n_ctx, n_embd),
        "blocks": [block() for _ in range(n_layer)],
        "ln_f": norm(),
    }


# ---------------------------------------------------- layers that remember their input
class Dense:
    def __init__(self, n_in, n_out, rng):
        self.W = rng.normal(size=(n_in, n_out)) / np.sqrt(n_in)
        self.b = np.zeros(n_out)
        self.X = None
        self.calls = 0

    def forward(self, X, retain_derived=True):
        if retain_derived:
            self.X = X
        self.calls += 1
        return X @ self.W + self.b


class Tanh:
    def __init__(self):
        self.out = None

    def forward(self, X):
        self.out = np.tanh(X)
        return self.out


class Network:
    def __init__(self, layers):
        self.layers = layers
        self.history = []

    def forward(self, X):
        out = X
        for layer in self.layers:
            out = layer.forward(out)
        return out

    def loss(self, X, t):
        value = np.mean((self.forward(X) - t) ** 2)
        self.history.append(float(value))
        return value


# ---------------------------------------------------- parameters flattened by recursion
def flatten(tree):
    if isinstance(tree, (list, tuple)):
        flat = []
        for item in tree:
            flat.extend(flatten(item))
        return flat
    return [tree]


def ridge(params, X, t, weight):
    h = X
    for W, b in params[:-1]:
        h = np.tanh(h @ W + b)
    W, b = params[-1]
    penalty = sum(np.sum(p**2) for p in flatten(params))
    return np.mean((h @ W + b - t) ** 2) + weight * penalty


def flat_vector(params):
    return np.concatenate([np.ravel(p) for p in flatten(params)])


def squared_norm(params):
    return np.sum(flat_vector(params) ** 2)


# ---------------------------------------------------- objectives with more arguments
def chi_square(p, *data):
    x, y, sigma = data
    model = p[0] * np.exp(-p[1] * x) + p[2]
    return np.sum(((y - model) / sigma) ** 2)


def negative_log_likelihood(theta, *args, **options):
    y, X = args
    eta = X @ theta
    value = np.sum(np.logaddexp(0, eta) - y * eta)
    if options.get("ridge"):
        value += options["ridge"] * np.dot(theta, theta)
    return value


def discount(rates, years, flows):
    """The value of cash flows on a curve that is held in a dict by year."""
    curve = {}
    df = 1.0
    for year, rate in zip(years, rates):
        df = df / (1.0 + rate)
        curve[year] = df
    return sum(flow * curve[year] for year, flow in flows)
