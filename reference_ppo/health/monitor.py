"""Apply the rules after every update."""

from __future__ import annotations

from typing import Any

from reference_ppo.config import Config
from reference_ppo.envs.make import Spec
from reference_ppo.health.history import History
from reference_ppo.health.rules import RULES, Rule

Event = dict[str, Any]


class Monitor:
    """Turns `update` events into `health` events; each rule speaks once per run."""

    def __init__(self, config: Config, spec: Spec) -> None:
        self.history = History(config, spec)
        self.fired: dict[str, str] = {}  # rule -> severity

    def __call__(self, update: Event) -> list[Event]:
        """The `health` events that this update causes."""
        self.history.events.append(update)
        alarms = []
        for rule in RULES:
            values = None if rule.name in self.fired else rule.fires(self.history)
            if values is not None:
                self.fired[rule.name] = rule.severity
                alarms.append(alarm(rule, update["update"], values))
        return alarms


def alarm(rule: Rule, update: int, values: dict[str, Any]) -> Event:
    """The `health` event of a rule that fired."""
    return {
        "event": "health",
        "update": update,
        "rule": rule.name,
        "severity": rule.severity,
        "values": values,
        "what": rule.what.both(values),
        "remedy": rule.remedy.both(values),
    }
