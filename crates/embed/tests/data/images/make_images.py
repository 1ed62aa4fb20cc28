#!/usr/bin/env python3
"""Makes small images and recorded.json: what Pillow reads of them, how it changes their size, and what the preprocessor of
CLIP makes of them in numpy.

    python make_images.py          (needs Pillow 10.4 and numpy; the files are committed)

Pillow 13 sometimes makes the rows before the columns, which rounds some bytes otherwise by one.
"""

import json
import os

import numpy as np
from PIL import Image, ImageDraw

HERE = os.path.dirname(os.path.abspath(__file__))
WAYS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float64)
STD = np.array([0.26862954, 0.26130258, 0.27577711], np.float64)


def picture(width, height, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([255 * x / width, 255 * y / height, 127 + 127 * np.sin(x / 3 + y / 5)], -1)
    image = Image.fromarray((base + rng.integers(-20, 20, base.shape)).clip(0, 255).astype(np.uint8))
    ImageDraw.Draw(image).ellipse([width // 4, height // 4, width // 2, height // 2], fill=(250, 20, 30))
    return image


def files():
    colours = picture(37, 23, 1)
    colours.save("colours.png")
    colours.convert("L").save("grey.png")
    colours.quantize(16).save("palette.png")
    alpha = colours.convert("RGBA")
    alpha.putalpha(Image.linear_gradient("L").resize(colours.size))
    alpha.save("alpha.png")
    picture(19, 31, 2).save("tall.png")
    picture(40, 24, 3).save("photo.jpg", quality=92, subsampling=0)
    picture(40, 24, 3).convert("L").save("grey.jpg", quality=92)
    return ["colours.png", "grey.png", "palette.png", "alpha.png", "tall.png", "photo.jpg", "grey.jpg"]


def read(name):
    return Image.open(name).convert("RGB")


def prepared(name, shorter, crop):
    """As CLIPImageProcessor: the shorter side, bicubic; the middle, in black where there is less; numbers."""
    image = read(name)
    width, height = image.size
    if width <= height:
        size = (shorter, int(shorter * height / width))
    else:
        size = (int(shorter * width / height), shorter)
    pixels = np.asarray(image.resize(size, Image.BICUBIC))
    whole = np.zeros((crop, crop, 3), np.uint8)
    def axis(size):
        if crop <= size:
            return slice((size - crop) // 2, (size - crop) // 2 + crop), slice(0, crop)
        before = -((size - crop) // 2)
        return slice(0, size), slice(before, before + size)
    (from_y, to_y), (from_x, to_x) = axis(pixels.shape[0]), axis(pixels.shape[1])
    whole[to_y, to_x] = pixels[from_y, from_x]
    numbers = ((whole / 255.0 - MEAN) / STD).astype(np.float32).transpose(2, 0, 1)
    return [float(f"{n:.8g}") for n in numbers.ravel().tolist()]


def main():
    os.chdir(HERE)
    names = files()
    decoded = [{"file": n, "width": read(n).width, "height": read(n).height, "bytes": read(n).tobytes().hex()} for n in names]
    resized = []
    for name in ["colours.png", "tall.png"]:
        for way, by in WAYS.items():
            for width, height in [(11, 7), (50, 40), (37, 9), (5, 60)]:
                made = read(name).resize((width, height), by)
                resized.append({"file": name, "resample": way, "width": width, "height": height, "bytes": made.tobytes().hex()})
    cases = [("colours.png", 16, 12), ("tall.png", 14, 14), ("tall.png", 9, 13), ("colours.png", 10, 17)]
    ready = [{"file": n, "shorter": s, "crop": c, "numbers": prepared(n, s, c)} for n, s, c in cases]
    with open("recorded.json", "w") as file:
        json.dump({"decoded": decoded, "resized": resized, "prepared": ready}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
