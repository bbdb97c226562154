import type { Answer } from '../../pool/answer.js';
import type { ImageLimits } from '../../pool/image/engine.js';
import { checkHeader } from '../../pool/image/header.js';
import { mediaTypes } from '../../pool/image/options.js';
import type { FileBytes, TaskFiles } from '../../pool/task.js';
import { type FileField, sourceField } from '../../schemas/declared-helper.js';
import type { CheckedUrl } from '../download/fetch.js';
import type { FileRequest, SourceFile, SourceFiles } from '../download/source-files.js';
import { GatewayError, inputError, toGatewayError } from '../errors.js';
import { essenceOf, fileType } from '../http/body.js';
import type { Helper, Step } from '../plugins/registry.js';
import type { AdmittedCall } from './admit.js';
import type { BodyInput } from './read-input.js';
import type { Caller, Stage } from './stage.js';

interface CallWithInput extends AdmittedCall {
  caller: Caller;
  input: Record<string, unknown>;
  uploads: BodyInput['uploads'];
  steps?: readonly Step[] | undefined;
}

/** The files by their fields, those of a step as `1.mark`; absent without any, and in a dry run. */
export interface SourceFound {
  files: TaskFiles | undefined;
}

type SourceStage = Stage<CallWithInput, SourceFound>;

interface WantedFile {
  file: FileField;
  url: CheckedUrl;
}

/** Brings a helper's files from uploads and urls and checks pictures' headers; in a dry run only checks urls. */
export function fetchSource(
  helper: Helper,
  source: SourceFiles,
  limits: ImageLimits,
): SourceStage | undefined {
  const { files } = helper.declaration;
  if (files.length === 0) return undefined;
  return function fetchSource(call, next) {
    const { input, uploads, steps = [] } = call;
    const want = (file: FileField, url: unknown): WantedFile[] =>
      typeof url === 'string'
        ? [{ file, url: namingFile(file, 'url', () => source.check(url, file.parameter)) }]
        : [];
    const wanted = [
      ...files.flatMap((file) => want(file, input[file.parameter])),
      ...steps.flatMap((step, at) =>
        step.helper.declaration.files.flatMap((file) => {
          const named = { ...file, field: `${at}.${file.field}`, parameter: step.fieldOf(file.parameter) };
          return want(named, step.input[file.parameter]);
        }),
      ),
    ];
    if (call.state.dryrun) return next({ files: undefined });
    const here = files.flatMap((file): [string, FileBytes][] => {
      const upload = uploads.get(file.field);
      if (upload) namingFile(file, 'upload', () => checkFile(file, upload, 'upload', limits));
      return upload ? [[file.field, upload]] : [];
    });
    if (wanted.length > 0) return bring(wanted, here, call, next);
    return next({ files: here.length > 0 ? Object.fromEntries(here) : undefined });
  };

  async function bring(
    wanted: readonly WantedFile[],
    here: readonly [string, FileBytes][],
    call: CallWithInput,
    next: Parameters<SourceStage>[1],
  ): Promise<Answer> {
    const { state, ticket } = call;
    const brought: SourceFile[] = [];
    try {
      const came = fromCache() ?? (await download());
      for (const [, { bytes }] of came) state.bytesIn += bytes.byteLength;
      return await next({ files: Object.fromEntries([...here, ...came]) });
    } finally {
      for (const { release } of brought) release();
    }

    function use({ file, url }: WantedFile, came: SourceFile): [string, FileBytes] {
      brought.push(came);
      return [file.field, read(file, url, came)];
    }

    /** All files, where all are cached: they need no signals, which would cost many times as much. */
    function fromCache() {
      const cached = wanted.flatMap((each) => {
        const { file, url } = each;
        const handOut = namingFile(file, 'url', () => source.cached(url, fileRequest(file, call)));
        return handOut ? [() => namingFile(file, 'url', () => use(each, handOut()))] : [];
      });
      return cached.length < wanted.length ? undefined : cached.map((useCached) => useCached());
    }

    async function download() {
      // The first failure ends the other downloads.
      const others = new AbortController();
      const signal = AbortSignal.any([state.signal, others.signal]);
      // Once, and only where a file has to be downloaded.
      let reserved: Promise<void> | undefined;
      const expect = () => (reserved ??= ticket().reserve());
      const coming = wanted.map(async (each) => {
        try {
          const wait = { signal, expect, trace: state.trace };
          return use(each, await source.bring(each.url, { ...fileRequest(each.file, call), ...wait }));
        } catch (error) {
          throw signal.aborted ? error : aboutFile(each.file, 'url', error);
        }
      });
      try {
        return await Promise.all(coming);
      } catch (error) {
        others.abort();
        // One may have arrived while another failed.
        await Promise.allSettled(coming);
        throw error;
      }
    }
  }

  function read(file: FileField, url: CheckedUrl, { bytes, type, shared }: SourceFile): FileBytes {
    const name = nameIn(url);
    const known = { ...(name === undefined ? {} : { name }), ...(shared ? { shared } : {}) };
    const came: FileBytes = { bytes, type: fileType(type, name), ...known };
    checkFile(file, came, 'url', limits);
    return came;
  }
}

