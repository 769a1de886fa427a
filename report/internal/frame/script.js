// What the page can do more with scripts on: filter, sort, search, copy, and unfold what a link leads to.
"use strict";
(function () {
  var all = function (selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); };
  var byId = function (id) { return document.getElementById(id); };
  var say = function (text) { byId("say").textContent = text; };

  all(".js").forEach(function (e) { e.hidden = false; });

  // Copying: the clipboard where the page may use it (not in every sandbox), else the old command, else a selection.
  function copy(source, button) {
    var text = source.textContent;
    var done = function () {
      var label = button.textContent;
      button.textContent = "Copied";
      say("Copied");
      setTimeout(function () { button.textContent = label; }, 1500);
    };
    var fallback = function () {
      var area = document.createElement("textarea"), ok = false;
      area.className = "off";
      area.value = text;
      document.body.appendChild(area);
      area.select();
      try { ok = document.execCommand("copy"); } catch (e) { ok = false; }
      area.remove();
      button.focus();
      if (ok) { done(); return; }
      for (var e = source; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: press the copy keys";
      say("The text is selected. Copy it with the keyboard.");
    };
    if (navigator.clipboard && navigator.clipboard.writeText) navigator.clipboard.writeText(text).then(done, fallback);
    else fallback();
  }
  document.addEventListener("click", function (event) {
    var button = event.target.closest("button[data-copy]");
    if (button) copy(byId(button.dataset.copy), button);
  });

  // Filtering findings.
  var form = document.querySelector("form.filter");
  function filter() {
    var words = byId("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    var entity = byId("f-entity").value;
    var severities = all("input[name=sev]", form).filter(function (b) { return b.checked; }).map(function (b) { return b.value; });
    var shown = 0, total = 0;
    all(".fgroup").forEach(function (group) {
      var any = false;
      all(".finding", group).forEach(function (f) {
        var text = f.textContent.toLowerCase();
        var severity = f.dataset.sev;
        var fits = (severity === "other" || severities.indexOf(severity) >= 0) &&
          (!entity || f.dataset.e.split(" ").indexOf(entity) >= 0) &&
          words.every(function (w) { return text.indexOf(w) >= 0; });
        f.hidden = !fits;
        total++;
        if (fits) { shown++; any = true; }
      });
      group.hidden = !any;
    });
    all("details.more").forEach(function (d) { if (shown < total) d.open = true; });
    byId("f-count").textContent = shown + " of " + total;
  }
  if (form) {
    form.addEventListener("input", filter);
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    filter();
  }

  // Sorting: a number in data-v, else a number in the text, else the text.
  function value(row, column) {
    var cell = row.cells[column];
    if (!cell) return "";
    var text = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.trim();
    return text !== "" && !isNaN(text) ? Number(text) : text.toLowerCase();
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function sort(table, th, column) {
    var down = th.getAttribute("aria-sort") === "ascending";
    var rows = all("tr", table.tBodies[0]).map(function (row, i) { return { row: row, key: value(row, column), i: i }; });
    rows.sort(function (a, b) { return (down ? -1 : 1) * compare(a.key, b.key) || a.i - b.i; });
    all("th[aria-sort]", table).forEach(function (h) { h.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    var body = document.createDocumentFragment();
    rows.forEach(function (r) { body.appendChild(r.row); });
    table.tBodies[0].appendChild(body);
    say("Sorted by " + th.textContent + ", " + (down ? "descending" : "ascending"));
  }
  all("table.sort").forEach(function (table) {
    if (table.tBodies[0].rows.length < 2) return;
    all("thead th", table).forEach(function (th, column) {
      if (th.querySelector("a")) return; // a button has no link in it
      var button = document.createElement("button");
      button.type = "button";
      while (th.firstChild) button.appendChild(th.firstChild);
      th.appendChild(button);
      button.addEventListener("click", function () { sort(table, th, column); });
    });
  });

  // Searching tables.
  all("table.search").forEach(function (table) {
    var rows = all("tr", table.tBodies[0]);
    if (rows.length < 6) return;
    var bar = document.createElement("div"), label = document.createElement("label"), input = document.createElement("input");
    var count = document.createElement("span");
    bar.className = "find";
    count.className = "n";
    input.type = "search";
    input.autocomplete = "off";
    label.append("Search ", input);
    bar.append(label, count);
    var box = table.closest(".scroll");
    box.parentNode.insertBefore(bar, box);
    var texts = null, timer = 0;
    function search() {
      texts = texts || rows.map(function (row) { return row.textContent.toLowerCase(); });
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      rows.forEach(function (row, i) {
        row.hidden = !words.every(function (w) { return texts[i].indexOf(w) >= 0; });
        if (!row.hidden) shown++;
      });
      count.textContent = words.length ? shown + " of " + rows.length : "";
    }
    input.addEventListener("input", function () { clearTimeout(timer); timer = setTimeout(search, 60); });
  });

  // Zooming into a flame graph: the bar becomes as wide as the picture, what it calls grows with it.
  all(".flame svg").forEach(function (svg) {
    var width = svg.viewBox.baseVal.width, charWidth = 6.65;
    var bars = all("g", svg).map(function (g) {
      var rect = g.querySelector("rect");
      return { g: g, rect: rect, x: +rect.getAttribute("x"), y: +rect.getAttribute("y"), w: +rect.getAttribute("width"),
        name: g.querySelector("title").textContent.replace(/: \d+(, \d+ blocked)?$/, "").replace(/^[^[]*\//, "") };
    });
    function label(bar, x, w) {
      var text = bar.g.querySelector("text"), columns = Math.floor((w - 7) / charWidth);
      if (!text && columns >= 3) {
        text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("y", bar.y + 13);
        bar.g.appendChild(text);
      }
      if (!text) return;
      text.setAttribute("x", x + 4);
      text.textContent = columns >= 3 ? bar.name.slice(0, columns) : "";
    }
    function zoom(to) {
      var scale = (width - 1) / to.w;
      bars.forEach(function (bar) {
        var above = bar.y < to.y && bar.x <= to.x + 0.5 && bar.x + bar.w >= to.x + to.w - 0.5;
        var x = above ? 0 : (bar.x - to.x) * scale, w = above ? width - 1 : bar.w * scale;
        var out = !above && (bar.y < to.y || x < -0.5 || x >= width - 0.5);
        bar.g.toggleAttribute("hidden", out);
        if (out) return;
        bar.rect.setAttribute("x", x);
        bar.rect.setAttribute("width", w);
        label(bar, x, w);
      });
    }
    bars.forEach(function (bar) {
      bar.g.classList.add("zoom");
      bar.g.addEventListener("click", function () { current = bar; zoom(bar); });
    });

    // With the keyboard: arrows go from bar to bar, Enter zooms in, Escape zooms out.
    var current = bars[0];
    function near(dx, dy) {
      var edge = function (b) { return +b.rect.getAttribute("x"); };
      var x = edge(current), rest = bars.filter(function (b) {
        if (b.g.hasAttribute("hidden") || b.y !== current.y + dy * 19) return false;
        return dx ? (edge(b) - x) * dx > 0 : dy > 0 ? edge(b) > x - 1 && edge(b) < x + +current.rect.getAttribute("width")
          : edge(b) <= x + 1 && edge(b) + +b.rect.getAttribute("width") > x;
      });
      rest.sort(function (a, b) { return (edge(a) - edge(b)) * (dx < 0 ? -1 : 1); });
      return rest[0];
    }
    svg.parentNode.addEventListener("keydown", function (event) {
      var step = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] }[event.key];
      if (step) current = near(step[0], step[1]) || current;
      else if (event.key === "Enter") zoom(current);
      else if (event.key === "Escape") { current = bars[0]; zoom(current); }
      else return;
      event.preventDefault();
      bars.forEach(function (b) { b.g.classList.toggle("at", b === current); });
      say(current.g.querySelector("title").textContent);
    });
  });

  // A link into something folded or filtered away unfolds it.
  function reveal() {
    var id = location.hash.slice(1), target = id && byId(id);
    if (!target) return;
    for (var e = target; e; e = e.parentElement) {
      if (e.tagName === "DETAILS") e.open = true;
      if (e.hidden) e.hidden = false;
    }
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  reveal();

  addEventListener("beforeprint", function () { all("details.quote, details.fsteps, details.whyso").forEach(function (d) { d.open = true; }); });
})();
