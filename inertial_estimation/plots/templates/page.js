(async () => {
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const library = document.createElement("script");
  library.textContent = await unpacked("library");
  document.head.append(library);
  const graphs = JSON.parse(await unpacked("graphs"));
  const places = [...document.querySelectorAll(".graph")];
  const ranges = {};  // by the title of the axis: graphs of one abscissa show one range
  const common = {
    margin: {l: 50, r: 8, t: 6, b: 36}, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: {family: "system-ui, sans-serif", size: 12, color: "#777777"}, dragmode: "zoom",
    modebar: {bgcolor: "rgba(0,0,0,0)", color: "#999999", activecolor: "#555555"},
    legend: {orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)"},
  };
  const config = {
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"],
    toImageButtonOptions: {format: "svg"},
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,  // it would cover the legend
  };
  let sharing = false;
  const share = async (from, change) => {
    const keys = Object.keys(change);
    if (sharing || !keys.some((key) => key.startsWith("xaxis."))) return;
    const title = from.layout.xaxis.title.text;
    const range = keys.includes("xaxis.autorange") ? null : [...from.layout.xaxis.range];
    ranges[title] = range;
    sharing = true;
    for (const place of places) {
      if (place !== from && place.layout && place.layout.xaxis.title.text === title) {
        await Plotly.relayout(place, range ? {"xaxis.range": [...range]} : {"xaxis.autorange": true});
      }
    }
    sharing = false;
  };
  const draw = async (place) => {
    if (place.drawn) return;
    place.drawn = true;
    const {data, layout} = graphs[places.indexOf(place)];
    const range = ranges[layout.xaxis.title.text];
    if (range) layout.xaxis.range = [...range];
    const height = layout.height;
    await Plotly.newPlot(place, data, {...common, ...layout}, config);
    const legend = place.querySelector(".legend");
    const more = legend ? legend.getBoundingClientRect().height : 0;
    if (more) await Plotly.relayout(place, {height: height + more});
    place.style.minHeight = 0;  // that of the stylesheet holds the place until the graph is drawn
    place.on("plotly_relayout", (change) => share(place, change));
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, {rootMargin: "800px"});
  places.forEach((place) => watcher.observe(place));
  window.addEventListener("beforeprint", () => places.forEach(draw));
})();
