"""The device itself is busy: only now do operators and hardware matter."""

from npudoctor.profile.api import Bound, Fix, Text

BOUND = Bound(
    code="NPU505",
    slug="compute-bound",
    part="compute",
    order=5,
    title=Text(
        "compute-bound: the device works {share} of the time ({count} kernels)",
        "受计算制约：{share} 的时间设备在计算（共 {count} 个算子）",
    ),
    cause=Text(
        "the device is kept fed; all other costs together could at best give {bound}",
        "设备已被喂饱；其余开销全部去掉，速度最多为现在的 {bound}",
    ),
    fixes=(
        Fix(
            Text(
                "look at the top operators by time: a lower precision, fused operators, another layout",
                "查看耗时最多的算子：降低精度、使用融合算子、改变数据排布",
            )
        ),
    ),
    sources=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    count=lambda analysis: analysis.launches,
)
