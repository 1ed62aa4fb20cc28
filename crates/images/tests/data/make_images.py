#!/usr/bin/env python3
"""Makes small images of every format, and beside each what Pillow's convert("RGB") reads of it (`.rgb`, the bytes of the pixels).

    python make_images.py          (needs Pillow 13.0 with libjpeg-turbo and OpenJPEG, and numpy; the files are committed)
"""

import os

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))


def picture(width, height, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([255 * x / width, 255 * y / height, 127 + 127 * np.sin(x / 3 + y / 5)], -1)
    image = (base + rng.integers(-20, 20, base.shape)).clip(0, 255).astype(np.uint8)
    image[height // 4 : height // 2, width // 4 : width // 2] = [250, 20, 30]
    return Image.fromarray(image)


def main():
    os.chdir(HERE)
    small, wide = picture(19, 13, 1), picture(37, 23, 2)
    grey, cells = wide.convert("L"), wide.quantize(16)
    alpha = wide.convert("RGBA")
    alpha.putalpha(Image.linear_gradient("L").resize(wide.size))
    dots = grey.convert("1")
    plain = "P3\n# two rows\n2 2 15\n0 5 15 1 2 3\n15 15 15 0 0 0\n"
    files = {
        "rgb.bmp": (wide, {}), "grey.bmp": (grey, {}), "palette.bmp": (cells, {}), "dots.bmp": (dots, {}),
        "rgb.png": (wide, {}), "grey.png": (grey, {}), "alpha.png": (alpha, {}), "palette.png": (cells, {}),
        "rgb.ppm": (wide, {}), "grey.pgm": (grey, {}), "dots.pbm": (dots, {}),
        "rgb.tif": (wide, {}), "grey.tif": (grey, {}), "alpha.tif": (alpha, {}), "lzw.tif": (wide, {"compression": "tiff_lzw"}),
        "deflate.tif": (wide, {"compression": "tiff_adobe_deflate"}), "packbits.tif": (wide, {"compression": "packbits"}),
        "lossy.webp": (wide, {"quality": 80}), "lossless.webp": (wide, {"lossless": True}), "alpha.webp": (alpha, {"quality": 80}),
        "rgb.jp2": (wide, {"irreversible": False}), "grey.jp2": (grey, {}), "alpha.jp2": (alpha, {}), "stream.j2k": (wide, {}),
        "tiles.jp2": (wide, {"tile_size": (16, 16), "precinct_size": (16, 16), "codeblock_size": (8, 8)}),
        "444.jpg": (wide, {"quality": 92, "subsampling": 0}), "422.jpg": (wide, {"quality": 80, "subsampling": 1}),
        "420.jpg": (wide, {"quality": 75, "subsampling": 2}), "411.jpg": (wide, {"quality": 75, "subsampling": "4:1:1"}),
        "small.jpg": (small, {"quality": 60}), "grey.jpg": (grey, {"quality": 85}), "exact.jpg": (wide, {"quality": 100}),
        "coarse.jpg": (wide, {"quality": 3}), "tables.jpg": (wide, {"quality": 75, "optimize": True}),
        "progressive.jpg": (wide, {"quality": 80, "progressive": True}),
        "progressive_444.jpg": (wide, {"quality": 95, "progressive": True, "subsampling": 0}),
        "progressive_grey.jpg": (grey, {"quality": 80, "progressive": True}),
        "restart.jpg": (wide, {"quality": 75, "restart_marker_blocks": 2}),
        "restart_progressive.jpg": (wide, {"quality": 75, "progressive": True, "restart_marker_rows": 1}),
        "rgb.jpg": (wide, {"quality": 85, "keep_rgb": True}), "cmyk.jpg": (wide.convert("CMYK"), {"quality": 85}),
        "dot.jpg": (wide.crop((0, 0, 1, 1)), {}), "two.jpg": (wide.crop((3, 2, 5, 5)), {}), "four.jpg": (wide.crop((3, 2, 7, 5)), {}),
        "eight.jpg": (wide.crop((3, 2, 11, 10)), {}), "sixteen.jpg": (wide.crop((3, 2, 19, 18)), {}),
    }
    for name, (image, options) in files.items():
        image.save(name, **options)
    with open("plain.ppm", "w") as file:
        file.write(plain)
    for name in [*files, "plain.ppm"]:
        image = Image.open(name).convert("RGB")
        with open(f"{name}.rgb", "wb") as file:
            file.write(image.width.to_bytes(4, "little") + image.height.to_bytes(4, "little") + image.tobytes())


if __name__ == "__main__":
    main()
