"""One self-contained HTML page about a run: learning curve, time, health, trajectories."""

from __future__ import annotations

import html
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_ppo.envs.reach import HALF, RADIUS, ReachVectorEnv
from reference_ppo.messages import Text, language
from reference_ppo.timing import STAGES
from reference_ppo.trajectory import Paths, follow

if TYPE_CHECKING:
    from reference_ppo.train import Trainer

Event = dict[str, Any]

TITLE = Text("PPO run on {device}", "PPO 运行：{device}")
RESULT = Text(
    "{steps} steps in {seconds:.1f} s on {device}, {processes} process(es), torch {torch}: return {ret:.2f}, "
    "success {success}. Stopped: {reason}.",
    "在 {device} 上 {steps} 步，用时 {seconds:.1f} 秒，{processes} 个进程，torch {torch}："
    "回报 {ret:.2f}，成功率 {success}。停止原因：{reason}。",
)
NO_ALARM = Text("No health rule fired.", "没有触发任何健康规则。")
HEADINGS = {
    "learning": Text("Learning curve", "学习曲线"),
    "time": Text("Where the time goes", "时间分布"),
    "health": Text("Health signals", "健康信号"),
    "alarms": Text("Alarms", "告警"),
    "trajectory": Text("Trajectories of the trained policy, without noise", "训练后策略的轨迹（无噪声）"),
    "settings": Text("Settings", "设置"),
}
STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "svg{max-width:100%;height:auto}"
)


class Report:
    """Collects events; the page is written when the run ends."""

    def __init__(self, path: Path, trainer: Trainer) -> None:
        import matplotlib  # fail before the run, not after it

        matplotlib.use("svg")
        self.path, self.trainer, self.events, self.lang = path, trainer, list[Event](), language()

    def __call__(self, event: Event) -> None:
        """Remember it."""
        self.events.append(event)

    def close(self) -> None:
        """Write the page next to its final place, then rename."""
        if self.of("update") and self.of("end"):
            temporary = self.path.with_name(f".{self.path.name}.tmp")
            temporary.write_text(self.page(), encoding="utf-8")
            os.replace(temporary, self.path)

    def of(self, kind: str) -> list[Event]:
        """All events of a kind."""
        return [e for e in self.events if e["event"] == kind]

    def say(self, text: Text, **values: Any) -> str:
        """A sentence in the reader's language, escaped."""
        return html.escape(str(getattr(text, self.lang)).format(**values))

    def page(self) -> str:
        """The whole document."""
        start, end = self.of("start")[0], self.of("end")[0]
        success = "-" if end["success_rate"] is None else f"{end['success_rate']:.0%}"
        values = {**start, **end, "ret": end["return"], "success": success}
        parts = [f"<h1>{self.say(TITLE, **values)}</h1><p>{self.say(RESULT, **values)}</p>"]
        for name, body in self.sections().items():
            parts.append(f"<h2>{self.say(HEADINGS[name])}</h2>{body}")
        head = f"<meta charset=utf-8><title>{self.say(TITLE, **values)}</title><style>{STYLE}</style>"
        return f"<!doctype html><html lang={self.lang}>{head}{''.join(parts)}</html>"

    def sections(self) -> dict[str, str]:
        """Bodies by heading."""
        updates = self.of("update")
        settings = html.escape("\n".join(f"{k} = {v}" for k, v in self.of("start")[0]["config"].items()))
        out = {
            "learning": learning_curve(updates, self.of("eval")),
            "time": time_bar(updates),
            "health": health_curves(updates),
            "alarms": self.alarms(),
        }
        trainer = self.trainer
        if isinstance(trainer.groups[0].envs, ReachVectorEnv):
            out["trajectory"] = trajectories(follow(trainer.policy, trainer.normalizer))
        return {**out, "settings": f"<pre>{settings}</pre>"}

    def alarms(self) -> str:
        """The health events as a list."""
        lines = [
            f"<li><b>{html.escape(e['rule'])}</b> ({e['update']}): "
            f"{html.escape(e['what'][self.lang])} {html.escape(e['remedy'][self.lang])}</li>"
            for e in self.of("health")
        ]
        return f"<ul>{''.join(lines)}</ul>" if lines else f"<p>{self.say(NO_ALARM)}</p>"


def svg(figure: Any) -> str:
    """A matplotlib figure as inline SVG."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def figure(columns: int, height: float = 2.8) -> tuple[Any, Any]:
    """Axes side by side, without pyplot's global state."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(9, height), layout="constrained")
    return fig, fig.subplots(1, columns)


def learning_curve(updates: list[Event], evaluations: list[Event]) -> str:
    """Return and success over environment steps."""
    fig, (left, right) = figure(2)
    for axes, key, label in ((left, "return", "return"), (right, "success_rate", "success rate")):
        for events, name in ((updates, "sampling"), (evaluations, "evaluation")):
            known = [(e["steps"], e[key]) for e in events if e[key] is not None]
            if known:
                axes.plot(*zip(*known), label=name, marker="o" if name == "evaluation" else "")
        axes.set_xlabel("environment steps")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    left.legend()
    return svg(fig)


def time_bar(updates: list[Event]) -> str:
    """Microseconds per environment step by stage, as one bar."""
    fig, axes = figure(1, 1.3)
    steps, left = updates[-1]["steps"] - updates[0]["steps"] + updates[0]["steps"] / updates[0]["update"], 0.0
    for stage in (*STAGES, "other"):
        width = 1e6 * sum(e["time"][stage] for e in updates) / steps
        axes.barh([0], [width], left=left, label=f"{stage} {width:.1f}")
        left += width
    axes.set_yticks([])
    axes.set_xlabel("microseconds per environment step")
    axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return svg(fig)


def health_curves(updates: list[Event]) -> str:
    """The signals that the rules watch."""
    fig, all_axes = figure(4, 2.2)
    names = ("approx_kl", "clip_fraction", "entropy", "explained_variance")
    for axes, name in zip(all_axes, names):
        axes.plot([e["steps"] for e in updates], [e["health"][name] for e in updates])
        axes.set_title(name, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    return svg(fig)


def trajectories(paths: Paths) -> str:
    """Paths in the plane with start, target and radius."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    fig = Figure(figsize=(5, 5), layout="constrained")
    axes = fig.subplots()
    for i, target in enumerate(paths.targets):
        x, y = paths.positions[:, i].T
        (line,) = axes.plot(x, y, lw=1.2, ls="-" if paths.success[i] else ":")
        axes.plot(x[0], y[0], "o", ms=4, color=line.get_color())
        axes.add_patch(Circle((target[0], target[1]), RADIUS, alpha=0.3, color=line.get_color()))
    axes.set(xlim=(-HALF, HALF), ylim=(-HALF, HALF), aspect="equal", xlabel="x [m]", ylabel="y [m]")
    return svg(fig)
