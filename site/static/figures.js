// Draw the figures of a page with the Plotly that lies beside it, on the ground that the page has; those in sight first.
document.addEventListener("DOMContentLoaded", () => {
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const specs = new Map();

  // Set [path, value] for each change: a list is cut by its "length", {gone: true} takes a key away (site/packing.py).
  window.siteApply = (changes, to) => {
    for (const [path, value] of changes) {
      const part = path.slice(0, -1).reduce((inner, key) => inner[key], to);
      const last = path[path.length - 1];
      if (value?.gone === true) delete part[last];
      else part[last] = value;
    }
  };

  function spec(place) {
    if (place.siteSpec) return place.siteSpec(isDark());
    if (!specs.has(place)) specs.set(place, place.querySelector("script").textContent);
    const drawn = JSON.parse(specs.get(place));
    if (isDark()) window.siteApply(drawn.dark, drawn);
    return drawn;
  }

  function draw(place) {
    const { data, layout, config } = spec(place);
    // A drag zooms where there is a mouse; under a finger it scrolls the page.
    if (matchMedia("(pointer: fine)").matches) layout.dragmode = "zoom";
    let plot = place.querySelector(".site-plot");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "site-plot";
      place.append(plot);
    }
    Plotly.react(plot, data, layout, { ...config, responsive: true }).then(() => { place.dataset.drawn = isDark() ? "dark" : "light"; });
  }

  // The theme's arrow beside a group of pages has no words.
  for (const arrow of document.querySelectorAll("li.has-children > details > summary")) {
    arrow.setAttribute("aria-label", `pages under ${arrow.closest("li").querySelector("a").textContent}`);
  }

  const places = [...document.querySelectorAll(".site-figure")];
  window.siteDraw = (place) => { if (place.dataset.drawn) draw(place); }; // the others are drawn when they come into sight
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

  // For readers with a keyboard or a screen reader: what scrolls takes the focus (tables, formulas), the theme's search is named by what it shows.
  const scrolls = () => document.querySelectorAll(".bd-article table, .site-words, mjx-container").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  });
  scrolls();
  addEventListener("load", () => window.MathJax?.startup?.promise?.then(scrolls)); // formulas come later than the page
  addEventListener("resize", scrolls);
  document.addEventListener("toggle", scrolls, true);
  document.querySelectorAll(".search-button-field").forEach((button) => button.removeAttribute("aria-label"));
});
