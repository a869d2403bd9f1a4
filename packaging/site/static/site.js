// What the theme leaves to be said to a screen reader, and to a keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('p.caption[role="heading"]'))
    caption.ariaLevel = "2";
  const names = { ".sidebar-drawer": "All pages", ".toc-drawer": "This page" };
  for (const [drawer, name] of Object.entries(names)) {
    const found = document.querySelector(drawer);
    if (found) found.ariaLabel = name;
  }
  // Markdown has no table without a head.
  for (const head of document.querySelectorAll("thead")) head.hidden = !head.textContent.trim();
  for (const block of document.querySelectorAll(".highlight pre, .table-wrapper"))
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
});
