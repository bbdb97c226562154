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

  it('are named by the order of the files, whichever ends first', async () => {
    const files = ['a.png', 'a.jpg', 'in/a.png', 'B.JPG', 'b.gif', '-'];
    expect(await namesOf(files, ['image/webp'], { format: 'webp' })).to.deep.equal([
      'a.webp',
      'a-2.webp',
      'a-3.webp',
      'B.webp',
      'b-2.webp',
      'media-convert.webp',
    ]);
    expect(await namesOf(['a.png', 'in/a.png', 'a-2.png'], ['image/png'])).to.deep.equal([
      'a.png',
      'a-2.png',
      'a-2-2.png',
    ]);
    // What an outside helper answers is known when it is there.
    const unknown = { form: { onlyData: false, pictures: false } };
    expect(await namesOf(['a.png', 'a.jpg'], ['text/csv', 'text/plain'], unknown)).to.deep.equal([
      'a.csv',
      'a-2.txt',
    ]);
  });

  it('keep sources of two formats apart where each keeps its own', async () => {
    const files = ['a.png', 'a.jpg', 'in/a.png'];
    const same = { format: 'same' };
    expect(await namesOf(files, ['image/png', 'image/jpeg', 'image/png'], same)).to.deep.equal([
      'a.png',
      'a.jpg',
      'a-2.png',
    ]);
    // The second is a PNG by its bytes.
    expect(await namesOf(['a.png', 'a.jpg'], ['image/png', 'image/png'], same)).to.deep.equal([
      'a.png',
      'a.jpg.png',
    ]);
  });

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

  it('are refused where two results would have one name after all', async () => {
    const files = ['a.png', 'a.jpg', 'a.jpg.png'];
    expect(await namesOf(files, ['image/png'], { format: 'same' })).to.deep.equal(['a.png', '', 'a.jpg.png']);
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
    const error = await writeResult(path, 'result', { option }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
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
    expect(await problemOf('out-dir', join(file, 'x.png'))).to.equal(`${file} is no folder`);
    expect(await problemOf('out-dir', join(file, 'a', 'x.png'))).to.equal(`${join(file, 'a')} is no folder`);
    const long = join(folder, 'a'.repeat(300), 'x.png');
    expect(await problemOf('out-dir', long)).to.equal(`the name is too long: ${long}`);
    const none = join(folder, 'none');
    expect(await problemOf('out', join(none, 'x.png'))).to.equal(`there is no folder ${none}`);
    symlinkSync(none, join(folder, 'link'));
    const link = join(folder, 'link');
    expect(await problemOf('out-dir', join(link, 'x.png'))).to.equal(`${link} is no folder`);
  });

  it('is refused where nothing can be made or kept', async function () {
    if (!onLinux) return this.skip();
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
