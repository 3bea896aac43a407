// The page: its tabs, and what the engine and the browser hold.
import { engine } from "./nacre.js";
import { $, bytes, make, plural } from "./ui.js";
import * as speak from "./speak.js";
import * as inspect from "./inspect.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

function select(tab, focus) {
  for (const t of tabs) {
    const on = t === tab;
    t.setAttribute("aria-selected", on);
    t.tabIndex = on ? 0 : -1;
    $(t.getAttribute("aria-controls")).hidden = !on;
  }
  history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
  if (focus) tab.focus();
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (e) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to !== undefined) select(tabs[(to + tabs.length) % tabs.length], true);
  });
});
if (location.hash === "#inspect") select(tabs[1]);

// refresh shows the memory of the program, and what the browser keeps.
async function refresh() {
  $("engine-fact").textContent = `Memory ${bytes(await engine().memory())}`;
  if (!globalThis.caches) return;
  const cache = await caches.open("nacre-models"), kept = await cache.keys();
  $("kept").replaceChildren();
  if (!kept.length) return;
  const forget = make("button", { type: "button" }, "Forget");
  forget.addEventListener("click", async () => { await caches.delete("nacre-models"); refresh(); });
  $("kept").append(`${plural(kept.length, "file")} kept in this browser`, forget);
}

speak.begin(refresh);
inspect.begin(refresh);
engine().ready.then(() => { document.documentElement.dataset.ready = "yes"; return refresh(); }).catch((e) => {
  $("engine-fact").textContent = e.message;
  for (const id of ["speak-problem", "inspect-problem"]) { $(id).textContent = e.message; $(id).hidden = false; }
});
