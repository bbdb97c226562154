import { accessSync, constants } from 'node:fs';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
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

/** A page in a context of its own; what its scripts and its policy complain of is added to `faults`. */
export async function openPage(
  browser: Browser,
  faults: string[],
  options?: BrowserContextOptions,
): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) faults.push(message.text());
  });
  return [context, page];
}

/** Signs in on the page of the site where one does. */
export async function signInOn(
  page: Page,
  who: { email: string; password: string } | undefined,
): Promise<void> {
  await page.getByLabel('E-mail').fill(who?.email ?? '');
  await page.getByLabel('Password').fill(who?.password ?? '');
  await follow(page.getByRole('button', { name: 'Sign in' }));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Leads to another page, and waits until its scripts have run: Chromium reports a click's end alone. */
export async function arrive(page: Page, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), act()]);
}

/** Clicks what leads to another page, and waits for that. */
export function follow(link: Locator): Promise<void> {
  return arrive(link.page(), () => link.click());
}
