// Move the explorers of a page without a kernel: their pictures were drawn beforehand (site/moving.py), packed (site/packing.py), and lie beside the page.
// Also the boxes that ask for a number first: what is typed stays on the page.
document.addEventListener("DOMContentLoaded", () => {
  const UNSAID = "There is no prediction of yours yet";
  const CLOSE = 1.1;

  // A picture of the grid, on the ground that is asked for: the start's, and what differs from it.
  function picture(moves, place, dark) {
    const state = structuredClone(moves.base);
    const changes = dark ? [...moves.dark] : [];
    for (const row of dark ? [moves.onLight[place], moves.onDark[place]] : [moves.onLight[place]]) {
      for (const group of row) {
        const numbers = moves.groups[group];
        for (let i = 0; i < numbers.length; i += 2) changes.push([moves.paths[numbers[i]], value(moves, numbers[i + 1])]);
      }
    }
    window.siteApply(changes, state);
    return state;
  }

  function value(moves, number) {
    const found = moves.values[number];
    return found?.words ? found.words.map((word) => (word === null ? null : moves.words[word])) : structuredClone(found);
  }

  function cells(row, kind) {
    const line = document.createElement("tr");
    for (const text of row) {
      const cell = document.createElement(kind);
      cell.textContent = text;
      if (kind === "th") cell.scope = "col";
      line.append(cell);
    }
    return line;
  }

  function explorer(section) {
    const moves = window.siteMoves?.[section.dataset.moves];
    if (!moves) return;
    const find = (what) => section.querySelector(what);
    const figure = find(".site-figure");
    const inputs = moves.controls.map((one) => document.getElementById(`${section.dataset.moves}-${one.name}`));
    let shown = moves.start; // the last picture that worked
    let due = false;

    const at = (input) => (!input ? 0 : input.type === "checkbox" ? Number(input.checked) : Number(input.value));
    const place = () => moves.controls.reduce((sum, one, i) => sum * one.texts.length + at(inputs[i]), 0);
    figure.siteSpec = (dark) => {
      const { data, layout } = picture(moves, shown, dark);
      return { data, layout, config: moves.config };
    };

    function label(i) {
      const text = moves.controls[i].texts[at(inputs[i])];
      if (inputs[i]?.type !== "range") return;
      inputs[i].setAttribute("aria-valuetext", text);
      find(`output[for="${inputs[i].id}"]`).textContent = text;
    }

    function update() {
      due = false;
      const wanted = place();
      const refused = typeof moves.onLight[wanted] === "string";
      section.classList.toggle("site-stale", refused);
      find(".site-message").textContent = refused
        ? `These values do not work. ${moves.onLight[wanted]} The figure shows the last values that worked.` : "";
      section.dataset.place = wanted;
      if (refused || wanted === shown) return;
      shown = wanted;
      const now = picture(moves, shown, false);
      find(".site-title").textContent = now.title[0];
      find(".site-subtitle").textContent = now.title[1];
      find(".site-said").textContent = now.sentence;
      figure.setAttribute("aria-label", now.alt);
      figure.style.minHeight = `${now.layout.height ?? 420}px`;
      if (now.equation) {
        find(".site-equation tbody").replaceChildren(...now.equation.map((text) => {
          const cut = text.indexOf("=");
          const line = cells(cut < 0 ? [text.trim()] : [text.slice(0, cut).trim(), "=", text.slice(cut + 1).trim()], "td");
          if (cut < 0) line.firstChild.colSpan = 3;
          return line;
        }));
      }
      find(".site-words p").textContent = now.alt;
      const table = find(".site-words table");
      table?.tHead.replaceChildren(cells(now.columns, "th"));
      table?.tBodies[0].replaceChildren(...now.rows.map((row) => cells(row, "td")));
      window.siteDraw(figure);
    }

    function moved() {
      if (!due) requestAnimationFrame(update); // a quick drag draws the newest position only
      due = true;
    }

    inputs.forEach((input, i) => input?.addEventListener("input", () => { label(i); moved(); }));

    function set(i, position) {
      const input = inputs[i];
      if (!input) return;
      if (input.type === "checkbox") input.checked = Boolean(position);
      else input.value = position;
      label(i);
      moved();
    }

    let playing = null;
    const stop = (button) => {
      clearInterval(playing);
      playing = null;
      if (button) button.textContent = "play";
    };
    const step = moves.controls.findIndex((one) => one.kind === "step");
    const last = step < 0 ? 0 : moves.controls[step].texts.length - 1;
    const by = (n) => set(step, Math.min(Math.max(at(inputs[step]) + n, 0), last));
    section.querySelectorAll("button[data-do]").forEach((button) => button.addEventListener("click", () => {
      const play = find("button[data-do=play]");
      if (button.dataset.do === "reset") { stop(play); moves.controls.forEach((one, i) => set(i, one.start)); }
      if (button.dataset.do === "back") by(-1);
      if (button.dataset.do === "on") by(1);
      if (button.dataset.do === "play" && playing) return stop(play);
      if (button.dataset.do === "play") {
        if (at(inputs[step]) === last) set(step, 0);
        play.textContent = "stop";
        playing = setInterval(() => { if (at(inputs[step]) === last) stop(play); else by(1); }, Number(play.dataset.every));
      }
    }));
    moves.controls.forEach((one, i) => { // a reloaded page may keep what was chosen before
      if (inputs[i]) set(i, one.start);
    });
  }

  function verdict(said, guess, asked) {
    const both = `You said ${said}; ${asked.answer}`;
    if (guess === asked.truth) return `${both}, too.`;
    const ratio = guess / asked.truth;
    if (!(ratio > 0) || !Number.isFinite(ratio)) return `${both}.`;
    if (ratio >= 1 / CLOSE && ratio <= CLOSE) return `${both}: within 10 %.`;
    const factor = Math.max(ratio, 1 / ratio);
    const words = Number(factor.toPrecision(2)).toLocaleString("en-US");
    return `${both}: ${words} × too ${ratio > 1 ? "much" : "little"}.`;
  }

  function question(form) {
    const asked = JSON.parse(form.dataset.asked);
    const box = form.querySelector("input");
    const kept = form.querySelector(".site-kept");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { value: guess, bare, refusal } = window.siteRead(box.value, asked);
      if (refusal) {
        kept.textContent = refusal;
        box.setAttribute("aria-invalid", "true");
        box.focus();
        return;
      }
      const said = bare ? `${box.value.trim()} ${asked.unit}`.trim() : box.value.trim();
      kept.textContent = "truth" in asked ? verdict(said, guess, asked) : `You said ${said}. The lesson comes back to it.`;
      box.removeAttribute("aria-invalid");
      kept.tabIndex = -1;
      kept.focus(); // box and button close: whoever uses the keyboard stays here
      box.disabled = form.querySelector("button").disabled = true;
      const controls = form.closest(".site-explorer")?.querySelector("fieldset");
      if (controls) controls.disabled = false;
      told(asked.name, said);
    });
  }

  const answering = (name) => [...document.querySelectorAll(".cell")]
    .filter((cell) => cell.querySelector(".cell_input")?.textContent.includes(`compare("${name}"`));

  // An answer that stands below its question is folded until the number is typed, or until somebody opens it.
  function fold(form) {
    const { name, truth } = JSON.parse(form.dataset.asked);
    if (truth !== undefined) return;
    for (const output of answering(name).map((cell) => cell.querySelector(".cell_output")).filter(Boolean)) {
      let folded = output.closest(".site-answer");
      if (!folded) {
        folded = document.createElement("details");
        folded.className = "site-answer";
        folded.append(Object.assign(document.createElement("summary"), { textContent: "The answer, once your number stands above" }));
        output.replaceWith(folded);
        folded.append(output);
        folded.siteWaits = new Set();
        addEventListener("beforeprint", () => { folded.open = true; });
      }
      folded.siteWaits.add(name);
    }
  }

  // Where the lesson sets its answer beside a guess, the guess of this page stands in it.
  function told(name, said) {
    for (const cell of answering(name)) {
      const walk = document.createTreeWalker(cell.querySelector(".cell_output") ?? cell, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replace(UNSAID, `You said ${said}`);
      const folded = cell.querySelector(".site-answer");
      folded?.siteWaits.delete(name);
      if (folded && !folded.siteWaits.size) folded.open = true;
    }
  }

  document.querySelectorAll(".site-explorer").forEach(explorer);
  document.querySelectorAll(".site-ask").forEach(question);
  document.querySelectorAll(".site-ask").forEach(fold);
});
