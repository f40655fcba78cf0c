// Asks whether anything changed three times a second while it is looked at, and shows the page as it is then.
(() => {
  const often = 300;
  const longest = 30000;
  const made = 600;
  let failures = 0;
  let revision = "";
  let shown = 0;
  const notice = document.createElement("p");
  notice.setAttribute("role", "status");
  notice.className = "soft";
  document.querySelector("header").append(notice);
  async function text(path) {
    const answer = await fetch(path, { cache: "no-store" });
    const body = await answer.text();
    if (!answer.ok) throw new Error(body.trim());
    return body;
  }
  // What did not change is left alone: focus, a selection and a table's scrolling stay where they are.
  function update(old, latest) {
    if (old.isEqualNode(latest)) return;
    if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== latest.nodeName) return old.replaceWith(latest);
    for (const { name } of [...old.attributes]) if (!latest.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of latest.attributes) old.setAttribute(name, value);
    const [had, has] = [[...old.childNodes], [...latest.childNodes]];
    has.forEach((child, at) => (at < had.length ? update(had[at], child) : old.append(child)));
    had.slice(has.length).forEach((child) => child.remove());
  }
  async function show() {
    const page = new DOMParser().parseFromString(await text("/ui"), "text/html");
    for (const part of ["header p", "nav", "main"]) update(document.querySelector(part), page.querySelector(part));
  }
  async function look() {
    try {
      const latest = await text("/revision");
      // Prices and times go on without changes: a page is not older than a minute.
      if ((latest !== revision && Date.now() - shown >= made) || Date.now() - shown >= 60000) {
        await show();
        revision = latest;
        shown = Date.now();
      }
      failures = 0;
      notice.textContent = "";
    } catch (error) {
      failures += 1;
      notice.textContent = `Not up to date: ${error.message}`;
    }
  }
  async function go() {
    if (!document.hidden) await look();
    // The longer nobody answers, the longer the next try waits.
    setTimeout(go, Math.min(often * 2 ** Math.min(failures, 10), longest));
  }
  setTimeout(go, often);
})();
