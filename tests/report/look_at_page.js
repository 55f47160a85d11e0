// Run beside frames that hold a page each: writes what was laid out in them, as JSON, into the element "found".
addEventListener("load", () => {
  const box = element => element.getBoundingClientRect();
  const found = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument;
    const bad = [];
    const charts = [...page.querySelectorAll("svg.chart")];
    let bars = 0;
    let whiskers = 0;
    for (const chart of charts) {
      const all = box(chart);
      const name = chart.getAttribute("aria-label");
      if (all.width < 200 || all.height < 20) bad.push(`chart of ${all.width} x ${all.height}: ${name}`);
      for (const bar of chart.querySelectorAll("rect:not(.track)")) {
        ++bars;
        const b = box(bar);
        if (!(b.width > 0 && b.height > 0 && b.right <= all.right + 1)) bad.push(`bar without size or outside: ${name}`);
        if (getComputedStyle(bar).fill === "rgb(0, 0, 0)") bad.push(`bar without colour: ${name}`);
      }
      whiskers += chart.querySelectorAll("line.whisker").length;
      for (const text of chart.querySelectorAll("text")) {
        const t = box(text);
        if (t.width <= 0 || t.right > all.right + 1 || t.left < all.left - 1) bad.push(`text outside: ${text.textContent}`);
      }
      for (const label of chart.querySelectorAll("text.label"))
        for (const value of chart.querySelectorAll("text.value"))
          if (label.getAttribute("y") === value.getAttribute("y") && box(label).right > box(value).left) bad.push(`texts overlap: ${name}`);
    }
    for (const table of page.querySelectorAll("table"))
      if (table.closest(".scroll") === null) bad.push("table outside of a box that scrolls");
    return {
      width: page.documentElement.clientWidth,
      needed: page.documentElement.scrollWidth,
      charts: charts.length,
      bars,
      whiskers,
      bad,
      cells: [...page.querySelectorAll("[data-json]")].map(cell => [cell.dataset.json, cell.innerText]),
    };
  });
  document.getElementById("found").textContent = JSON.stringify(found);
});
