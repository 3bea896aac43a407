"""The networks and what became of them, as Markdown."""

import json
import os
import re

import onnx

from network import TABLE


def shown(share):
    return f"{share:.0e}" if share else "0"


def row(network, folder, outcome):
    model = onnx.load(os.path.join(folder, "model.onnx"), load_external_data=False)
    with open(os.path.join(folder, "about.json")) as f:
        about = json.load(f)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.startswith("model.onnx"))
    verdict = "agrees" if outcome["passed"] else "**differs**"
    if "threshold" in network.tolerance:
        verdict = "decides alike" if outcome["passed"] else "**decides otherwise**"
        verdict += (
            f" in {about['sets']} cases ({network.why}; {shown(about['weights_move'])} for the last bits of weights)"
        )
    elif network.tolerance:
        verdict += f" (atol {network.tolerance['atol']:g}: {network.why}; {shown(about['weights_move'])} for the last bits of weights)"
    source = network.source.split(":")[0]
    cells = [
        network.name,
        network.what,
        source,
        opset,
        f"{size / 1e6:.1f}",
        verdict,
        shown(outcome["error"]),
        shown(about["ort_moves"]),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def families(networks, folder, outcomes):
    """A row for each family: its networks, the largest error, and how far ONNX Runtime moves at most."""
    text = "\n| made | networks | from | verdict | error | ORT moves |\n|---|---|---|---|---|---|\n"
    for family in dict.fromkeys(n.family for n in networks):
        members = [n for n in networks if n.family == family]
        moves = []
        for n in members:
            with open(os.path.join(folder, n.name, "about.json")) as f:
                moves.append(json.load(f)["ort_moves"])
        passed = [outcomes[n.name]["passed"] for n in members]
        verdict = f"{sum(passed)} agree" + f", **{len(passed) - sum(passed)} differ**" * (not all(passed))
        loose = {f"{n.name} atol {n.tolerance['atol']:g}: {n.why}" for n in members if n.tolerance}
        if len(loose) == len(members) > 1:
            loose = {f"atol {members[0].tolerance['atol']:g}: {members[0].why}"}
        verdict += f" ({'; '.join(sorted(loose))})" * bool(loose)
        names = ", ".join(f"{n.name} ({n.what})" for n in members)
        error = max(outcomes[n.name]["error"] for n in members)
        sources = ", ".join(dict.fromkeys(n.source for n in members))
        text += f"| {family} | {names} | {sources} | {verdict} | {shown(error)} | {shown(max(moves))} |\n"
    return text


def markdown(folder, outcomes):
    with open(outcomes) as f:
        outcomes = {c["name"]: c for c in json.load(f)["cases"]}
    there = [n for n in TABLE.values() if n.name in outcomes]
    text, trained, made = "", [n for n in there if n.group == "trained"], [n for n in there if n.group == "made"]
    if trained:
        rows = [row(n, os.path.join(folder, n.name), outcomes[n.name]) for n in trained]
        text += "\n| trained | what | from | opset | MB | verdict | error | ORT moves |\n|---|---|---|---|---|---|---|---|\n"
        text += "\n".join(rows) + "\n"
    return text + families(made, folder, outcomes) if made else text


def insert(path, text):
    with open(path) as f:
        old = f.read()
    block = re.compile(r"(<!-- networks -->\n).*?(<!-- end -->)", re.S)
    new, n = block.subn(lambda m: m[1] + text + "\n" + m[2], old)
    if n != 1:
        raise SystemExit(f"networks: {path} has {n} blocks named networks")
    with open(path, "w") as f:
        f.write(new)
