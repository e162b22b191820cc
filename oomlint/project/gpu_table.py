"""The GPUs that oomlint knows: what the card has, what TensorFlow gets of it, and how that is known.

One row a card: kind; name; MiB that the driver shows as the card's total; compute capability; MiB of the pool that
TensorFlow took, lowest and highest seen on machines where nothing else used the card ("Created device
/job:localhost/... with N MB memory" in published logs and notebooks, TensorFlow 2.4 and newer where there were any);
where the total is from. A row without a pool has no such log: `gpus.py` works it out.

Totals: `smi`: the right-hand number of nvidia-smi's Memory-Usage in published listings. `xla`: device_memory_size in
openxla/xla, xla/backends/gpu/target_config/specs/. `label`: NVIDIA's data sheet says that many GB and no listing was
found; the driver shows a little less, which the allowance for pools without a log covers.
Compute capabilities: NVIDIA's table at developer.nvidia.com/cuda-gpus.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["data centre", "workstation", "GeForce"]
TotalFrom = Literal["smi", "xla", "label"]


class Row(NamedTuple):
    """A card."""

    kind: Kind
    name: str
    total: int
    capability: tuple[int, int]
    pool: tuple[int, int] | None
    total_from: TotalFrom


ROWS = (
    Row("data centre", "K80", 11_441, (3, 7), (10_762, 10_805), "smi"),  # one of its two dies
    Row("data centre", "P4", 7_611, (6, 1), (6_968, 7_131), "smi"),
    Row("data centre", "P40", 24_576, (6, 1), None, "label"),
    Row("data centre", "P100", 16_276, (6, 0), (15_123, 15_511), "xla"),
    Row("data centre", "V100-16GB", 16_151, (7, 0), (14_684, 15_024), "xla"),
    Row("data centre", "V100-32GB", 32_510, (7, 0), (30_976, 31_134), "smi"),
    Row("data centre", "T4", 15_360, (7, 5), (13_584, 13_840), "smi"),
    Row("data centre", "A2", 15_356, (8, 6), None, "smi"),
    Row("data centre", "A10", 23_028, (8, 6), None, "smi"),
    Row("data centre", "A10G", 23_028, (8, 6), None, "smi"),
    Row("data centre", "A16", 15_356, (8, 6), None, "smi"),  # one of its four GPUs
    Row("data centre", "A30", 24_060, (8, 0), None, "smi"),
    Row("data centre", "A40", 46_068, (8, 6), None, "smi"),
    Row("data centre", "A100-40GB", 40_370, (8, 0), (38_068, 38_482), "xla"),
    Row("data centre", "A100-80GB", 81_920, (8, 0), (78_945, 79_261), "smi"),
    Row("data centre", "L4", 23_034, (8, 9), (20_549, 20_967), "smi"),
    Row("data centre", "L40", 46_068, (8, 9), None, "smi"),
    Row("data centre", "L40S", 46_068, (8, 9), None, "smi"),
    Row("data centre", "H20", 97_871, (9, 0), None, "smi"),
    Row("data centre", "H100-80GB", 81_559, (9, 0), (78_763, 78_763), "smi"),
    Row("data centre", "H100-NVL", 95_830, (9, 0), None, "smi"),
    Row("data centre", "H200", 143_771, (9, 0), (138_533, 138_533), "smi"),
    Row("data centre", "GH200", 97_871, (9, 0), None, "smi"),  # the GPU's own 96 GB, not Grace's memory
    Row("data centre", "B200", 182_642, (10, 0), None, "xla"),
    Row("data centre", "GB200", 188_730, (10, 0), None, "xla"),
    Row("data centre", "B300", 283_262, (10, 3), None, "xla"),
    Row("workstation", "Quadro-RTX-6000", 24_576, (7, 5), (22_807, 22_807), "label"),
    Row("workstation", "Quadro-RTX-8000", 49_152, (7, 5), (47_168, 47_168), "label"),
    Row("workstation", "TITAN-Xp", 12_196, (6, 1), None, "smi"),
    Row("workstation", "TITAN-V", 12_066, (7, 0), None, "smi"),
    Row("workstation", "TITAN-RTX", 24_576, (7, 5), (22_434, 22_807), "smi"),
    Row("workstation", "RTX-A2000-12GB", 12_282, (8, 6), None, "smi"),
    Row("workstation", "A4000", 16_376, (8, 6), None, "smi"),
    Row("workstation", "A5000", 24_564, (8, 6), (22_233, 22_495), "smi"),
    Row("workstation", "A6000", 49_140, (8, 6), (46_673, 46_874), "smi"),
    Row("workstation", "RTX-4000-Ada", 20_475, (8, 9), None, "smi"),
    Row("workstation", "RTX-6000-Ada", 49_140, (8, 9), None, "smi"),
    Row("workstation", "RTX-PRO-6000", 97_887, (12, 0), None, "smi"),
    Row("GeForce", "GTX-1060", 6_078, (6, 1), (4_714, 5_250), "smi"),
    Row("GeForce", "GTX-1070", 8_119, (6, 1), None, "smi"),
    Row("GeForce", "GTX-1080", 8_119, (6, 1), (6_952, 7_398), "smi"),
    Row("GeForce", "GTX-1080-Ti", 11_264, (6, 1), (10_044, 10_481), "smi"),
    Row("GeForce", "GTX-1660-Ti", 6_144, (7, 5), (3_919, 3_971), "label"),
    Row("GeForce", "RTX-2060", 6_144, (7, 5), (3_961, 4_047), "label"),
    Row("GeForce", "RTX-2070", 8_192, (7, 5), (6_678, 6_678), "label"),
    Row("GeForce", "RTX-2080", 8_192, (7, 5), (6_265, 6_876), "label"),
    Row("GeForce", "RTX-2080-Ti", 11_264, (7, 5), (9_648, 9_697), "smi"),
    Row("GeForce", "RTX-3050", 8_192, (8, 6), None, "label"),
    Row("GeForce", "RTX-3060", 12_288, (8, 6), (9_491, 9_709), "smi"),
    Row("GeForce", "RTX-3070", 8_192, (8, 6), (5_468, 5_578), "label"),
    Row("GeForce", "RTX-3080", 10_240, (8, 6), (7_443, 8_529), "label"),
    Row("GeForce", "RTX-3080-Ti", 12_288, (8, 6), (9_298, 9_440), "smi"),
    Row("GeForce", "RTX-3090", 24_576, (8, 6), (21_342, 22_455), "smi"),
    Row("GeForce", "RTX-4060", 8_188, (8, 9), (5_814, 5_814), "smi"),
    Row("GeForce", "RTX-4060-Ti-16GB", 16_380, (8, 9), None, "smi"),
    Row("GeForce", "RTX-4070", 12_282, (8, 9), None, "smi"),
    Row("GeForce", "RTX-4070-Ti", 12_282, (8, 9), None, "smi"),
    Row("GeForce", "RTX-4080", 16_376, (8, 9), (13_508, 13_512), "smi"),
    Row("GeForce", "RTX-4090", 24_564, (8, 9), (21_286, 22_288), "smi"),
    Row("GeForce", "RTX-5070", 12_227, (12, 0), None, "smi"),
    Row("GeForce", "RTX-5070-Ti", 16_303, (12, 0), None, "smi"),
    Row("GeForce", "RTX-5080", 16_303, (12, 0), None, "smi"),
    Row("GeForce", "RTX-5090", 32_607, (12, 0), (29_177, 29_177), "smi"),
)

# Other names for a row; a name that several cards share means the smaller.
ALSO = {
    "V100": "V100-16GB",
    "A100": "A100-40GB",
    "H100": "H100-80GB",
    "H100-PCIE": "H100-80GB",
    "P100-16GB": "P100",
    "GTX-1060-6GB": "GTX-1060",
    "RTX-2070-SUPER": "RTX-2070",
    "RTX-2080-SUPER": "RTX-2080",
    "RTX-3060-12GB": "RTX-3060",
    "RTX-3070-Ti": "RTX-3070",
    "RTX-4060-Ti": "RTX-4060",
    "RTX-4070-SUPER": "RTX-4070",
    "RTX-4070-Ti-SUPER": "RTX-4080",
    "RTX-4080-SUPER": "RTX-4080",
    "A2000": "RTX-A2000-12GB",
    "RTX-6000-Ada-Generation": "RTX-6000-Ada",
    "RTX-4000-Ada-Generation": "RTX-4000-Ada",
    "RTX-PRO-6000-Blackwell": "RTX-PRO-6000",
    "GH200-480GB": "GH200",
    "GH200-120GB": "GH200",
}
