"""The device waits for the environment."""

from npudoctor.profile.api import Bound, Fix, Text

BOUND = Bound(
    code="NPU501",
    slug="env-bound",
    part="env",
    order=1,
    title=Text(
        "env-bound: {share} of the time goes to the environment's step",
        "受环境制约：{share} 的时间花在环境步进上",
    ),
    cause=Text(
        "the host steps the environment while the device stands idle; without this time the run is at "
        "most {bound} as fast",
        "主机步进环境时设备空闲；若去掉这部分时间，运行速度最多为现在的 {bound}",
    ),
    fixes=(
        Fix(
            Text(
                "step many environments per inference (a vector environment written in numpy, or processes), "
                "so that one batch amortises the step",
                "每次推理步进多个环境（用 numpy 向量化环境或多进程），以一个批次摊薄步进开销",
            )
        ),
        Fix(
            Text(
                "let half of the environments step while the device works for the other half",
                "让一半环境步进的同时由设备处理另一半环境",
            )
        ),
    ),
    sources=("https://gymnasium.farama.org/api/vector/",),
    count=lambda analysis: 0,
)
