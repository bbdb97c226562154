/** A helper's page: its form makes calls, and shows the answer and how to make the same call elsewhere. */
import { showAnswer, showCancelled, showNotSent, showRunning, showUnreachable } from './answer.js';
import { enableControls, enableKey } from './controls.js';
import { all, byId, copyFrom, sayOn } from './dom.js';
import { fillForm, fragmentOf, readTexts, textsIn } from './fields.js';
import { chooseSamples, dropFiles, enableFiles } from './files.js';
import { clearProblems, forgetOnChange, refuseKey } from './problems.js';
import { requestOf, send, snippet } from './request.js';
import { enableSteps, showRecipe } from './steps.js';

const mask = '••••••••';

/** Starts the page of a helper. The key is that of the page before, and is stored in variables only. */
export function startHelper(form, key) {
  byId('key').value = key;
  enableKey();
  enableControls(form);
  enableSteps();
  enableFiles(form);
  forgetOnChange(form);
  const address = keepAddress(form);
  const cancel = enableCalls(form, address);
  enableSnippets(form);
  byId('link').addEventListener('click', ({ target }) => {
    const link = address.link();
    if (link === undefined) sayOn(target, 'Too long for a link');
    else copyFrom(target, link);
  });
  form.addEventListener('input', () => showSnippet(form));
  showSnippet(form);
  form.closest('[inert]').inert = false;
  return {
    key: () => byId('key').value,
    addressChanged: address.read,
    /** Ends the page; `hasMoved` where the address is another page's already. */
    leave({ hasMoved }) {
      address.stop({ hasMoved });
      cancel();
    },
  };
}

/** Has the form make calls, one at a time; gives what cancels the one that is running. */
function enableCalls(form, address) {
  const button = byId('send');
  const result = byId('result');
  const title = button.textContent;
  let running;

  async function call() {
    if (running) return running.abort();
    running = new AbortController();
    showRunning();
    button.textContent = 'Cancel';
    result.setAttribute('aria-busy', 'true');
    try {
      await answer(running.signal);
    } finally {
      running = undefined;
      button.textContent = title;
      result.removeAttribute('aria-busy');
    }
  }

  async function answer(signal) {
    address.step();
    clearProblems(form);
    const key = byId('key').value.trim();
    if (refuseKey(form, key)) return showNotSent();
    const request = requestOf(form);
    const answer = await send(request, { key, signal }).catch(() => 'none');
    // Another page may have replaced this one meanwhile.
    if (!form.isConnected) return;
    if (answer === 'none') showUnreachable();
    else if (answer === undefined) showCancelled();
    else await showAnswer(form, request, answer);
    showSnippet(form);
  }

  function fill(input) {
    address.step();
    clearProblems(form);
    fillForm(form, Object.entries(input));
    address.write();
    showSnippet(form);
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    call();
  });
  // The second half of a double click, or a key held down, is no wish to cancel.
  button.addEventListener('click', (event) => {
    if (event.detail > 1) event.preventDefault();
  });
  // The browser would empty the fields, but not reset the controls beside them.
  form.addEventListener('reset', (event) => {
    event.preventDefault();
    fill({});
    dropFiles(form);
  });
  // Ctrl+Enter sends from where Enter is a new line.
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    const isShortcut = event.ctrlKey || event.metaKey;
    if (isShortcut || (event.repeat && event.target.localName !== 'textarea')) event.preventDefault();
    if (isShortcut && !event.repeat) form.requestSubmit();
  });
  for (const button of all('[data-example]', form)) {
    button.addEventListener('click', () => {
      const example = JSON.parse(button.dataset.example);
      fill(example);
      chooseSamples(form, example);
    });
  }
  return () => running?.abort();
}

/** The call in the language of the chosen tab. */
function currentSnippet(form, key) {
  const tab = document.querySelector('[role=tab][aria-selected=true]');
  return snippet(tab.id.replace('tab-', ''), requestOf(form), key);
}

function showSnippet(form) {
  byId('snippet').textContent = currentSnippet(form, mask);
  showRecipe(form);
}

function enableSnippets(form) {
  const tabs = all('[role=tab]');
  const choose = (tab) => {
    for (const each of tabs) {
      each.setAttribute('aria-selected', String(each === tab));
      each.tabIndex = each === tab ? 0 : -1;
    }
    byId('snippet-panel').setAttribute('aria-labelledby', tab.id);
    tab.focus();
    showSnippet(form);
  };
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener('click', () => choose(tab));
    tab.addEventListener('keydown', ({ key }) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[key];
      if (to !== undefined) choose(tabs.at(to % tabs.length));
    });
  }
  byId('copy-snippet').addEventListener('click', ({ target }) => copyFrom(target, currentSnippet(form)));
}

// What is in the form is in the page's address too, after the `#`, so that a try can be sent to others: never a key or a file.

/** Longer addresses are cut off or refused on the network. */
const longest = 16_000;
/** Some browsers refuse more than a few changes of the address a second. */
const pauseMs = 250;

/** Synchronises form and address. A call or an example begins a new step of the browser's history; typing changes the current one. */
function keepAddress(form) {
  let timer;
  let isNewStep = false;

  const write = () => {
    clearTimeout(timer);
    const fragment = fragmentOf(readTexts(form));
    const text = fragment.length > longest ? '' : fragment;
    if (text === location.hash.replace(/^#/, '')) return;
    const address = `${location.pathname}${location.search}${text === '' ? '' : `#${text}`}`;
    if (isNewStep) history.pushState(null, '', address);
    else history.replaceState(null, '', address);
    isNewStep = false;
  };
  const read = () => {
    clearTimeout(timer);
    fillForm(form, textsIn(location.hash));
    showSnippet(form);
  };

  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(write, pauseMs);
  });
  if (location.hash !== '') read();

  return {
    write,
    stop({ hasMoved }) {
      if (hasMoved) clearTimeout(timer);
      else write();
    },
    read,
    /** Begins a step: the browser's back button undoes the changes from here on. */
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
