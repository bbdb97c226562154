/** Short functions for the page's elements. Outside values are always text: nothing here parses markup. */

/** An element with properties (`class`, `aria-…` and `data-…` among them) and children. */
export function el(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children);
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

export function all(selector, within = document) {
  return [...within.querySelectorAll(selector)];
}

/** Shows a text on the button for a moment, and announces it in the page's live region. */
export function sayOn(button, text) {
  const before = button.dataset.title ?? button.textContent;
  button.dataset.title = before;
  button.textContent = text;
  announce(text);
  setTimeout(() => {
    button.textContent = before;
  }, 2000);
}

let region;

export function announce(text) {
  if (!region?.isConnected) {
    region = el('p', { class: 'hidden', role: 'status' });
    byId('main').append(region);
  }
  region.textContent = text;
}

/** Copies where the browser lets it; says on the button how it went. */
export async function copyFrom(button, text) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyOldWay(text);
    sayOn(button, 'Copied');
  } catch {
    sayOn(button, 'Not allowed here');
  }
}

/** By plain http from another machine browsers have no `navigator.clipboard`. */
function copyOldWay(text) {
  const before = document.activeElement;
  const area = el('textarea', { class: 'hidden', readonly: true, 'aria-hidden': 'true', tabindex: -1 });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  before?.focus();
  if (!isCopied) throw new Error('the browser does not copy');
}
