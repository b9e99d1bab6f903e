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
