import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { choosePlace } from '../../../../gateway/commands/plugins/create.js';

describe('choosePlace', () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'place-')));
  mkdirSync(join(cwd, 'made', 'text'), { recursive: true });
  writeFileSync(join(cwd, 'made', 'tsconfig.json'), '{"paths": {"helper-gateway/testing": []}}');
  mkdirSync(join(cwd, 'old', 'text'), { recursive: true });
  mkdirSync(join(cwd, 'empty'));
  mkdirSync(join(cwd, 'byhand', 'text'), { recursive: true });
  writeFileSync(join(cwd, 'byhand', 'text', 'say.mjs'), '');
  mkdirSync(join(cwd, 'work', 'site'), { recursive: true });
  writeFileSync(join(cwd, 'work', 'site', 'package.json'), '{}');
  writeFileSync(join(cwd, 'work', 'site', 'index.js'), '');
  after(() => rmSync(cwd, { recursive: true }));

  const choose = (path: string, options: { dir?: string; known?: string[] } = {}) =>
    choosePlace(path, { known: [], cwd, ...options });

  it('takes the first part that is not there for the folder', () => {
    expect(choose('helpers/text/shout')).to.deep.equal({ dir: join(cwd, 'helpers'), route: 'text/shout' });
  });

  it('takes the deepest folder that is there', () => {
    expect(choose(join(cwd, 'empty/text/shout'))).to.deep.equal({
      dir: join(cwd, 'empty'),
      route: 'text/shout',
    });
    expect(choose(join(cwd, 'byhand/image/x'))).to.deep.equal({ dir: join(cwd, 'byhand'), route: 'image/x' });
    expect(choose('old/a/b')).to.deep.equal({ dir: join(cwd, 'old'), route: 'a/b' });
    expect(choose('shout')).to.deep.equal({ dir: cwd, route: 'shout' });
  });

  it('takes the first new folder where the deepest that is there holds other things', () => {
    expect(choose(join(cwd, 'tools/text/shout'))).to.deep.equal({
      dir: join(cwd, 'tools'),
      route: 'text/shout',
    });
    const inside = { cwd: join(cwd, 'old'), known: [] };
    expect(choosePlace('../tools/text/shout', inside).dir).to.equal(join(cwd, 'tools'));
    // A workspace: what it holds are projects, not plugins.
    expect(choose(join(cwd, 'work/tools/shout')).dir).to.equal(join(cwd, 'work/tools'));
  });

  it('knows a folder of plugins again by what was written to it, or because it is served', () => {
    expect(choose('made/text/shout')).to.deep.equal({ dir: join(cwd, 'made'), route: 'text/shout' });
    expect(choose('old/text/shout', { known: ['old'] }).route).to.equal('text/shout');
  });

  it('takes the folder that was named', () => {
    expect(choose('old/text/shout', { dir: 'old' }).route).to.equal('text/shout');
    expect(() => choose('x/shout', { dir: 'old' }))
      .to.throw()
      .with.nested.property('details[0].problem');
  });

  it('reads a file’s name as its route', () => {
    expect(choose('helpers/shout.mjs').route).to.equal('shout');
  });

  it('refuses what can be no route', () => {
    for (const path of ['helpers/Upper', 'helpers/a b', 'helpers/docs/x', 'helpers/_x']) {
      expect(() => choose(path), path)
        .to.throw()
        .with.property('code', 'invalid_input');
    }
  });
});
