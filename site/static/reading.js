// Read what was typed as the notebook reads it: pattern and units come from there (units.js, written by site/panel.py).
window.siteRead = (typed, asked) => {
  const { number, comma, directions, words } = window.siteUnits;
  const text = typed.trim();
  const refuse = (why, key = "{text}", value = `'${text}'`) => ({ refusal: asked.refusals[why].replace(key, () => value) });
  if (!text) return refuse("empty");
  const found = new RegExp(number).exec(text);
  if (!found || !/\d/.test(found[1].toLowerCase().split("e")[0])) {
    const stray = new RegExp(comma).exec(text);
    if (!stray) return refuse("number");
    const [, whole, part] = /^(.*),(.*)$/.exec(stray[0].trim());
    const point = part && !whole.includes(",") && !part.includes(".") ? `${whole.replaceAll(".", "")}.${part}` : "1.5";
    const said = refuse("comma");
    return { refusal: said.refusal.replace("{point}", point) };
  }
  const bare = Number(found[1].replace(/[,_]/g, ""));
  const rest = text.slice(found[0].length).trim();
  const factor = rest === "" ? asked.one : worth(rest);
  if (factor === undefined) return refuse("unit", "{unit}", `'${rest}'`);
  if (!Number.isFinite(bare * factor)) return refuse("endless");
  if (bare < 0 && asked.kind !== "number") return refuse("below");
  return { value: (bare * factor) / asked.one, bare: rest === "" };

  function worth(unit) {
    if (asked.kind === "number") return asked.spellings.includes(unit.toLowerCase()) ? asked.one : undefined;
    const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);
    const table = window.siteUnits[asked.kind];
    if (asked.kind === "time") return own(table, unit);
    let name = unit;
    let share = 1;
    if (asked.kind === "rate") {
      const cut = /^(.*?)(?:(?:\s*\/\s*|\s+per\s+)s(?:ec(?:ond)?)?\b|(?<=[Bbts])(ps)\b)\.?(.*)$/i.exec(unit);
      if (!cut || (cut[2] && cut[2] !== "ps")) return undefined;
      name = `${cut[1].trim()}/s`;
      const way = cut[3].toLowerCase().replaceAll("bi-d", "bid").replaceAll("uni-d", "unid").replace(/[(),;.-]/g, " ").trim().replace(/\s+/g, " ");
      share = way === "" ? 1 : own(directions, way);
    }
    if (words.some((word) => name.toLowerCase().startsWith(word))) name = name.toLowerCase();
    const each = own(table, name);
    return each === undefined || share === undefined ? undefined : each * share;
  }
};
