#!/usr/bin/env python3
"""Alert rules and dashboard against promtool and against what the program exports.

usage: prometheus_files.py CHECK --packaging DIR --publisher PROGRAM

rules       promtool's own tests of the alert rules, and that each alert has one
exposition  promtool's lint of a scrape: names, units, HELP
names       every metric, label and value that rules or dashboard name is exported
dashboard   valid JSON whose expressions are PromQL, none without a panel's place
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
# What Grafana puts in; a series of any host stands for the variable.
VARIABLES = {"$__rate_interval": "5m", "$__range": "1h", "$instance": ".*"}
# Of Prometheus, not of the program.
TARGET_LABELS = {"job", "instance"}


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def panels(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def dashboard_of(packaging):
    return json.loads((packaging / "grafana/picchio-dashboard.json").read_text())


def dashboard_expressions(packaging):
    out = []
    for panel in panels(dashboard_of(packaging)):
        for target in panel.get("targets", []):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            out.append((panel["title"], expression))
    return out


def rule_expressions(packaging):
    """promtool knows the rules' grammar; the lines of expressions are all that is wanted here."""
    text = (packaging / "prometheus/picchio-alerts.yml").read_text()
    found = re.findall(r"- alert: (\w+)\n\s+expr: (.*(?:\n {10,}.*)*)", text)
    if len(found) != text.count("- alert: "):
        sys.exit(f"{text.count('- alert: ')} alerts, the expressions of {len(found)} were found")
    return found


def check_rules(options):
    code, said = promtool("check", "rules", str(options.packaging / "prometheus/picchio-alerts.yml"))
    if code:
        sys.exit(said)
    tests = options.packaging / "prometheus/picchio-alerts.test.yml"
    code, said = promtool("test", "rules", str(tests))
    if code:
        sys.exit(said)
    text = tests.read_text()
    for alert, _ in rule_expressions(options.packaging):
        fires = re.search(rf"alertname: {alert}\n\s+exp_alerts:\n", text)
        silent = re.search(rf"alertname: {alert}, exp_alerts: \[\]", text)
        if not fires or not silent:
            sys.exit(f"{alert}: no test in which it {'is silent' if fires else 'fires'}")
    page = (options.packaging.parent / "docs/fleet.md").read_text()
    told = set(re.findall(r"`(Picchio\w+)`", page))
    if told != (alerts := {alert for alert, _ in rule_expressions(options.packaging)}):
        sys.exit(f"docs/fleet.md and the rules differ in {', '.join(sorted(told ^ alerts))}")


def exposition(publisher, word):
    return subprocess.run([publisher, "--text", word], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=True).stdout


def check_exposition(options):
    for word in ("healthy", "fallen", "lost"):
        code, said = promtool("check", "metrics", text=exposition(options.publisher, word))
        if code or said.strip():
            sys.exit(f"{word}: {said}")


def exported(publisher):
    lines = subprocess.run([publisher, "--names"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=60, check=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    return {name: {label.strip() for label in labels.split(",") if label.strip()} for name, _, labels in rows}


def check_names(options):
    known = exported(options.publisher)
    values = {word: exposition(options.publisher, word) for word in ("healthy", "lost")}
    whole = "".join(values.values())
    seen = set()
    for where, expression in dashboard_expressions(options.packaging) + rule_expressions(options.packaging):
        for name, selector in re.findall(r"\b(picchio_\w+)(?:\{([^}]*)\})?", expression):
            if name not in known:
                sys.exit(f"{where}: '{name}' is not exported")
            seen.add(name)
            for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', selector):
                if label not in known[name] | TARGET_LABELS:
                    sys.exit(f"{where}: '{name}' has no label '{label}'")
                words = value.split("|") if operator in ("=", "=~") and label not in TARGET_LABELS else []
                for word in words:
                    if f'{label}="{word}"' not in whole:
                        sys.exit(f"{where}: '{label}' of '{name}' is never '{word}'")
    # Those of what is not of the moment: a metric that nobody looks at is worth a thought.
    unseen = set(known) - seen - {"picchio_build_info", "picchio_baseline_probes", "picchio_baseline_spread_ratio",
                                  "picchio_probe_contended", "picchio_probe_duration_seconds"}
    if unseen:
        sys.exit(f"neither in an alert nor in the dashboard: {', '.join(sorted(unseen))}")


def check_dashboard(options):
    found = dashboard_expressions(options.packaging)
    if len(found) < 20:
        sys.exit(f"only {len(found)} expressions were found")
    rules = [{"record": f"panel:{i}", "expr": expression} for i, (_, expression) in enumerate(found)]
    with tempfile.TemporaryDirectory() as folder:
        # JSON is YAML.
        path = pathlib.Path(folder) / "panels.yml"
        path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
        code, said = promtool("check", "rules", str(path))
        if code:
            sys.exit(said)
        # A check that finds nothing wrong with anything would be none.
        path.write_text(json.dumps({"groups": [{"name": "g", "rules": [{"record": "a", "expr": "sum by (("}]}]}))
        if promtool("check", "rules", str(path))[0] == 0:
            sys.exit("promtool accepts what is no PromQL")
    taken = {}
    for panel in panels(dashboard_of(options.packaging)):
        box = panel["gridPos"]
        for x in range(box["x"], box["x"] + box["w"]):
            for y in range(box["y"], box["y"] + box["h"]):
                if x >= 24 or taken.setdefault((x, y), panel["title"]) != panel["title"]:
                    sys.exit(f"'{panel['title']}' lies on '{taken.get((x, y), 'the margin')}'")
    identities = [panel["id"] for panel in panels(dashboard_of(options.packaging))]
    if len(set(identities)) != len(identities):
        sys.exit("two panels have one id")


def main():
    checks = {"rules": check_rules, "exposition": check_exposition, "names": check_names,
              "dashboard": check_dashboard}
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=checks)
    parser.add_argument("--packaging", type=pathlib.Path, required=True)
    parser.add_argument("--publisher", required=True)
    options = parser.parse_args()
    if options.check != "names" and not shutil.which("promtool"):
        print("skipped: no promtool here (Debian's package prometheus)")
        return SKIP
    checks[options.check](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
