import type { Locator, Page } from 'playwright-core';

/**
 * Does what leads to another page, or to the same one anew, and waits until that is there and its scripts have run: what
 * comes next would else be done to the page before, since Chromium tells of a click's end and not of where it leads.
 */
export async function arrive(page: Page, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), act()]);
}

/** Clicks what leads to another page, and waits for that. */
export function follow(link: Locator): Promise<void> {
  return arrive(link.page(), () => link.click());
}
