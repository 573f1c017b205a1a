"""The host waits for the device, then the device waits for the host."""

from npudoctor.profile.api import Bound, Fix, Text

BOUND = Bound(
    code="NPU503",
    slug="sync-bound",
    part="sync",
    order=3,
    title=Text(
        "sync-bound: {share} of the time is lost around {count} host-device syncs",
        "受同步制约：{share} 的时间损失在 {count} 次主机-设备同步前后",
    ),
    cause=Text(
        "each read of a device value drains the queue, and the device idles until the host has launched "
        "the next kernel; without this time the run is at most {bound} as fast",
        "每次读取设备上的值都会排空任务队列，设备一直空闲到主机下发下一个算子；若去掉这部分时间，"
        "运行速度最多为现在的 {bound}",
    ),
    fixes=(
        Fix(
            Text(
                "take the reads out of the loop: collect device scalars and read them once after it",
                "将读取移出循环：先收集设备标量，循环结束后一次读出",
            ),
            commands=("npudoctor migrate --diff .",),
        ),
        Fix(
            Text(
                "switch the argument validation of torch.distributions off once the code is trusted",
                "确认代码可信后关闭 torch.distributions 的参数校验",
            )
        ),
    ),
    sources=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    count=lambda analysis: analysis.sync_count,
)
