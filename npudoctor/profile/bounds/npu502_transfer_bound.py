"""The device waits for copies between host and device."""

from npudoctor.profile.api import Bound, Fix, Text

BOUND = Bound(
    code="NPU502",
    slug="transfer-bound",
    part="transfer",
    order=2,
    title=Text(
        "transfer-bound: {share} of the time goes to copies between host and device ({count} copies)",
        "受传输制约：{share} 的时间花在主机与设备间的拷贝上（共 {count} 次）",
    ),
    cause=Text(
        "small copies cost their latency each, whatever their size; without this time the run is at most "
        "{bound} as fast",
        "小块拷贝每次都要付出固定延迟，与大小无关；若去掉这部分时间，运行速度最多为现在的 {bound}",
    ),
    fixes=(
        Fix(
            Text(
                "keep the rollout buffer in host memory and move one batch per update, "
                "not one tensor per step",
                "将 rollout 缓冲区放在主机内存，每次更新只搬运一个批次，而不是每步搬运一个张量",
            )
        ),
        Fix(
            Text(
                "pack what goes the same way into one array before the copy; pin it for non_blocking copies",
                "将同方向的数据打包成一个数组再拷贝；使用 non_blocking 时先锁页",
            )
        ),
    ),
    sources=("https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers",),
    count=lambda analysis: analysis.copies,
)
