"""Encoded images of every kind, made by Pillow's encoders and, for what those can't write, by editing headers or chunk
by chunk. Each function gives the same files every time.
"""

from __future__ import annotations

import io
import struct
import zlib
from functools import cache

import numpy as np
from PIL import Image

SIZES = [(64, 64), (61, 93), (33, 17), (7, 40), (1, 1)]


def picture(height: int, width: int, channels: int = 3) -> np.ndarray:
    """Gradients with noise: every block has detail, and subsampled colour shows."""
    y, x = np.mgrid[0:height, 0:width]
    smooth = np.stack([(x * 3 + y * (c + 1) * 2) % 256 for c in range(channels)], -1)
    noise = np.random.default_rng(height * 1000 + width).integers(0, 80, smooth.shape)
    pixels = np.clip(smooth * 0.7 + noise, 0, 255).astype(np.uint8)
    return pixels[..., 0] if channels == 1 else pixels


def encoded(pixels: np.ndarray, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    if pixels.ndim == 3 and pixels.shape[-1] == 4 and kind == "JPEG":
        height, width, _ = pixels.shape
        image = Image.frombytes("CMYK", (width, height), pixels.tobytes())
    else:
        image = Image.fromarray(pixels)
    image.save(file, kind, **options)
    return file.getvalue()


def with_sampling(jpeg: bytes, horizontal: int, vertical: int) -> bytes:
    """The same blocks under other sampling factors of the first component: another picture, a valid file."""
    at = 2
    while not 0xC0 <= jpeg[at + 1] <= 0xC2:
        at += 2 + struct.unpack(">H", jpeg[at + 2 : at + 4])[0]
    factors = at + 11
    return jpeg[:factors] + bytes([horizontal << 4 | vertical]) + jpeg[factors + 1 :]


@cache
def jpegs() -> dict[str, bytes]:
    files = {}
    for height, width in SIZES:
        size = f"{height}x{width}"
        for subsampling, sampling in enumerate(["4:4:4", "4:2:2", "4:2:0"]):
            for progressive in (False, True):
                for restarts in (0, 1):
                    files[f"{size} {sampling} progressive={progressive} restarts={restarts}"] = encoded(
                        picture(height, width),
                        "JPEG",
                        subsampling=subsampling,
                        progressive=progressive,
                        restart_marker_rows=restarts,
                        quality=85,
                    )
        gray = encoded(picture(height, width, 1), "JPEG")
        files[f"{size} gray"] = gray
        files[f"{size} gray progressive"] = encoded(picture(height, width, 1), "JPEG", progressive=True)
        files[f"{size} gray 2x2"] = with_sampling(gray, 2, 2)
        files[f"{size} RGB"] = encoded(picture(height, width), "JPEG", keep_rgb=True)
        cmyk = encoded(picture(height, width, 4), "JPEG", quality=80)
        adobe = cmyk.index(b"Adobe")
        files[f"{size} CMYK"] = cmyk
        files[f"{size} YCCK"] = cmyk[: adobe + 11] + b"\x02" + cmyk[adobe + 12 :]
        files[f"{size} CMYK without Adobe's marker"] = cmyk[: adobe - 4] + cmyk[adobe + 12 :]
    # Square and of such a size that the number of blocks fits the new sampling as well.
    for n in (64, 128):
        four = encoded(picture(n, n), "JPEG", subsampling=2)
        files[f"{n} 4:1:1"] = with_sampling(four, 4, 1)
        files[f"{n} 1x4"] = with_sampling(four, 1, 4)
        for progressive in (False, True):
            two = encoded(picture(n, n), "JPEG", subsampling=1, progressive=progressive)
            files[f"{n} 4:4:0 progressive={progressive}"] = with_sampling(two, 1, 2)
    return files


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def packed(samples: np.ndarray, depth: int) -> bytes:
    if depth == 16:
        return samples.astype(">u2").tobytes()
    if depth == 8:
        return samples.astype(np.uint8).tobytes()
    bits = np.unpackbits(samples.astype(np.uint8).reshape(-1, 1), axis=1)[:, 8 - depth :]
    return np.packbits(bits.ravel()).tobytes()


def png(
    height: int,
    width: int,
    color: int,
    depth: int,
    *,
    interlaced: bool = False,
    before: bytes = b"",
    behind: bytes = b"",
    piece: int = 1 << 20,
) -> bytes:
    """A PNG of random samples; `before` and `behind` are chunks around its data, in pieces of `piece` bytes."""
    rng = np.random.default_rng(height + width + depth)
    samples = rng.integers(0, 1 << depth, (height, width, CHANNELS[color]))
    raw = b""
    for x, y, dx, dy in PASSES if interlaced else [(0, 0, 1, 1)]:
        part = samples[y::dy, x::dx]
        if part.size:
            raw += b"".join(b"\0" + packed(row, depth) for row in part)
    deflated = zlib.compress(raw)
    out = b"\x89PNG\r\n\x1a\n"
    out += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced)))
    if color == 3:
        entries = max(1, (1 << depth) - 1)  # one index has no entry
        out += chunk(b"PLTE", rng.integers(0, 256, entries * 3).astype(np.uint8).tobytes())
    out += before
    for i in range(0, len(deflated), piece):
        out += chunk(b"IDAT", deflated[i : i + piece])
    return out + behind + chunk(b"IEND", b"")


def transparency(color: int, depth: int) -> bytes:
    """A tRNS chunk for the colour type, where it may have one."""
    if color == 0:
        return chunk(b"tRNS", struct.pack(">H", 1))
    if color == 2:
        return chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3))
    if color == 3:
        return chunk(b"tRNS", bytes(range(max(1, (1 << depth) - 1))))
    return b""


@cache
def pngs() -> dict[str, bytes]:
    depths = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    files = {}
    for height, width in [(1, 1), (5, 3), (17, 33), (40, 9)]:
        for color, of_color in depths.items():
            for depth in of_color:
                for interlaced in (False, True):
                    for trns in {b"", transparency(color, depth)}:
                        name = f"{height}x{width} color={color} depth={depth} interlaced={interlaced}"
                        files[name + (" tRNS" if trns else "")] = png(
                            height, width, color, depth, interlaced=interlaced, before=trns, piece=50
                        )
    # Filters of every kind, as an encoder chooses them.
    files["photographic"] = encoded(picture(70, 90), "PNG")
    files["text behind the data"] = png(17, 33, 2, 8, behind=chunk(b"tEXt", b"Comment\0by the way"))
    return files


@cache
def webps() -> dict[str, bytes]:
    files = {}
    for height, width in [(1, 1), (2, 3), (17, 33), (64, 64), (61, 93), (130, 75)]:
        size = f"{height}x{width}"
        rgb, rgba = picture(height, width), picture(height, width, 4)
        hidden = rgba * np.array([1, 1, 1, 0], np.uint8)
        for quality in (20, 90):
            files[f"{size} lossy {quality}"] = encoded(rgb, "WEBP", quality=quality)
            files[f"{size} lossy alpha {quality}"] = encoded(rgba, "WEBP", quality=quality)
        files[f"{size} lossless"] = encoded(rgb, "WEBP", lossless=True)
        files[f"{size} lossless alpha"] = encoded(rgba, "WEBP", lossless=True, exact=True)
        files[f"{size} transparent"] = encoded(hidden, "WEBP", lossless=True, exact=True)
        files[f"{size} metadata"] = encoded(rgb, "WEBP", exif=b"Exif\0\0II*\0", icc_profile=b"x" * 101)
    return files
