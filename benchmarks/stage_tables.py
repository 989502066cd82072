"""The Markdown tables of stages.py's JSON."""

from __future__ import annotations

from statistics import mean


def tables(result: dict) -> str:
    return "\n\n".join(
        [
            _stages(result["photographs"]),
            _costs("image, megapixels", result["by_megapixels"]),
            _costs("crop's share of the image", result["by_share"]),
            _conditions(result),
        ]
    )


def _average(images: list[dict]) -> dict[str, float]:
    return {key: mean(image[key] for image in images) for key in images[0]}


def _parts(image: dict[str, float]) -> dict[str, float]:
    """Microseconds by stage. Each is measured apart, so they add up to the whole but for noise and caches."""
    return {
        "read": image["read"],
        "decode": image["decode"],
        "resize": image["resize"],
        "normalise, store as float32": image["transform"] - image["resize"],
    }


def _stages(images: list[dict]) -> str:
    average = _average(images)
    whole = average["read"] + average["all"]
    lines = ["| stage | µs an image | share |", "|---|---:|---:|"]
    lines += [f"| {name} | {us:.0f} | {us / whole:.0%} |" for name, us in _parts(average).items()]
    lines.append(f"| all | {whole:.0f} | 100% |")
    for name, key in (
        ("reading just the coefficients, down to the crops' last rows", "entropy"),
        ("decoding just the crops: the floor", "floor"),
        ("decoding the whole images", "full"),
    ):
        lines.append(f"| libjpeg-turbo {name} | {average[key]:.0f} | {average[key] / whole:.0%} |")
    return "\n".join(lines)


def _costs(what: str, by_value: dict[str, list[dict]]) -> str:
    lines = [
        f"| {what} | read | decode | resize | normalise | all, µs | floor | ours / floor | full decode | images/s |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for value, images in by_value.items():
        a = _average(images)
        whole = a["read"] + a["all"]
        numbers = (a["read"], a["decode"], a["resize"], a["transform"] - a["resize"], whole, a["floor"])
        cells = [f"{number:.0f}" for number in numbers]
        cells += [f"{a['decode'] / a['floor']:.2f}", f"{a['full']:.0f}", f"{1e6 / whole:.0f}"]
        lines.append(f"| {value} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _conditions(result: dict) -> str:
    machine, a = result["machine"], _average(result["photographs"])
    photographs = result["photographs"]
    return (
        f"Measured on {result['date']}: {machine['cpu']}, {machine['architecture']}, Linux {machine['kernel']}; "
        f"one thread, CPU time, the least of {result['repeats']} repeats, {result['crops']} random crops an image. "
        f"{len(photographs)} photographs of {a['height'] * a['width'] / 1e6:.2f} megapixels and "
        f"{a['bytes'] / 1000:.0f} kB on average; crops as RandomResizedCrop draws them ({a['share']:.0%} of the image "
        "on average), but where the table says another share. The sizes are photographs resized by Pillow: above "
        "their own size they are smoother than a camera's, and cheaper to decode. “ours / floor” is the "
        "core's decoding of the crop against libjpeg-turbo's of the same crop, which lacks the margin that exactness "
        "needs."
    )
