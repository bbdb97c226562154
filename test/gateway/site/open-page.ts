import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { TestSite } from './test-site.js';

/** A page in a context of its own; what its scripts and its policy complain of goes into `faults`. */
export async function openPage(
  browser: Browser,
  faults: string[],
  options: BrowserContextOptions = {},
): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) faults.push(message.text());
  });
  return [context, page];
}

/** Signs in as the first operator. */
export async function signInTo(site: TestSite, page: Page): Promise<void> {
  await page.goto(`${site.url}/sign-in`);
  await page.getByLabel('E-mail').fill(site.operator.email);
  await page.getByLabel('Password').fill(site.operator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
}
