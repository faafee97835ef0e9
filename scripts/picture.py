"""Write docs/pictures/show.png, the picture in README.md, with headless Chromium.

It shows the page of ``graph.show()`` for a small model. Run ``python scripts/picture.py`` when the page has
changed. It needs torch, JAX and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

import graph_compiler

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "show.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE_SOURCE = "<style>aside { width: 590px }</style><script>document.querySelector('nav button[data-tab=source]').click()</script>"


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (
            nn.Linear(width, width),
            nn.Linear(width, width),
            nn.Linear(width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.query(x) @ self.key(x).mT / x.shape[-1] ** 0.5
        return torch.softmax(scores, -1) @ self.value(x)


class Block(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.attention = Attention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(x)
        return x + self.mlp(x)


def main() -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"none of {', '.join(BROWSERS)} is installed")
    torch.manual_seed(0)
    graph = graph_compiler.transpile(Block().eval(), to="jax", args=(torch.zeros(2, 16, 64),))
    with tempfile.TemporaryDirectory() as folder:
        page = graph.show(Path(folder, "page.html"))
        # A headless browser cannot click, so a script in the page opens the tab with the source.
        page.write_text(page.read_text("utf-8").replace("</body>", f"{WIDE_SOURCE}</body>"), "utf-8")
        options = (
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--virtual-time-budget=4000",
            "--window-size=1180,790",
        )
        subprocess.run(
            [browser, *options, f"--screenshot={PICTURE}", page.as_uri()], check=True, capture_output=True
        )
    print(PICTURE, PICTURE.stat().st_size)


if __name__ == "__main__":
    main()
