import { expect } from 'chai';
import { createPlayground, type PlaygroundOptions } from '../../../../gateway/docs/playground/routes.js';
import { errorTable } from '../../../../gateway/errors.js';
import type { CallContext } from '../../../../gateway/pipeline/stage.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import type { Registry } from '../../../../gateway/plugins/registry.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';

const limits = {
  maxTextBytes: 1024 ** 2,
  maxImageBytes: 5 * 1024 ** 2,
  maxPixels: 40_000_000,
  maxFrames: 250,
  taskTimeoutMs: 10_000,
  sourceTimeoutMs: 2_500,
};

describe('the playground’s pages', () => {
  let registry: Registry;
  before(async () => {
    const folders = [builtinPlugins, fixture('plugins/playground')];
    registry = await loadRegistry(folders, createVocabulary());
  });

  const open = (options: Partial<PlaygroundOptions> = {}) =>
    createPlayground({ registry, limits, keySite: () => undefined, ...options });

  function get(querystring: string, options: Partial<PlaygroundOptions> = {}) {
    return ask(open(options), querystring);
  }

  function ask(routes: ReturnType<typeof open>, querystring: string, host = 'localhost') {
    const headers: Record<string, string> = {};
    const ctx = {
      querystring,
      state: {},
      get: (name: string) => (name === 'host' ? `${host}:8080` : ''),
      hostname: host,
      protocol: 'http',
      host: `${host}:8080`,
      status: 200,
      body: '' as string | Buffer,
      vary: () => undefined,
      acceptsEncodings: () => 'identity',
      set: (all: Record<string, string>) => void (typeof all === 'object' && Object.assign(headers, all)),
    };
    const page = routes.find(({ path }) => path === '/');
    page?.handle(ctx as unknown as CallContext, async () => undefined);
    return { html: String(ctx.body), body: ctx.body, status: ctx.status, headers };
  }

  it('lead to every helper, by the first part of its path', () => {
    const { html, status } = get('');
    expect(status).to.equal(200);
    for (const { id, declaration } of registry.values()) {
      expect(html).to.include(`href="/?helper=${id}"`);
      expect(html).to.include(declaration.summary.replaceAll('<', '&lt;'));
    }
    expect([...html.matchAll(/class="group-name">(\w+)/g)].map(([, name]) => name)).to.deep.equal([
      'all',
      'media',
      'text',
    ]);
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

  it('of a helper label each parameter with its name, and describe it', () => {
    const { html } = get('helper=all/controls');
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

  it('escape what a plugin says', () => {
    const { html } = get('helper=all/controls');
    expect(html).to.include('Takes &lt;every').and.not.include('<every>').and.not.include('<b>here');
    expect(html).to.include('With <code>code</code> in its description.');
  });

  it('have a curl line for who runs no script', () => {
    const line = (id: string, options = {}) =>
      /JavaScript\. Without it(?:, with this page’s address as <code>\$GATEWAY<\/code>)?:<\/p><pre><code>([^<]+)/
        .exec(get(`helper=${id}`, options).html)?.[1]
        ?.replaceAll('&quot;', '"')
        .replaceAll(' \\\n ', '');
    expect(line('media/add-border')).to.equal(
      `curl "$GATEWAY/media/add-border" -H "Authorization: Bearer $KEY" -F file=@FILE ` +
        `--form-string 'width=20' --form-string 'color=purple' --fail-with-body -o result`,
    );
    expect(line('text/remove-stopwords', { apiUrl: 'https://api.example' })).to.match(
      /https:\/\/api\.example\/text\/remove-stopwords' .* -H 'Content-Type: application\/json' -d '\{"text"/,
    );
  });

  it('name what is inside an object by its path, and the alternative that it belongs to', () => {
    const rows = [...get('helper=all/controls').html.matchAll(/<tr><th><code>(.+?)<\/th>/g)].map(([, row]) =>
      row?.replaceAll(/<.*?>/g, ''),
    );
    expect(rows).to.include.members([
      'size required',
      'size.width required',
      'size.unit',
      'shape.r required with shape.kind circle',
    ]);
  });

  it('are made once, whatever their addresses hold besides, and by whatever name the gateway was reached', () => {
    const pages = open({
      keySite: (host) => (host === 'localhost' ? 'http://localhost:1' : undefined),
    });
    for (const query of ['', 'helper=text/remove-stopwords']) {
      const here = ask(pages, query).body;
      const elsewhere = ask(pages, query, 'a.example').body;
      expect(here).to.be.instanceOf(Buffer).and.not.to.equal(elsewhere);
      for (let at = 0; at < 50; at += 1) {
        expect(ask(pages, `x=${at}&${query}`).body).to.equal(here);
        expect(ask(pages, `${query}&x=${at}`, `${at}.example`).body).to.equal(elsewhere);
      }
    }
  });

  it('list the errors that apply, in the words of the table', () => {
    const codes = (id: string) =>
      [...get(`helper=${id}`).html.matchAll(/<th><code>(\w+)<\/code><\/th><td class="what">/g)].map(
        ([, code]) => code,
      );
    expect(codes('media/add-border')).to.include.members([
      'bad_image',
      'source_timeout',
      'invalid_input',
      'busy',
    ]);
    expect(codes('text/diff-two-strings'))
      .to.include('helper_timeout')
      .and.not.include.members(['bad_image', 'source_failed', 'unauthorized']);
    expect(get('helper=text/diff-two-strings').html).to.include(errorTable.rate_limited.message);
  });

  it('show the limits of this gateway, and of a file where it has one of its own', () => {
    const { html } = get('helper=all/controls');
    const facts = [...html.matchAll(/<dt>([^<]+)<\/dt><dd>([^<]+)/g)].map(
      ([, name, amount]) => `${name}: ${amount}`,
    );
    expect(facts).to.include.members([
      'JSON or form body: 1 MB',
      'logo, uploaded or fetched: 5 MB',
      'table, uploaded or fetched: 2 KB',
      'Time to fetch a url: 2.5 s',
    ]);
  });

  it('name a plugin’s fault on each of them', () => {
    const problems = () => [{ file: '/plugins/shout.ts', reason: 'line 3: <oops> is not defined' }];
    for (const query of ['', 'helper=text/remove-stopwords', 'helper=nothing']) {
      expect(get(query, { problems }).html, query)
        .to.include('/plugins/shout.ts')
        .and.include('line 3: &lt;oops> is not defined');
      expect(get(query).html).not.to.include('role="alert"');
      for (const host of ['127.0.0.1', 'api.example'])
        expect(ask(open({ problems, apiUrl: 'https://api.example' }), query, host).html).to.include(
          '/plugins/',
        );
      const stranger = ask(open({ problems, apiUrl: 'https://api.example' }), query, 'evil.example').html;
      expect(stranger, 'its file is shown to no other host').not.to.include('/plugins/');
    }
  });

  it('let nothing run or be loaded but their own files', () => {
    const { headers, html } = get('helper=media/add-border');
    expect(headers['content-security-policy']).to.match(/^default-src 'none'; script-src 'self';/);
    expect(html).not.to.match(/ style=|<style|<script(?![^>]* src=)| on\w+=/);
    const paths = createPlayground({ registry, limits, keySite: () => undefined }).map(({ path }) => path);
    const asked = [...html.matchAll(/(?:src|href|data-sample)="(\/docs\/assets\/[^"]+)"/g)].map(
      ([, path]) => path,
    );
    expect(asked.length).to.be.above(10);
    expect(paths).to.include.members(asked);
  });

  it('ask for every module that the script imports beside it', async () => {
    const { readFile, readdir } = await import('node:fs/promises');
    const folder = new URL('../../../../../gateway/docs/playground/assets/', import.meta.url);
    const { html } = get('helper=media/add-border');
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.js'))) {
      expect(html).to.match(new RegExp(`/${file}"`));
      for (const [, name] of (await readFile(new URL(file, folder), 'utf8')).matchAll(
        / from '\.\/([^']+)'/g,
      )) {
        expect(html).to.match(new RegExp(`modulepreload" href="[^"]+/${name}"`));
      }
    }
  });
});
