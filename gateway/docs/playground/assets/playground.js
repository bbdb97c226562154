/** The pages: one replaces another without a reload, because the key is stored in memory only. */
import { byId } from './dom.js';
import { acceptPastedFiles, ignoreStrayFiles } from './files.js';
import { startHelper } from './helper.js';

let key = '';
let page;
/** Path and query of the page that is shown. */
let shown;
let visits = 0;

function start() {
  const form = byId('try');
  if (form) keepHelperAlone(form);
  shown = here();
  page = form ? startHelper(form, key) : undefined;
}

/** Removes the rest of the query, a key above all, so that it is in no link that is copied from here. */
function keepHelperAlone({ dataset }) {
  const search = `?helper=${dataset.service}`;
  if (location.search !== search) history.replaceState(null, '', `/${search}${location.hash}`);
}

function here() {
  return location.pathname + location.search;
}

function leave() {
  key = page?.key() ?? key;
  page?.leave({ hasMoved: here() !== shown });
  page = undefined;
}

/** Shows another page; where that does not work out, the browser goes there by itself. */
async function visit(address, { isBack = false } = {}) {
  leave();
  visits += 1;
  const visitNumber = visits;
  try {
    const answer = await fetch(address, { credentials: 'omit' });
    const html = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const main = html.getElementById('main');
    // The visitor has left for another page meanwhile.
    if (visitNumber !== visits) return false;
    if (!main) throw new Error(`no page: ${answer.status}`);
    if (!isBack && address !== location.href) history.pushState(null, '', address);
    document.title = html.title;
    byId('main').replaceWith(document.adoptNode(main));
    start();
    return true;
  } catch {
    location.assign(address);
    return false;
  }
}

const pauseMs = 500;

/** Shows the page anew where it has changed on the server, whenever the visitor returns to it. */
function watchPage() {
  let known;
  let last = Number.NEGATIVE_INFINITY;

  async function look() {
    if (document.hidden || performance.now() - last < pauseMs) return;
    last = performance.now();
    const href = location.href.replace(/#.*/, '');
    const answer = await fetch(href, { method: 'HEAD', cache: 'no-store', credentials: 'omit' }).catch(
      () => {},
    );
    const tag = answer?.headers.get('etag');
    // No answer is no change: the gateway may be starting again.
    if (!tag) return;
    const hasChanged = known?.href === href && known.tag !== tag;
    known = { href, tag };
    if (hasChanged) visit(location.href, { isBack: true });
  }

  // On returning to the page and not by a timer: each request is a line in the log.
  for (const name of ['focus', 'pageshow']) addEventListener(name, look);
  document.addEventListener('visibilitychange', look);
  document.documentElement.addEventListener('pointerenter', look);
  look();
}

document.addEventListener('click', async (event) => {
  const link = event.target.closest?.('a[href^="/?helper="], a[href="/"]');
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || event.defaultPrevented) return;
  event.preventDefault();
  if (!(await visit(link.href))) return;
  scrollTo(0, 0);
  byId('main').focus();
});

addEventListener('popstate', () => {
  if (here() === shown) page?.addressChanged();
  else visit(location.href, { isBack: true });
});

ignoreStrayFiles();
acceptPastedFiles();
start();
if (document.body.dataset.live !== undefined) watchPage();
