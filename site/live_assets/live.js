// What the kernel is told about its reader. config-utils.js calls this before the page starts.
const KERNEL = '@jupyterlite/pyodide-kernel-extension:kernel';
const KEPT = 'interconnect-lang';

// ?lang=zh_TW chooses a language and is remembered; without it the kernel takes the browser's. ?lang= forgets it.
export function adapt(config) {
  const env = config.litePluginSettings[KERNEL].loadPyodideOptions.env;
  const asked = new URLSearchParams(window.location.search).get('lang');
  if (asked !== null) window.localStorage.setItem(KEPT, asked);
  const language = window.localStorage.getItem(KEPT);
  if (language) env.INTERCONNECT_LANG = language;
  env.INTERCONNECT_THEME = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

// Where the site's bare address leads: to the first lesson, beside the list of files where there is room for one.
export function front(config) {
  const app = window.innerWidth < 600 ? config.appUrl.replace(/lab\/?$/, 'notebooks') : config.appUrl;
  const query = new URLSearchParams(window.location.search);
  if (!query.has('path')) query.set('path', 'notebooks/00_start_here.ipynb');
  return `${app.replace(/\/$/, '')}/index.html?${query}`;
}
