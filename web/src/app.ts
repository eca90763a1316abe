/**
 * The script of the page. A browser that lacks something it needs keeps the sentence that `index.html` has for it: an
 * import is made only where it works.
 */
const isModern =
  "adoptedStyleSheets" in Document.prototype && // style sheets without inline styles, which the policy forbids
  typeof CSS === "object" &&
  CSS.supports("color", "light-dark(red, red)");

if (isModern) await import("./elements/app/app.ts");

export {};
