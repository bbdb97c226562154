import { expect } from 'chai';
import type { BrowserLike, Page } from './browser-like.js';

/** Goes to the provider, which sends everybody back at once to the site at `home`, and comes back. */
export async function comeBack(browser: BrowserLike, url: string | null, home: string): Promise<Page> {
  const answer = await fetch(url ?? '', { redirect: 'manual' });
  const back = new URL(answer.headers.get('location') ?? '');
  expect(back.origin + back.pathname).to.equal(`${home}/auth/callback/oidc`);
  return browser.get(back.pathname + back.search);
}

/** The way to the provider for somebody who is signed in and wants to connect their account. */
export async function setOutToConnect(browser: BrowserLike): Promise<string | null> {
  await browser.get('/account');
  const page = await browser.submit('/account/oidc');
  return /href="(http:[^"]+authorize[^"]+)"/.exec(page.html)?.[1]?.replaceAll('&amp;', '&') ?? null;
}
