/** What is in the form stands in the page's address, behind the `#`, so that a try can be sent to somebody: never a key or a file. */
import { fillTexts, readTexts } from './fields.js';

/** Longer addresses are cut off or refused on their way. */
const longest = 16_000;
/** Some browsers refuse more than a few changes of the address a second. */
const pauseMs = 250;

/** The fragment for texts by name. */
export function fragmentOf(texts) {
  // A `+` for a space is a form's rule: what is sent by chat or mail is better off with %20.
  return new URLSearchParams([...texts]).toString().replaceAll('+', '%20');
}

/** The texts in a fragment. */
export function textsIn(fragment) {
  return new Map(new URLSearchParams(fragment.replace(/^#/, '')));
}

/** Keeps form and address alike. A call or an example begins a new step of the browser's history; typing changes the one that is. */
export function keepAddress(form, onFilled) {
  let timer;
  let isNewStep = false;

  const write = () => {
    clearTimeout(timer);
    const fragment = fragmentOf(readTexts(form));
    const kept = fragment.length > longest ? '' : fragment;
    if (kept === location.hash.replace(/^#/, '')) return;
    const address = `${location.pathname}${location.search}${kept === '' ? '' : `#${kept}`}`;
    if (isNewStep) history.pushState(null, '', address);
    else history.replaceState(null, '', address);
    isNewStep = false;
  };
  const read = () => {
    clearTimeout(timer);
    fillTexts(form, textsIn(location.hash));
    onFilled();
  };

  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(write, pauseMs);
  });
  if (location.hash !== '') read();

  return {
    write,
    /** The last thing to be written; nothing where the address is another page's already. */
    stop({ hasMoved }) {
      if (hasMoved) clearTimeout(timer);
      else write();
    },
    /** Takes what the address says now. */
    read,
    /** What is changed from here on can be gone back from. */
    step() {
      write();
      isNewStep = true;
    },
    /** The address to send, or undefined where the texts are too long for one. */
    link() {
      write();
      return fragmentOf(readTexts(form)).length > longest ? undefined : location.href;
    },
  };
}
