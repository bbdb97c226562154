import { accessSync, constants } from 'node:fs';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { skipWithout } from '../../needs.js';

const usualPaths = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** A mocha hook: skips what follows where there is no Chromium, or fails it with CI_REQUIRE_ALL=1. */
export function requireChromium(this: Mocha.Context): void {
  if (!chromiumPath()) skipWithout(this, 'Chromium (CHROMIUM_PATH or /usr/bin/chromium)');
}

function chromiumPath(): string | undefined {
  return usualPaths.find((path) => path !== undefined && isProgram(path));
}

export function launchChromium(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (!executablePath) throw new Error('there is no Chromium');
  return chromium.launch({
    executablePath,
    // It talks to this machine alone.
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

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
