import { randomUUID } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { extension, lookup } from 'mime-types';
import { mediaTypes } from '../../../pool/image/options.js';
import { type GatewayError, inputError } from '../../errors.js';
import { makeFolder, writeProblem } from '../../file-system.js';
import type { Job } from './jobs.js';
import type { Words } from './words.js';

/** What a helper answers with, as far as its declaration says. */
export interface AnswerForm {
  onlyData: boolean;
  /** Whether it answers with pictures, in the format of its parameter `format`. */
  pictures: boolean;
  defaultFormat?: unknown;
}

/** Where the result of each call goes. */
export interface ResultPaths {
  /** Why no call may be made. */
  problem: GatewayError | undefined;
  /** The option that says where. */
  option: 'out' | 'out-dir';
  /** Undefined for standard output. Throws where the result would replace what this run reads or has written. */
  pathFor(job: Job, type: string): Promise<string | undefined>;
}

interface PlanOptions {
  words: Pick<Words, 'out' | 'outDir' | 'values'>;
  service: string;
  jobs: readonly Job[];
  form: AnswerForm;
}

/** Plans where results go before the first call, so that no result replaces a source or another result of the same run. */
export async function planResultPaths({ words, service, jobs, form }: PlanOptions): Promise<ResultPaths> {
  const { out, outDir } = words;
  const option = outDir === undefined ? 'out' : 'out-dir';
  const problem = usageProblem(words, jobs.length);
  if (problem || (outDir === undefined && (out === undefined || out === '-'))) {
    return { problem, option, pathFor: async () => undefined };
  }
  const expected = expectedEnding(words.values, form);
  const nameFor = outDir === undefined ? undefined : createNames(jobs, service, expected);
  const sources = await findSources(jobs);
  const written = new Map<string, Job>();

  const pathOf = (job: Job, ending: string) =>
    nameFor ? join(outDir ?? '', nameFor(job, ending)) : (out ?? '');
  const resultOf = ({ file }: Job) => `the result${file === undefined ? '' : ` of ${nameOf(file)}`}`;

  async function replacedBy(job: Job, path: string): Promise<string | undefined> {
    const source = await sources.at(path);
    if (source !== undefined) return `${resultOf(job)} would replace ${source}, which this command reads`;
    const other = written.get(fold(path));
    if (other === undefined || other === job) return undefined;
    return `${resultOf(job)} would replace ${resultOf(other)}`;
  }

  async function findProblem(): Promise<GatewayError | undefined> {
    // The name of the one file does not depend on its format.
    const ending = nameFor ? expected : '';
    if (ending === undefined || ending === 'same') return undefined;
    const found = await Promise.all(jobs.map((job) => replacedBy(job, pathOf(job, ending))));
    const [first, ...more] = found.filter((each) => each !== undefined);
    if (first === undefined) return undefined;
    return replaced(option, more.length === 0 ? first : `${first}; ${more.length} more likewise`);
  }

  return {
    problem: await findProblem(),
    option,
    async pathFor(job, type) {
      const path = pathOf(job, extension(type) || 'bin');
      const found = await replacedBy(job, path);
      if (found !== undefined) throw replaced(option, found);
      written.set(fold(path), job);
      return path;
    },
  };
}

function usageProblem({ out, outDir }: PlanOptions['words'], count: number): GatewayError | undefined {
  const both = outDir !== undefined && 'is given together with out-dir; give only one of them';
  const many = count > 1 && `is one file for ${count} results; give a folder with --out-dir`;
  const problem = out !== undefined && (both || many);
  return problem ? inputError([{ field: 'out', problem }]) : undefined;
}

function replaced(field: 'out' | 'out-dir', found: string): GatewayError {
  return inputError([{ field, problem: `must be another ${field === 'out' ? 'file' : 'folder'}: ${found}` }]);
}

/** The ending of all results' names, `same` for each source's own, or undefined where only the answer says it. */
function expectedEnding(values: Words['values'], form: AnswerForm): string | undefined {
  if (form.onlyData || /^(?:true|1)$/.test(values.get('dryrun') ?? '')) return 'json';
  if (!form.pictures) return undefined;
  const format = String(values.get('format') ?? form.defaultFormat).toLowerCase();
  if (format === 'same') return format;
  const type = Object.entries({ ...mediaTypes, jpeg: mediaTypes.jpg }).find(([name]) => name === format)?.[1];
  return type && (extension(type) || undefined);
}