function fileRequest({ types, kind, maxBytes }: FileField, { caller }: CallWithInput): FileRequest {
  const accept = types?.join(', ') ?? (kind === 'image' ? 'image/*' : '*/*');
  return { tenant: caller.tenant.id, accept, maxBytes };
}

function namingFile<T>(file: FileField, way: FileOrigin, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw aboutFile(file, way, error);
  }
}

function nameIn({ href }: CheckedUrl): string | undefined {
  const last = new URL(href).pathname.split('/').at(-1) ?? '';
  if (last === '') return undefined;
  try {
    return decodeURIComponent(last).slice(0, 200);
  } catch {
    return last.slice(0, 200);
  }
}

type FileOrigin = 'upload' | 'url';

/** Checks a file's size, its header and its type against its field. A picture's type is read from its bytes. */
function checkFile(field: FileField, file: FileBytes, way: FileOrigin, limits: ImageLimits): void {
  const { byteLength } = file.bytes;
  if (way === 'upload' && field.maxBytes !== undefined && byteLength > field.maxBytes) {
    const message = `The file has ${byteLength} bytes; ${field.maxBytes} are accepted.`;
    throw new GatewayError('too_large', { message });
  }
  if (field.kind === 'image') file.header = checkHeader(file.bytes, limits);
  const type = file.header ? mediaTypes[file.header.format] : essenceOf(file.type);
  if (field.types && !field.types.some((allowed) => matchesType(type, allowed))) {
    throw inputError([typeProblem(field, type, way)]);
  }
}

/** Errors of no file, or that name it already. */
const notAboutFile = /^(?:invalid_input|internal|tenant_busy|busy|shutting_down)$/;

function aboutFile({ parameter, field }: FileField, way: FileOrigin, thrown: unknown): unknown {
  const error = toGatewayError(thrown);
  const isOnly = field === sourceField.field && parameter === sourceField.parameter;
  if (isOnly || notAboutFile.test(error.code)) return thrown;
  const name = way === 'url' ? parameter : field;
  return new GatewayError(error.code, { message: `${name}: ${error.message}`, cause: error.cause ?? error });
}

function typeProblem({ field, parameter, types = [] }: FileField, type: string, way: FileOrigin) {
  const allowed = `allowed ${types.length === 1 ? 'is' : 'are'} ${types.join(', ')}`;
  const problem = `a file of the type ${type.slice(0, 100)}; ${allowed}`;
  if (way === 'url') return { field: parameter, problem: `leads to ${problem}` };
  return { field, problem: `is ${problem}` };
}

function matchesType(type: string, allowed: string): boolean {
  const wanted = allowed.toLowerCase();
  return wanted.endsWith('/*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}
