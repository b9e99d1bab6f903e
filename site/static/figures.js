// Draw the figures of a page with the Plotly that lies beside it, on the ground that the page has; those in sight first.
(() => {
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const specs = new Map();

  function spec(place) {
    if (!specs.has(place)) specs.set(place, place.querySelector("script").textContent);
    const drawn = JSON.parse(specs.get(place));
    if (isDark()) {
      for (const [path, value] of drawn.dark) {
        const last = path.pop();
        path.reduce((part, key) => part[key], drawn)[last] = value;
      }
    }
    // A drag zooms where there is a mouse; under a finger it scrolls the page.
    if (matchMedia("(pointer: fine)").matches) drawn.layout.dragmode = "zoom";
    return drawn;
  }

  function draw(place) {
    const { data, layout, config } = spec(place);
    let plot = place.querySelector(".site-plot");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "site-plot";
      place.append(plot);
    }
    Plotly.react(plot, data, layout, { ...config, responsive: true }).then(() => { place.dataset.drawn = isDark() ? "dark" : "light"; });
  }

  const places = [...document.querySelectorAll(".site-figure")];
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      watcher.unobserve(entry.target);
      draw(entry.target);
    }),
    { rootMargin: "800px" },
  );
  places.forEach((place) => watcher.observe(place));
  new MutationObserver(() => places.filter((place) => place.dataset.drawn).forEach(draw))
    .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  window.addEventListener("beforeprint", () => places.filter((place) => !place.dataset.drawn).forEach(draw));
})();
