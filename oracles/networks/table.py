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
    versions = {o.domain.removeprefix("ai.onnx").removeprefix("."): o.version for o in model.opset_import}
    opset = versions.get("") or "ml " + str(versions["ml"])
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
        f"{network.what} ({network.family})" if network.family else network.what,
        source,
        opset,
        f"{size / 1e6:.1f}",
        verdict,
        shown(outcome["error"]),
        shown(about["ort_moves"]),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(title, networks, folder, outcomes):
    """A row for each network, sorted by name."""
    text = (
        f"\n| {title} | what | from | opset | MB | verdict | error | ORT moves |\n|---|---|---|---|---|---|---|---|\n"
    )
    for n in sorted(networks, key=lambda n: n.name):
        text += row(n, os.path.join(folder, n.name), outcomes[n.name]) + "\n"
    return text


def markdown(folder, outcomes):
    with open(outcomes) as f:
        outcomes = {c["name"]: c for c in json.load(f)["cases"]}
    there = [n for n in TABLE.values() if n.name in outcomes]
    groups = {g: [n for n in there if n.group == g] for g in ("trained", "made")}
    return "".join(table(g, members, folder, outcomes) for g, members in groups.items() if members)


def insert(path, text):
    with open(path) as f:
        old = f.read()
    block = re.compile(r"(<!-- networks -->\n).*?(<!-- end -->)", re.S)
    new, n = block.subn(lambda m: m[1] + text + "\n" + m[2], old)
    if n != 1:
        raise SystemExit(f"networks: {path} has {n} blocks named networks")
    with open(path, "w") as f:
        f.write(new)
