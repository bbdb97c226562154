/** While helpers are written: the page is made anew when they have changed. */

const pauseMs = 500;

/** Calls `changed` where the page would come out otherwise now, whenever somebody comes back to it. */
export function watchPage(changed) {
  let known;
  let last = Number.NEGATIVE_INFINITY;

  async function look() {
    if (document.hidden || performance.now() - last < pauseMs) return;
    last = performance.now();
    const { href } = location;
    const tag = await fetch(href, { method: 'HEAD', cache: 'no-store', credentials: 'omit' }).then(
      ({ headers }) => headers.get('etag'),
      () => undefined,
    );
    const before = known;
    known = { href: href.replace(/#.*/, ''), tag };
    // No answer is no change: the gateway may be starting again.
    if (tag && before?.href === known.href && before.tag && before.tag !== tag) changed();
    if (!tag) known = before;
  }

  // Asked for when eyes come back, from another window or beside this one, and not by the clock: each question is a line in the log.
  for (const name of ['focus', 'pageshow']) addEventListener(name, look);
  document.addEventListener('visibilitychange', look);
  document.documentElement.addEventListener('pointerenter', look);
  look();
}
