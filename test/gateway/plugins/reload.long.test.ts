import { readdir, rm } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { until } from '../../needs.js';
import { answering, createReloadWorld, type ReloadWorld } from './reload-world.js';

describe('a reload of a plugin that cannot be loaded', () => {
  let world: ReloadWorld;

  before(async () => {
    world = await createReloadWorld();
    await world.write('shout.mjs', answering('good'));
    await world.write('other.mjs', answering(0));
    await world.reload();
  });

  after(() => world.close());

  const faults: [string, string, RegExp][] = [
    ['syntax', 'export default {\n  summary: "x"\n  input: {} }', /SyntaxError: .*line 3/],
    ['a throw', '\nthrow new Error("no database");', /Error: no database \(.*shout\.mjs:2:7\)/],
    ['no export', 'export const x = 1;', /has no default export/],
    ['no declaration', 'export default 7;', /must be a helper declaration/],
    ['no handler', answering(0).replace('handler', 'handle'), /handler must be a function/],
    ['a schema', answering(0).replace("'object'", "'objekt'"), /input\.type/],
    ['an example', answering(0, 'examples: [{ input: { a: 1 } }]'), /example 1 is refused/],
    [
      'what is no data',
      answering(0, 'examples: [{ input: { a: () => 1 } }]'),
      /examples\.0\.input\.a is a function, but must be data/,
    ],
    ['a function alone', 'export default function shout() {}', /but is a function; write "export default/],
    ['an import', `import './nowhere.mjs';\n${answering(0)}`, /nowhere\.mjs/],
    ['its configuration', answering(0, "config: { k: { env: 'NOWHERE', required: true } }"), /NOWHERE/],
    [
      'its setup',
      answering(0, 'setup() { throw new Error("no server"); }'),
      /setup failed: Error: no server/,
    ],
    ['an exit', 'process.exit(3);', /ended its thread, exit code 3/],
  ];
  for (const [index, [name, source, reason]] of faults.entries()) {
    it(`keeps its last good version, says why, and loads the others: ${name}`, async () => {
      await world.write('shout.mjs', source);
      await world.write('other.mjs', answering(index + 1));
      const report = await world.reload('shout.mjs', 'other.mjs');
      expect(report.reloaded).to.deep.equal(['other']);
      expect(report.problems.map(({ file }) => file)).to.deep.equal([world.path('shout.mjs')]);
      expect(report.problems[0]?.reason).to.match(reason);
      expect(world.shelf.problems()).to.deep.equal(report.problems);
      expect(await world.call('shout')).to.equal('good');
      expect(await world.call('other')).to.equal(index + 1);
    });
  }

  it('tells it once, and again where the file is saved again', async () => {
    await world.write('shout.mjs', 'export default 7;');
    await world.reload('shout.mjs');
    expect((await world.reload('other.mjs')).problems).to.deep.equal([]);
    expect(world.shelf.problems()).to.have.length(1);
    expect((await world.reload('shout.mjs')).problems).to.have.length(1);
  });

  it('takes the version that is mended, and forgets the problem', async () => {
    await world.write('shout.mjs', answering('mended'));
    expect((await world.reload('shout.mjs')).reloaded).to.deep.equal(['shout']);
    expect(world.shelf.problems()).to.deep.equal([]);
    expect(await world.call('shout')).to.equal('mended');
  });

  it('tells of a route that is taken, and gives it to the other when it is free', async () => {
    await world.write('shout/index.mjs', answering('rival'));
    const { problems } = await world.reload('shout/index.mjs');
    expect(problems[0]?.reason).to.match(/the route \/shout is taken by/);
    const [loser, winner] = [problems[0]?.file ?? '', /by (.*)$/.exec(problems[0]?.reason ?? '')?.[1] ?? ''];
    await rm(winner);
    await world.reload(winner.slice(world.folder.length + 1));
    expect(world.shelf.problems()).to.deep.equal([]);
    expect(world.shelf.get('shout')?.file).to.equal(loser);
  });

  it('that was never good has no helper, and gets one when it is', async () => {
    await world.write('late.mjs', 'export default 7;');
    expect((await world.reload('late.mjs')).added).to.deep.equal([]);
    await world.write('late.mjs', answering('late'));
    expect((await world.reload('late.mjs')).added).to.deep.equal(['late']);
  });

  it('goes with its file, though it could not be loaded', async () => {
    await world.write('late.mjs', 'export default 7;');
    await world.reload('late.mjs');
    await rm(world.path('late.mjs'));
    expect((await world.reload('late.mjs')).removed).to.deep.equal(['late']);
    expect(world.shelf.problems()).to.deep.equal([]);
  });
});

describe('a reload of a plugin whose import never ends', () => {
  let world: ReloadWorld;

  beforeEach(async () => {
    // The others have this time as well.
    world = await createReloadWorld({ importMs: 3_000 });
  });

  afterEach(() => world.close());

  for (const [name, source, reason] of [
    ['a loop', 'for (;;);', /did not finish within 4000 ms/],
    ['a wait', 'await new Promise(() => {});\nexport default {};', /did not (?:finish|settle) within/],
  ] as const) {
    it(`keeps its last good version, says why, and loads the others: ${name}`, async () => {
      await world.write('shout.mjs', answering('good'));
      await world.reload();
      await world.write('shout.mjs', source);
      await world.write('other.mjs', answering(1));
      const { added, reloaded, problems } = await world.reload('shout.mjs', 'other.mjs');
      expect({ added, reloaded }).to.deep.equal({ added: ['other'], reloaded: [] });
      expect(problems.map(({ file }) => file)).to.deep.equal([world.path('shout.mjs')]);
      expect(problems[0]?.reason).to.match(reason);
      expect([await world.call('shout'), await world.call('other')]).to.deep.equal(['good', 1]);
    });
  }
});

/** All of them where that is asked for, as CI does once; they take minutes. */
const isWhole = process.env.TEST_RELOADS === 'all';
const [reloads, warmUp] = isWhole ? [500, 100] : [60, 20];

interface Held {
  heap: number;
  rss: number;
  threads: number;
  resources: number;
}

describe(`${reloads} reloads one after another`, () => {
  let world: ReloadWorld;
  let collect: () => void;

  before(async () => {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
    world = await createReloadWorld();
    await reloadTo(0);
  });

  after(() => world.close());

  async function reloadTo(version: number): Promise<void> {
    await world.write('shout.mjs', answering(version));
    await world.reload('shout.mjs');
  }

  async function held(): Promise<Held> {
    await new Promise((resolve) => setTimeout(resolve, 200));
    collect();
    const { heapUsed, rss } = process.memoryUsage();
    const tasks = await readdir('/proc/self/task').catch(() => []);
    const resources = process.getActiveResourcesInfo().length;
    return { heap: heapUsed, rss, threads: tasks.length, resources };
  }

  it('fail no call, and hold no more in the end than after the first', async function () {
    this.timeout(1_800_000);
    let ended = false;
    let calls = 0;
    const caller = async () => {
      for (let last = 0; !ended; ) {
        const version = Number(await world.call('shout'));
        expect(version).to.be.at.least(last);
        last = version;
        calls += 1;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    const callers = Promise.all([caller(), caller(), caller()]);
    const reloadAmongCalls = async (version: number) => {
      const made = calls;
      await reloadTo(version);
      await until(() => calls > made);
    };
    for (let version = 1; version <= warmUp; version += 1) await reloadAmongCalls(version);
    const before = await held();
    for (let version = warmUp + 1; version <= reloads; version += 1) await reloadAmongCalls(version);
    const names = ['heap', 'threads', 'resources'] as const;
    // What the C library keeps for threads to come has reached its size only after some fifty of them.
    const counted = isWhole ? [...names, 'rss' as const] : names;
    const grown = (now: Held) => counted.filter((name) => now[name] > before[name] * 1.2);
    let after = await held();
    // The last threads end when they get to it, and the callers go on.
    for (let tries = 0; grown(after).length > 0 && tries < 50; tries += 1) after = await held();
    ended = true;
    await callers;
    expect(await world.call('shout')).to.equal(reloads);
    for (const name of grown(after)) expect(after[name], name).to.be.at.most(before[name] * 1.2);
  });
});