/** Names results like their sources; the second of a name gets a number, by the order of jobs, before any call. */
function createNames(
  jobs: readonly Job[],
  service: string,
  expected: string | undefined,
): (job: Job, ending: string) => string {
  const used = new Set<string>();
  const stems = new Set<string>();
  const names = new Map<Job, (ending: string) => string>();
  for (const job of jobs) {
    const { file = '-' } = job;
    const source = file === '-' ? service.replaceAll('/', '-') : basename(file);
    const own = expected === 'same' ? extension(lookup(extname(source)) || '') || '' : '';
    const stem = basename(source, extname(source));
    const nth = (n: number) => (n === 1 ? stem : `${stem}-${n}`);
    let n = 1;
    while (used.has(fold(`${nth(n)}.${own}`))) n += 1;
    const name = nth(n);
    const isShared = stems.has(fold(name));
    used.add(fold(`${name}.${own}`));
    stems.add(fold(name));
    // A source whose name says another format than its bytes.
    const nameFor = (ending: string) => (isShared && own !== '' && own !== ending ? `${name}.${own}` : name);
    names.set(job, (ending) => `${nameFor(ending)}.${ending}`);
  }
  return (job, ending) => names.get(job)?.(ending) ?? '';
}

/** Some file systems do not distinguish upper and lower case, nor the forms of Unicode: results must differ by more than these. */
function fold(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** The files that the jobs read, found again by any path that leads to one of them: another spelling, a link, another case. */
async function findSources(jobs: readonly Job[]): Promise<{ at(path: string): Promise<string | undefined> }> {
  const byId = new Map<string, string>();
  const byPlace = new Map<string, string>();
  const folders = new Map<string, Promise<string>>();

  /** A path with links in its folder followed, and not one that it may be itself. */
  async function placeOf(path: string): Promise<string> {
    const folder = dirname(path);
    const real = folders.get(folder) ?? realFolder(folder);
    folders.set(folder, real);
    return join(await real, fold(basename(path)));
  }

  async function add(source: string): Promise<void> {
    const about =
      source === '-' ? standardInput() : await stat(source, { bigint: true }).catch(() => undefined);
    // A result cannot replace a folder, and nothing of a pipe is lost.
    if (about && !about.isFile()) return;
    const name = nameOf(source);
    // Some network file systems give every file the number 0.
    if (about && about.ino !== 0n) byId.set(`${about.dev}:${about.ino}`, name);
    if (source !== '-') byPlace.set(await placeOf(source), name);
  }

  await Promise.all([...new Set(jobs.flatMap(({ reads }) => reads))].map(add));
  return {
    async at(path) {
      const about = await stat(path, { bigint: true }).catch(() => undefined);
      if (about && !about.isFile()) return undefined;
      return byPlace.get(await placeOf(path)) ?? (about && byId.get(`${about.dev}:${about.ino}`));
    },
  };
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file;
}

function standardInput() {
  try {
    return fstatSync(0, { bigint: true });
  } catch {
    return undefined; // It is closed.
  }
}

/** A folder without links; one that is not there yet below the nearest that is. */
async function realFolder(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () =>
    above === path ? path : join(await realFolder(above), basename(path)),
  );
}

/** Writes a whole file or none. Throws `invalid_input` on the option that named the place. */
export async function writeResult(
  path: string,
  bytes: Uint8Array | string,
  option: 'out' | 'out-dir',
): Promise<void> {
  const unfinished = join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}`);
  try {
    if (option === 'out-dir') await makeFolder(dirname(path));
    if (await isDevice(path)) return await writeFile(path, bytes);
    await writeFile(unfinished, bytes);
    await rename(unfinished, path);
  } catch (error) {
    // It may be that nothing can be there at all, as below a file.
    await rm(unfinished, { force: true }).catch(() => undefined);
    const problem = `cannot be written to: ${writeProblem(error, path)}`;
    throw inputError([{ field: option, problem }], error);
  }
}

/** Links to what a process has open, which may be a file. */
const openFiles = /^\/(?:dev\/(?:stdout|stderr|fd\/)|proc\/)/;

/** `/dev/null`, `/dev/stdout`, a pipe: written into. Replacing it by a file would break it for the whole machine. */
async function isDevice(path: string): Promise<boolean> {
  if (openFiles.test(resolve(path))) return true;
  const about = await stat(path).catch(() => undefined);
  return about !== undefined && !about.isFile() && !about.isDirectory();
}
