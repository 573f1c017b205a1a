"""The host cannot launch kernels as fast as the device finishes them."""

from npudoctor.profile.api import Bound, Fix, Text

BOUND = Bound(
    code="NPU504",
    slug="launch-bound",
    part="launch",
    order=4,
    title=Text(
        "launch-bound: {share} of the time the device waits for the next of {count} launches",
        "受下发制约：{share} 的时间里设备在等待下发（共 {count} 次下发）",
    ),
    cause=Text(
        "many small kernels: the gaps between them, not the kernels, take the time. This is the structure "
        "of the code and not weak hardware; without the gaps the run is at most {bound} as fast",
        "算子又多又小：耗时的是算子之间的空隙而不是算子本身。这是代码结构的问题，并非硬件不足；"
        "若去掉空隙，运行速度最多为现在的 {bound}",
    ),
    fixes=(
        Fix(
            Text(
                "fuse: a fused or foreach optimiser, parameters in one flat tensor, a compiled update step",
                "融合：使用 fused 或 foreach 优化器、将参数放入一个扁平张量、编译更新步骤",
            )
        ),
        Fix(
            Text(
                "enlarge the batch: more environments per inference, larger minibatches",
                "增大批次：每次推理使用更多环境、更大的 minibatch",
            )
        ),
    ),
    sources=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    count=lambda analysis: analysis.launches,
)
