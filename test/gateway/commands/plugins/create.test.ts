import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { choosePlace } from '../../../../gateway/commands/plugins/create.js';

describe('the place of a new plugin', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'place-')));
  for (const [file, text = ''] of [
    ['made/tsconfig.json', '{"paths": {"helper-gateway/testing": []}}'],
    ['made/text/'],
    ['old/text/'],
    ['empty/'],
    ['byhand/text/say.mjs'],
    ['work/site/package.json', '{}'],
    ['work/site/index.js'],
  ] as const) {
    const path = join(root, file);
    mkdirSync(file.endsWith('/') ? path : dirname(path), { recursive: true });
    if (!file.endsWith('/')) writeFileSync(path, text);
  }
  after(() => rmSync(root, { recursive: true }));

  for (const [what, path, dir, route, options = {}] of [
    ['the first part that is not there', 'helpers/text/shout', 'helpers', 'text/shout'],
    ['the deepest folder that is there', `${root}/empty/text/shout`, 'empty', 'text/shout'],
    ['a folder of modules', `${root}/byhand/image/x`, 'byhand', 'image/x'],
    ['a folder that is named', 'old/a/b', 'old', 'a/b'],
    ['the current folder', 'shout', '', 'shout'],
    ['a new one where the deepest holds other things', `${root}/tools/text/shout`, 'tools', 'text/shout'],
    [
      'a new one beside the current one',
      '../tools/text/shout',
      'tools',
      'text/shout',
      { cwd: join(root, 'old') },
    ],
    ['none below a file', 'work/site/index.js/a/b', 'work/site', 'index.js/a/b'],
    ['none of a workspace, which holds projects', `${root}/work/tools/shout`, 'work/tools', 'shout'],
    ['one that was written to', 'made/text/shout', 'made', 'text/shout'],
    ['one that is served', 'old/text/shout', 'old', 'text/shout', { known: ['old'] }],
    ['the one of --dir', 'old/text/shout', 'old', 'text/shout', { dir: 'old' }],
    ['a route without its ending', 'helpers/shout.mjs', 'helpers', 'shout'],
  ] as const) {
    it(`is ${what}`, () => {
      const place = choosePlace(path, { known: [], cwd: root, ...options });
      expect(place).to.deep.equal({ dir: join(root, dir), route });
    });
  }

  it('is refused outside of --dir, and where it can be no route', () => {
    for (const [path, dir] of [
      ['x/shout', 'old'],
      ['helpers/Upper'],
      ['helpers/a b'],
      ['helpers/docs/x'],
      ['helpers/_x'],
    ] as const)
      expect(() => choosePlace(path, { known: [], cwd: root, dir }), path)
        .to.throw()
        .with.property('code', 'invalid_input');
  });
});
