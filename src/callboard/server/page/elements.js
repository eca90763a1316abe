// DOM elements. Foreign data becomes text or an attribute's value, never markup.

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function button(label, kind, action) {
  const element = make("button", { type: "button", class: kind }, label);
  element.addEventListener("click", action);
  return element;
}

export const find = (id) => document.getElementById(id);

/** Set a text only if it changes, so that screen readers and selections are not disturbed. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
