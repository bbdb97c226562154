import { link, mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { expect } from 'chai';
import type { Job } from '../../../../gateway/commands/call/jobs.js';
import { type AnswerForm, planResultPaths, writeResult } from '../../../../gateway/commands/call/results.js';

const pictures: AnswerForm = { onlyData: false, pictures: true, defaultFormat: 'png' };
const unknownForm: AnswerForm = { onlyData: false, pictures: false };
const same = { format: 'same' };

interface PlanOptions {
  format?: string;
  form?: AnswerForm;
  out?: string;
  outDir?: string | undefined;
  shared?: string[];
}

describe('places of results', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'places-'));
    await mkdir(join(folder, 'in'));
    for (const name of ['a.png', 'a.jpg', 'B.JPG', 'in/a.png']) await writeFile(join(folder, name), name);
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Plans for files by their names, one behind the other. */
  async function plan(
    files: string,
    { format, form = pictures, out, shared = [], ...dir }: PlanOptions = {},
  ) {
    const outDir = 'outDir' in dir || out !== undefined ? dir.outDir : '.';
    const jobs = files.split(' ').map((name): Job => {
      const file = name === '-' ? name : join(folder, name);
      return { file, reads: [file, ...shared], load: async () => ({}) };
    });
    const words = {
      values: new Map(format === undefined ? [] : [['format', format]]),
      ...(outDir === undefined ? {} : { outDir: join(folder, outDir) }),
      ...(out === undefined ? {} : { out }),
    };
    const places = await planResultPaths({ words, service: 'media/convert', jobs, form });
    return { jobs, places, problem: places.problem?.details?.[0]?.problem };
  }

  for (const [what, files, types, options, names] of [
    [
      'by the order of the files, whichever ends first',
      'a.png a.jpg in/a.png B.JPG b.gif -',
      'image/webp',
      { format: 'webp' },
      'a.webp a-2.webp a-3.webp B.webp b-2.webp media-convert.webp',
    ],
    ['past names that are used', 'a.png in/a.png a-2.png', 'image/png', {}, 'a.png a-2.png a-2-2.png'],
    // An outside helper's format is known with its answer.
    ['by an answer’s type', 'a.png a.jpg', 'text/csv text/plain', { form: unknownForm }, 'a.csv a-2.txt'],
    [
      'apart by each format',
      'a.png a.jpg in/a.png',
      'image/png image/jpeg image/png',
      same,
      'a.png a.jpg a-2.png',
    ],
    ['apart by a wrong ending', 'a.png a.jpg', 'image/png', same, 'a.png a.jpg.png'],
    ['never twice', 'a.png a.jpg a.jpg.png', 'image/png', same, 'a.png REFUSED a.jpg.png'],
  ] as const) {
    it(`are named ${what}`, async () => {
      const { jobs, places } = await plan(files, { outDir: 'out', ...options });
      const [first = '', ...others] = types.split(' ');
      const found: string[] = [];
      // The last to begin is the first to end.
      for (const [at, job] of [...jobs.entries()].reverse()) {
        const path = await places.pathFor(job, others[at - 1] ?? first).catch(() => 'REFUSED');
        found.unshift(basename(path ?? ''));
      }
      expect(found.join(' ')).to.equal(names);
    });
  }

  it('are refused before the first call where a result would replace a source', async () => {
    expect((await plan('in/a.png a.jpg', { format: 'JPEG' })).problem).to.equal(
      `must be another folder: the result of ${folder}/in/a.png would replace ${folder}/a.jpg, which this command reads`,
    );
    expect((await plan('a.jpg B.JPG', { format: 'jpg' })).problem).to.match(/; 1 more likewise$/);
    expect((await plan('in/a.png', { format: 'webp' })).problem).to.equal(undefined);
    // Read with each of them, and missing: it must not be there by the time it is read.
    const shared = [join(folder, 'a.webp')];
    expect((await plan('a.jpg', { format: 'webp', shared })).problem).to.include('would replace');
    const form = { onlyData: true, pictures: false };
    expect((await plan('in/a.png a.json', { form })).problem).to.include('a.json, which this command reads');
  });

  it('are refused by whatever path they lead to a source', async () => {
    await symlink(folder, join(folder, 'link'));
    await symlink(join(folder, 'in/a.png'), join(folder, 'c.png'));
    await link(join(folder, 'in/a.png'), join(folder, 'd.png'));
    const here = relative(process.cwd(), join(folder, 'a.jpg'));
    for (const [files, options] of [
      ['a.png', { outDir: 'link' }],
      ['link/in/a.png', { outDir: 'in/../link/in' }],
      ['in/b.webp B.JPG', { format: 'jpg' }],
      // Its result would be the link's or the file's that other names lead to.
      ['c.gif in/a.png', {}],
      ['d.gif in/a.png', {}],
      ['in/a.gif c.png', { outDir: 'in' }],
      ...[here, `./${here}`, join(folder, 'A.JPG'), `${folder}/link/a.jpg`].map(
        (out) => ['a.jpg', { out }] as const,
      ),
    ] as const)
      expect((await plan(files, options)).problem, files).to.include('would replace');
    // Not what is there besides, from an earlier run.
    for (const options of [{ out: join(folder, 'a.jpg') }, { out: '/dev/null', shared: ['/dev/null'] }])
      expect((await plan('a.png', options)).problem).to.equal(undefined);
  });

  it('are refused when the answer says the format, where it was not known before', async () => {
    for (const options of [same, { form: unknownForm }]) {
      const { jobs, places, problem } = await plan('in/a.png a.jpg', options);
      expect(problem).to.equal(undefined);
      const error = await places.pathFor(jobs[0] as Job, 'image/jpeg').catch((reason) => reason);
      expect(error.details[0].field).to.equal('out-dir');
      expect(error.details[0].problem).to.include('would replace');
      expect(await places.pathFor(jobs[0] as Job, 'image/gif')).to.match(/\/a\.gif$/);
    }
  });

  it('get the whole result, and nothing beside it', async () => {
    await writeResult(`${folder}/a/b/x.png`, 'result', 'out-dir');
    expect(await readFile(`${folder}/a/b/x.png`, 'utf8')).to.equal('result');
    expect(await readdir(`${folder}/a/b`)).to.deep.equal(['x.png']);
  });

  it('that cannot be written to are refused by the option, the place and the reason', async () => {
    for (const [option, path, problem] of [
      ['out-dir', `${folder}/a.png/a/x.png`, `${folder}/a.png/a is no folder`],
      ['out', `${folder}/none/x.png`, `there is no folder ${folder}/none`],
      ['out-dir', '/proc/nope/x.png', 'the folder /proc/nope cannot be made'],
      ['out', '/dev/full', 'there is no space left for /dev/full'],
    ] as const) {
      if (process.platform !== 'linux' && /^\/(proc|dev)/.test(path)) continue;
      const error = await writeResult(path, 'result', option).catch((reason) => reason);
      expect(error.details).to.deep.equal([{ field: option, problem: `cannot be written to: ${problem}` }]);
    }
  });

  it('that are no files are written into, and never replaced', async function () {
    if (process.platform !== 'linux') return this.skip();
    await writeResult('/dev/null', 'result', 'out');
    expect(await readFile('/dev/null', 'utf8')).to.equal('');
    // As `/dev/stdout` is where it is redirected to a file.
    const file = join(folder, 'in', 'redirected');
    const opened = await open(file, 'w');
    await writeResult(`/dev/fd/${opened.fd}`, 'result', 'out');
    await opened.close();
    expect(await readFile(file, 'utf8')).to.equal('result');
    expect(await readdir(join(folder, 'in'))).to.deep.equal(['a.png', 'redirected']);
  });
});
