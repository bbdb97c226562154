import {
  closeSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { expect } from 'chai';
import type { Job } from '../../../../gateway/commands/call/jobs.js';
import { type AnswerForm, planResultPaths, writeResult } from '../../../../gateway/commands/call/results.js';
import { GatewayError } from '../../../../gateway/errors.js';

const pictures: AnswerForm = { onlyData: false, pictures: true, defaultFormat: 'png' };

describe('places of results', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'places-'));
    mkdirSync(join(folder, 'in'));
    for (const name of ['a.png', 'a.jpg', 'B.JPG', 'in/a.png']) writeFileSync(join(folder, name), name);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const jobsOf = (files: string[], shared: string[] = []): Job[] =>
    files.map((name) => {
      const file = name === '-' ? name : join(folder, name);
      return { file, reads: [file, ...shared], load: async () => ({}) };
    });

  async function plan(
    files: string[],
    {
      format,
      form = pictures,
      out,
      outDir = '.',
      shared,
    }: {
      format?: string;
      form?: AnswerForm;
      out?: string;
      outDir?: string | null;
      shared?: string[];
    } = {},
  ) {
    const jobs = jobsOf(files, shared);
    const values = new Map(format === undefined ? [] : [['format', format]]);
    const words = {
      values,
      ...(outDir === null ? {} : { outDir: join(folder, outDir) }),
      ...(out === undefined ? {} : { out }),
    };
    const places = await planResultPaths({ words, service: 'media/convert', jobs, form });
    return { jobs, places, problem: places.problem?.details?.[0]?.problem };
  }

  const namesOf = async (files: string[], types: string[], options: Parameters<typeof plan>[1] = {}) => {
    const { jobs, places } = await plan(files, { outDir: 'out', ...options });
    // The last to begin is the first to end.
    const names = new Map<Job, string>();
    for (const [at, job] of [...jobs.entries()].reverse()) {
      const path = await places.pathFor(job, types[at] ?? types[0] ?? '').catch(() => undefined);
      names.set(job, path === undefined ? '' : basename(path));
    }
    return jobs.map((job) => names.get(job));
  };

  for (const [what, files, types, options, names] of [
    [
      'by the order of the files, whichever ends first',
      ['a.png', 'a.jpg', 'in/a.png', 'B.JPG', 'b.gif', '-'],
      ['image/webp'],
      { format: 'webp' },
      ['a.webp', 'a-2.webp', 'a-3.webp', 'B.webp', 'b-2.webp', 'media-convert.webp'],
    ],
    [
      'past names that are used',
      ['a.png', 'in/a.png', 'a-2.png'],
      ['image/png'],
      {},
      ['a.png', 'a-2.png', 'a-2-2.png'],
    ],
    // An outside helper's format is known with its answer.
    [
      'by the type of an unknown answer',
      ['a.png', 'a.jpg'],
      ['text/csv', 'text/plain'],
      { form: { onlyData: false, pictures: false } },
      ['a.csv', 'a-2.txt'],
    ],
    [
      'apart where each keeps its format',
      ['a.png', 'a.jpg', 'in/a.png'],
      ['image/png', 'image/jpeg', 'image/png'],
      { format: 'same' },
      ['a.png', 'a.jpg', 'a-2.png'],
    ],
    [
      'apart where a source has a wrong ending',
      ['a.png', 'a.jpg'],
      ['image/png', 'image/png'],
      { format: 'same' },
      ['a.png', 'a.jpg.png'],
    ],
    [
      'never twice, but refused',
      ['a.png', 'a.jpg', 'a.jpg.png'],
      ['image/png'],
      { format: 'same' },
      ['a.png', '', 'a.jpg.png'],
    ],
  ] as const) {
    it(`are named ${what}`, async () => {
      expect(await namesOf([...files], [...types], options)).to.deep.equal(names);
    });
  }

  it('are refused before the first call where a result would replace a source', async () => {
    const { problem } = await plan(['in/a.png', 'a.jpg'], { format: 'JPEG' });
    expect(problem).to.equal(
      `must be another folder: the result of ${join(folder, 'in/a.png')} would replace ${join(folder, 'a.jpg')}, which this command reads`,
    );
    expect((await plan(['a.jpg', 'B.JPG'], { format: 'jpg' })).problem).to.match(/; 1 more likewise$/);
    expect((await plan(['in/a.png'], { format: 'webp' })).problem).to.equal(undefined);
    // Read with each of them, and missing: it must not be there by the time it is read.
    expect((await plan(['a.jpg'], { format: 'webp', shared: [join(folder, 'a.webp')] })).problem).to.include(
      'would replace',
    );
    const data = { form: { onlyData: true, pictures: false } };
    expect((await plan(['in/a.png', 'a.json'], data)).problem).to.include('a.json, which this command reads');
  });

  it('are refused by whatever path they lead to a source', async () => {
    symlinkSync(folder, join(folder, 'link'));
    symlinkSync(join(folder, 'in/a.png'), join(folder, 'c.png'));
    linkSync(join(folder, 'in/a.png'), join(folder, 'd.png'));
    const refused = async (files: string[], options: Parameters<typeof plan>[1]) =>
      expect((await plan(files, options)).problem, files.join()).to.include('would replace');
    await refused(['a.png'], { outDir: 'link' });
    await refused(['link/in/a.png'], { outDir: 'in/../link/in' });
    await refused(['in/b.webp', 'B.JPG'], { format: 'jpg' });
    // Its result would be the link's or the file's that other names lead to.
    await refused(['c.gif', 'in/a.png'], {});
    await refused(['d.gif', 'in/a.png'], {});
    await refused(['in/a.gif', 'c.png'], { outDir: 'in' });
    const here = relative(process.cwd(), join(folder, 'a.jpg'));
    for (const out of [here, `./${here}`, join(folder, 'A.JPG'), join(folder, 'link', 'a.jpg')])
      await refused(['a.jpg'], { out, outDir: null });
    // Not what is there besides, from an earlier run.
    expect((await plan(['a.png'], { out: join(folder, 'a.jpg'), outDir: null })).problem).to.equal(undefined);
    expect(
      (await plan(['a.png'], { out: '/dev/null', outDir: null, shared: ['/dev/null'] })).problem,
    ).to.equal(undefined);
  });

  it('are refused when the answer says the format, where it was not known before', async () => {
    for (const options of [{ format: 'same' }, { form: { onlyData: false, pictures: false } }]) {
      const { jobs, places, problem } = await plan(['in/a.png', 'a.jpg'], options);
      expect(problem).to.equal(undefined);
      const error = await places.pathFor(jobs[0] as Job, 'image/jpeg').catch((reason) => reason);
      expect(error.details?.[0]).to.include({ field: 'out-dir' });
      expect(error.details?.[0].problem).to.include('would replace');
      const path = await places.pathFor(jobs[0] as Job, 'image/gif');
      expect(path && basename(path)).to.equal('a.gif');
    }
  });
});

