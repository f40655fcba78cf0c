// Asks for the page anew each second while it is looked at, and shows it if it changed.
(() => {
  const second = 1000;
  let failures = 0;
  const notice = document.createElement("p");
  notice.setAttribute("role", "status");
  notice.className = "soft";
  document.querySelector("header").append(notice);
  async function look() {
    try {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      const page = new DOMParser().parseFromString(text, "text/html");
      const open = new Set([...document.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
      const main = page.querySelector("main");
      for (const summary of main.querySelectorAll("details > summary"))
        summary.parentElement.open = open.has(summary.textContent);
      if (main.innerHTML !== document.querySelector("main").innerHTML)
        document.querySelector("main").replaceWith(main);
      document.querySelector("header p").textContent = page.querySelector("header p").textContent;
      failures = 0;
      notice.textContent = "";
    } catch (error) {
      failures += 1;
      notice.textContent = `Not up to date: ${String(error.message || error).trim()}`;
    }
  }
  async function go() {
    if (!document.hidden) await look();
    // The longer nobody answers, the longer the next try waits, up to half a minute.
    setTimeout(go, Math.min(second * 2 ** Math.min(failures, 5), 30 * second));
  }
  setTimeout(go, second);
})();
