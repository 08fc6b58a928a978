// Draws figures with data-chart: a line of each series over time. The table of the figure stays, behind
// a disclosure. A click, or Enter after the keys of arrows, leads to what a point counts.
import uPlot from "uplot";
import css from "uplot/dist/uPlot.min.css";

const sheet = new CSSStyleSheet();
sheet.replaceSync(css);
document.adoptedStyleSheets.push(sheet);

const tones = {
  matched: "good", delivered: "good", fired: "good", rejected: "bad", failed: "bad", pending: "wait", unmatched: "quiet", cancelled: "quiet",
};
const others = ["accent", "other", "wait", "quiet"];
const height = 168;

const colour = (name) => {
  // The colours are pairs, which only an element can resolve.
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

const faded = (rgb, share) => rgb.replace(/^rgb\((.*)\)$/, `rgb($1, ${share})`).replaceAll(", ", " ").replace(/ ([\d.]+)\)$/, " / $1)");
const formats = Object.fromEntries(Object.entries({
  second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  minute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  day: { day: "numeric", month: "short" },
  whole: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
}).map(([name, options]) => [name, new Intl.DateTimeFormat(undefined, options)]));
const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const brief = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export function draw(figure) {
  if (figure.querySelector(".plot")) return;
  const { at, series, unit = "" } = JSON.parse(figure.dataset.chart);
  const table = figure.querySelector("table"), caption = figure.querySelector("figcaption")?.textContent ?? "";
  const plot = Object.assign(document.createElement("div"), { className: "plot", tabIndex: 0 });
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "chart");
  plot.setAttribute("aria-label", caption + ": arrows read it, Enter opens what a point counts");
  const legend = Object.assign(document.createElement("ul"), { className: "legend" });
  legend.setAttribute("aria-live", "polite");
  if (table) {
    const fold = document.createElement("details"), summary = document.createElement("summary");
    summary.textContent = "The figures";
    table.replaceWith(fold);
    fold.append(summary, table);
    fold.before(plot, legend);
  } else {
    figure.append(plot, legend);
  }
  let other = 0;
  const tone = series.map((one) => tones[one.name] ?? others[other++ % others.length]);
  const sums = series.map((one) => one.values.reduce((sum, value) => sum + (value ?? 0), 0));
  let chosen = 0; // the series that Enter opens

  // read writes beside the names what they come to: in all, or at a point.
  const read = (i) => {
    const lines = series.map((one, s) => {
      const line = document.createElement("li"), value = document.createElement("b");
      line.style.setProperty("--tone", `var(--${tone[s]})`);
      const shown = i === null ? (one.total ?? sums[s]) : one.values[i];
      value.textContent = shown === null || shown === undefined ? "–" : number.format(shown);
      line.append(one.name + " ", value);
      if (s === chosen && i !== null && series.length > 1) line.className = "chosen";
      return line;
    });
    const when = Object.assign(document.createElement("li"), { className: "at" });
    when.textContent = i === null ? "" : formats.whole.format(at[i] * 1000) + (unit && ", " + unit);
    legend.replaceChildren(...(i === null && !summed(unit) ? lines.map((line) => (line.lastChild.remove(), line)) : lines), when);
  };

  const open = (i, s) => {
    const href = series[s]?.href;
    if (!href || i === null || i === undefined) return;
    const step = at.length > 1 ? at[1] - at[0] : 60;
    location.href = href.replaceAll("{from}", at[i]).replaceAll("{to}", at[i + 1] ?? at[i] + step);
  };

  let chart;
  const make = () => {
    chart?.destroy();
    const line = colour("line"), quiet = colour("quiet"), font = "12px " + getComputedStyle(document.documentElement).fontFamily;
    const axis = { stroke: quiet, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    chart = new uPlot({
      width: plot.clientWidth || 300, height, legend: { show: false }, padding: [8, 8, 0, 0],
      cursor: { points: { size: 7 }, drag: { x: false, y: false }, focus: { prox: 24 } }, focus: { alpha: 1 },
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, summed(unit) ? 1 : 0.001) * 1.05] } },
      axes: [
        { ...axis, space: 70, size: 28, grid: { show: false }, values: (_, splits, __, ___, step) => splits.map((s) => formats[step >= 86400 ? "day" : step >= 60 ? "minute" : "second"].format(s * 1000)) },
        { ...axis, size: 46, space: 34, values: (_, splits) => splits.map((s) => (summed(unit) && s % 1 ? "" : brief.format(s))) },
      ],
      series: [{}, ...series.map((one, s) => ({
        label: one.name, stroke: colour(tone[s]), width: 2, fill: series.length === 1 ? faded(colour(tone[s]), 0.12) : undefined,
        points: at.length < 2 ? { show: true, size: 5 } : { size: 5 },
      }))],
      hooks: {
        setCursor: [(u) => read(u.cursor.idx ?? null)],
        setSeries: [(u, s) => s && ((chosen = s - 1), read(u.cursor.idx ?? null))],
      },
    }, [at, ...series.map((one) => one.values)], plot);
    if (series.some((one) => one.href)) chart.over.style.cursor = "pointer";
    chart.over.addEventListener("click", (event) => {
      // The series that is nearest to the pointer is meant.
      const i = chart.posToIdx(event.offsetX);
      const far = series.map((one) => (one.values[i] === null ? Infinity : Math.abs(chart.valToPos(one.values[i], "y") - event.offsetY)));
      open(i, far.indexOf(Math.min(...far)));
    });
    read(null);
  };
  make();

  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -at.length, End: at.length }[event.key];
    if (steps) {
      const i = Math.max(0, Math.min(at.length - 1, (chart.cursor.idx ?? (steps > 0 ? -1 : at.length)) + steps));
      chart.setCursor({ left: chart.valToPos(at[i], "x"), top: chart.valToPos(series[chosen]?.values[i] ?? 0, "y") });
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : series.length - 1)) % series.length;
      read(chart.cursor.idx ?? null);
    } else if (event.key === "Enter") {
      open(chart.cursor.idx, chosen);
    } else {
      return;
    }
    event.preventDefault();
  });
  plot.addEventListener("blur", () => chart.setCursor({ left: -10, top: -10 }));

  const again = () => (plot.isConnected ? make() : stop());
  const resized = new ResizeObserver(() => plot.clientWidth && plot.clientWidth !== chart.width && chart.setSize({ width: plot.clientWidth, height }));
  const themed = new MutationObserver(again), scheme = matchMedia("(prefers-color-scheme: dark)");
  const stop = () => (resized.disconnect(), themed.disconnect(), scheme.removeEventListener("change", again), chart.destroy());
  resized.observe(plot);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  scheme.addEventListener("change", again);
}

// summed reports whether figures of a unit have a sum: milliseconds have none.
const summed = (unit) => !/^(ms|milliseconds|seconds|s|%|percent)\b/.test(unit);
