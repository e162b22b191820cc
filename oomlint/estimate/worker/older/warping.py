"""An image moved by a flow, as `tensorflow_addons.image.dense_image_warp` did: each pixel from between four others.

Written anew from what that says it does: `image[b, y - flow[b, y, x, 0], x - flow[b, y, x, 1]]`, bilinearly. Kept are
the four neighbours of every pixel, their places and the two weights.
"""

from __future__ import annotations

from typing import Any


def dense_image_warp(image: Any, flow: Any, name: str | None = None) -> Any:
    """`image` (batch, height, width, channels) and `flow` (batch, height, width, 2): an image of the same shape."""
    import tensorflow as tf

    image = tf.convert_to_tensor(image)
    flow = tf.cast(flow, tf.float32)
    sizes = tf.shape(image)
    batch, height, width = sizes[0], sizes[1], sizes[2]
    rows, columns = tf.meshgrid(tf.range(height), tf.range(width), indexing="ij")
    places = tf.cast(tf.stack([rows, columns], axis=-1), tf.float32)[None] - flow
    low, share = [], []
    for axis, size in enumerate((height, width)):
        last = tf.cast(size - 2, tf.float32)
        begin = tf.clip_by_value(tf.floor(places[..., axis]), 0.0, last)
        low.append(tf.cast(begin, tf.int32))
        share.append(tf.cast(tf.clip_by_value(places[..., axis] - begin, 0.0, 1.0), image.dtype)[..., None])
    pixels = tf.reshape(image, [batch * height * width, sizes[3]])
    start = (tf.range(batch) * height * width)[:, None, None]

    def neighbour(down: int, right: int) -> Any:
        return tf.gather(pixels, start + (low[0] + down) * width + low[1] + right)

    corners = [[neighbour(down, right) for right in (0, 1)] for down in (0, 1)]
    upper, lower = (share[1] * (right - left) + left for left, right in corners)
    moved = share[0] * (lower - upper) + upper
    moved.set_shape(image.shape)
    return moved
