type Fields = Record<string, string>;

/** `location` is where it leads, if it does. */
export type Page = { status: number; headers: Headers; html: string; location: string | null };

export type BrowserLike = ReturnType<typeof createBrowserLike>;

/** A client with a cookie jar that fills in forms as a browser without a script does. */
export function createBrowserLike(url: string) {
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
    last = { status, headers, html: await response.text(), location: headers.get('location') };
    return last;
  }
  const post = (path: string, fields: Fields, headers: Fields = {}) =>
    send(path, { method: 'POST', body: new URLSearchParams(fields), headers });

  return {
    url,
    cookies,
    get: (path: string, headers: Fields = {}) => send(path, { headers }),
    /** Sends fields without having seen a form. */
    post,
    /** Sends the form with this action, from the page that was got last, its hidden fields included. */
    submit: async (action: string, fields: Fields = {}, headers: Fields = {}) =>
      post(action, { ...hiddenFields(last?.html ?? '', action), ...fields }, headers),
  };
}

/** The hidden fields of the form that posts to an action. */
export function hiddenFields(html: string, action: string): Record<string, string> {
  const form = html.split('<form ').find((part) => part.startsWith(`method="post" action="${action}"`));
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