const onLinux = process.platform === 'linux';

describe("a call's result on the disk", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'deliver-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What is wrong with the option. */
  async function problemOf(option: 'out' | 'out-dir', path: string): Promise<string> {
    const error = await writeResult(path, 'result', { option }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(GatewayError);
    const { details = [] } = error as GatewayError;
    expect(details.map(({ field }) => field)).to.deep.equal([option]);
    return details[0]?.problem.replace('cannot be written to: ', '') ?? '';
  }

  it('is whole under its name, and nothing stands beside it', async () => {
    await writeResult(join(folder, 'a', 'b', 'x.png'), 'result', { option: 'out-dir' });
    expect(readFileSync(join(folder, 'a', 'b', 'x.png'), 'utf8')).to.equal('result');
    expect(readdirSync(join(folder, 'a', 'b'))).to.deep.equal(['x.png']);
  });

  it('is refused by the option, the place and the reason', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(await problemOf('out-dir', join(file, 'a', 'x.png'))).to.equal(`${join(file, 'a')} is no folder`);
    const none = join(folder, 'none');
    expect(await problemOf('out', join(none, 'x.png'))).to.equal(`there is no folder ${none}`);
    if (!onLinux) return;
    expect(await problemOf('out-dir', '/proc/nope/x.png')).to.equal('the folder /proc/nope cannot be made');
    expect(await problemOf('out', '/dev/full')).to.equal('there is no space left for /dev/full');
  });

  it('goes into what is no file, and never takes its place', async function () {
    if (!onLinux) return this.skip();
    await writeResult('/dev/null', 'result', { option: 'out' });
    expect(statSync('/dev/null').isCharacterDevice()).to.equal(true);
    // As `/dev/stdout` is where it is redirected to a file.
    const file = join(folder, 'redirected');
    const opened = openSync(file, 'w');
    await writeResult(`/dev/fd/${opened}`, 'result', { option: 'out' });
    closeSync(opened);
    expect(readFileSync(file, 'utf8')).to.equal('result');
    expect(readdirSync(folder)).to.deep.equal(['redirected']);
  });
});
