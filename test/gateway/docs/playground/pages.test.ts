import { expect } from 'chai';
import { createPlayground, type PlaygroundOptions } from '../../../../gateway/docs/playground/routes.js';
import { errorTable } from '../../../../gateway/errors.js';
import type { CallContext } from '../../../../gateway/pipeline/stage.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import type { Registry } from '../../../../gateway/plugins/registry.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';

const config = {
  maxTextBytes: 1024 ** 2,
  maxImageBytes: 5 * 1024 ** 2,
  maxPixels: 40_000_000,
  maxFrames: 250,
  taskTimeoutMs: 10_000,
  sourceTimeoutMs: 2_500,
  apiUrl: undefined,
};

describe('the playground’s pages', () => {
  let registry: Registry;
  before(async () => {
    registry = await loadRegistry([builtinPlugins, fixture('plugins/playground')], createVocabulary());
  });

  const open = (options: Partial<PlaygroundOptions> = {}) =>
    createPlayground({ registry, config, keySite: () => undefined, problems: undefined, ...options });

  const get = (querystring: string, options: Partial<PlaygroundOptions> = {}) =>
    request(open(options), querystring);

  function request(routes: ReturnType<typeof open>, querystring: string, hostname = 'localhost') {
    const ctx = {
      ...{ querystring, hostname, state: {}, status: 200, body: '' as string | Buffer },
      get: (name: string) => (name === 'host' ? `${hostname}:8080` : ''),
      vary: () => undefined,
      acceptsEncodings: () => 'identity',
      set: () => undefined,
    };
    const page = routes.find(({ path }) => path === '/');
    page?.handle(ctx as unknown as CallContext, async () => undefined);
    return { html: String(ctx.body), body: ctx.body, status: ctx.status };
  }

  it('lead to every helper, by the first part of its path', () => {
    const { html, status } = get('');
    expect(status).to.equal(200);
    for (const { id, declaration } of registry.values()) {
      expect(html).to.include(`href="/?helper=${id}"`);
      expect(html).to.include(declaration.summary.replaceAll('<', '&lt;'));
    }
    const groups = html.matchAll(/class="group-name">(\w+)/g);
    expect([...groups].map(([, name]) => name)).to.deep.equal(['all', 'media', 'pipeline', 'text']);
  });

  it('say where keys are had, as far as the visitor gets there', () => {
    for (const query of ['', 'helper=all/page']) {
      expect(get(query).html).to.include('Ask whoever runs this gateway');
      const { html } = get(query, { keySite: (host) => `https://keys.${host}` });
      expect(html).to.include('href="https://keys.localhost"').and.not.include('Ask whoever');
    }
  });

  it('of an unknown helper are 404 and name the one that is near', () => {
    const { html, status } = get('helper=text/diff-two-string');
    expect(status).to.equal(404);
    expect(html).to.include('href="/?helper=text/diff-two-strings"');
    expect(get(`helper=${encodeURIComponent('<img src=x>')}`).html).not.to.include('<img');
    expect(get('helper=constructor').status).to.equal(404);
  });

  it('of a helper label each parameter with its name, and describe it, escaped', () => {
    const { html } = get('helper=all/controls');
    expect(html).to.include('Takes &lt;every').and.not.include('<every>').and.not.include('<b>here');
    expect(html).to.include('With <code>code</code> in its description.');
    const labels = [...html.matchAll(/<label(?: id="[^"]+")? for="([^"]+)">([^<]+)<\/label>/g)];
    expect(labels.map(([, , text]) => text)).to.deep.equal([
      ...['API key', 'logo', 'url of logo', 'table', 'url of table'],
      ...['title', 'text', 'ink', 'count', 'ratio', 'opacity', 'mode', 'level', 'loud', 'words'],
      ...['size.width', 'size.unit', 'points', 'free', 'auto', 'shape.kind', 'shape.r', 'shape.side'],
      'dryrun',
    ]);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size, 'ids that are there twice').to.equal(ids.length);
    for (const [, id] of labels) expect(ids).to.include(id);
    for (const [, names] of html.matchAll(/aria-describedby="([^"]+)"/g)) {
      expect(ids).to.include.members(names?.split(' ') ?? []);
    }
  });

  it('have a curl line for visitors without JavaScript', () => {
    const line = (id: string, apiUrl?: string) =>
      /JavaScript\. Without it(?:, with this page’s address as <code>\$GATEWAY<\/code>)?:<\/p><pre><code>([^<]+)/
        .exec(get(`helper=${id}`, { config: { ...config, apiUrl } }).html)?.[1]
        ?.replaceAll('&quot;', '"')
        .replaceAll(' \\\n ', '');
    expect(line('media/add-border')).to.equal(
      `curl "$GATEWAY/media/add-border" -H "Authorization: Bearer $KEY" -F file=@FILE ` +
        `--form-string 'width=20' --form-string 'color=purple' --fail-with-body -o result`,
    );
    expect(line('text/remove-stopwords', 'https://api.example')).to.match(
      /https:\/\/api\.example\/text\/remove-stopwords' .* -H 'Content-Type: application\/json' -d '\{"text"/,
    );
  });

  it('name what is inside an object by its path, and the alternative that it belongs to', () => {
    const rows = get('helper=all/controls').html.matchAll(/<tr><th><code>(.+?)<\/th>/g);
    const names = [
      'size required',
      'size.width required',
      'size.unit',
      'shape.r required with shape.kind circle',
    ];
    expect([...rows].map(([, row]) => row?.replaceAll(/<.*?>/g, ''))).to.include.members(names);
  });

  it('are made once, whatever their addresses hold besides, and by whatever name the gateway was reached', () => {
    const pages = open({ keySite: (host) => (host === 'localhost' ? 'http://localhost:1' : undefined) });
    for (const query of ['', 'helper=text/remove-stopwords']) {
      const here = request(pages, query).body;
      const elsewhere = request(pages, query, 'a.example').body;
      expect(here).to.be.instanceOf(Buffer).and.not.to.equal(elsewhere);
      for (let at = 0; at < 50; at += 1) {
        expect(request(pages, `x=${at}&${query}`).body).to.equal(here);
        expect(request(pages, `${query}&x=${at}`, `${at}.example`).body).to.equal(elsewhere);
      }
    }
  });

  it('are made anew for each fault of a plugin, but not kept without end', () => {
    let faults = 0;
    const pages = open({ problems: () => [{ file: 'a.ts', reason: String(faults) }] });
    const bodies = () => new Set([request(pages, '').body, request(pages, '').body]).size;
    expect(bodies()).to.equal(1);
    for (faults = 1; bodies() === 1; faults += 1) expect(faults).to.be.below(100);
  });

  it('list the errors that apply, in the words of the table', () => {
    const rowsOf = (id: string) =>
      get(`helper=${id}`).html.matchAll(/<th><code>(\w+)<\/code><\/th><td class="what">/g);
    const codes = (id: string) => [...rowsOf(id)].map(([, code]) => code);
    const ofPictures = ['bad_image', 'source_timeout'];
    expect(codes('media/add-border')).to.include.members([...ofPictures, 'invalid_input', 'busy']);
    const ofText = codes('text/diff-two-strings');
    expect(ofText)
      .to.include('helper_timeout')
      .and.not.include.members([...ofPictures, 'unauthorized']);
    expect(get('helper=text/diff-two-strings').html).to.include(errorTable.rate_limited.message);
  });

  it('show the limits of this gateway, and of a file where it has one of its own', () => {
    const { html } = get('helper=all/controls');
    const facts = html.matchAll(/<dt>([^<]+)<\/dt><dd>([^<]+)/g);
    expect([...facts].map(([, name, amount]) => `${name}: ${amount}`)).to.include.members([
      'JSON or form body: 1 MB',
      'logo, uploaded or fetched: 5 MB',
      'table, uploaded or fetched: 2 KB',
      'Time to fetch a url: 2.5 s',
    ]);
  });

  it('name a plugin’s fault on each of them, to no other host', () => {
    const problems = () => [{ file: '/plugins/shout.ts', reason: 'line 3: <oops> is not defined' }];
    const pages = open({ problems, config: { ...config, apiUrl: 'https://api.example' } });
    for (const query of ['', 'helper=text/remove-stopwords', 'helper=nothing']) {
      expect(get(query).html).not.to.include('role="alert"');
      for (const host of ['localhost', '127.0.0.1', 'api.example']) {
        const { html } = request(pages, query, host);
        expect(html).to.include('/plugins/shout.ts').and.include('line 3: &lt;oops> is not defined');
      }
      expect(request(pages, query, 'evil.example').html).not.to.include('/plugins/');
    }
  });
});
