import { expect } from 'chai';

/** A client with a cookie jar that fills in forms as a browser without a script does. */
export interface BrowserLike {
  get(path: string, headers?: Record<string, string>): Promise<Page>;
  /** Sends the form with this action, from the page that was got last, its hidden fields included. */
  submit(action: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Page>;
  /** Sends fields without having seen a form. */
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Page>;
  readonly cookies: Map<string, string>;
}

export interface Page {
  status: number;
  headers: Headers;
  html: string;
  /** Where it leads, if it does. */
  location: string | null;
}

export function createBrowserLike(url: string): BrowserLike {
  const cookies = new Map<string, string>();
  let last: Page | undefined;

  async function send(path: string, init: RequestInit): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(new URL(path, url), {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const header of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (header.split(';')[0] ?? '').split(/=(.*)/s);
      if (/max-age=0/i.test(header)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const { status, headers } = response;
    return { status, headers, html: await response.text(), location: headers.get('location') };
  }

  const browser: BrowserLike = {
    cookies,
    async get(path, headers = {}) {
      last = await send(path, { headers });
      return last;
    },
    async submit(action, fields = {}, headers = {}) {
      const hidden = hiddenFields(last?.html ?? '', action);
      return browser.post(action, { ...hidden, ...fields }, headers);
    },
    async post(path, fields, headers = {}) {
      last = await send(path, { method: 'POST', body: new URLSearchParams(fields), headers });
      return last;
    },
  };
  return browser;
}

/** The hidden fields of the form with an action. */
export function hiddenFields(html: string, action: string): Record<string, string> {
  const form = html.split('<form ').find((part) => part.includes(`action="${action}"`));
  if (!form) throw new Error(`no form for ${action} on the page`);
  const inside = form.slice(0, form.indexOf('</form>'));
  const inputs = inside.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value]));
}

/** Signs in and returns the client. */
export async function signedIn(url: string, who: { email: string; password: string }): Promise<BrowserLike> {
  const browser = createBrowserLike(url);
  await browser.get('/sign-in');
  const page = await browser.submit('/sign-in', { email: who.email, password: who.password });
  if (page.status !== 303) throw new Error(`sign-in answered ${page.status}`);
  return browser;
}

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
