import type { Answer } from '../../pool/answer.js';
import type { ImageLimits } from '../../pool/image/engine.js';
import { checkHeader } from '../../pool/image/header.js';
import { mediaTypes } from '../../pool/image/options.js';
import type { FileBytes, TaskFiles } from '../../pool/task.js';
import { type FileField, sourceField } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import type { CheckedUrl } from '../download/fetch.js';
import type { FileRequest, SourceFile, SourceFiles } from '../download/source-files.js';
import { GatewayError, inputError, toGatewayError } from '../errors.js';
import { fileType } from '../http/body.js';
import type { Helper } from '../plugins/registry.js';
import type { AdmittedCall } from './admit.js';
import type { BodyInput } from './read-input.js';
import type { Caller, Stage } from './stage.js';

interface CallWithInput extends AdmittedCall {
  caller: Caller;
  input: Record<string, unknown>;
  uploads: BodyInput['uploads'];
}

/** The files by their fields; absent without any, and in a dry run. */
export interface SourceFound {
  files: TaskFiles | undefined;
}

type SourceStage = Stage<CallWithInput, SourceFound>;

interface WantedFile {
  file: FileField;
  url: CheckedUrl;
}

/**
 * Brings a helper's files from uploads and urls, and checks the headers of pictures, so that no bad or too large one reaches a
 * worker. A dry run only checks urls.
 */
export function fetchSource(
  helper: Helper,
  source: SourceFiles,
  limits: ImageLimits,
): SourceStage | undefined {
  const { files } = helper.declaration;

  if (files.length === 0) return undefined;
  return function fetchSource(call, next) {
    const { input, uploads } = call;
    const wanted = files.flatMap((file): WantedFile[] => {
      const url = input[file.parameter];
      return typeof url === 'string'
        ? [{ file, url: namingFile(file, 'url', () => source.check(url, file.parameter)) }]
        : [];
    });
    if (call.state.dryrun) return next({ files: undefined });
    const here = files.flatMap((file): [string, FileBytes][] => {
      const upload = uploads.get(file.field);
      if (upload) namingFile(file, 'upload', () => checkFile(file, upload, { way: 'upload', limits }));
      return upload ? [[file.field, upload]] : [];
    });
    if (wanted.length > 0) return bring(wanted, here, call, next);
    return next({ files: here.length > 0 ? Object.fromEntries(here) : undefined });
  };

  /** Cached files need no signals, which would cost many times as much. */
  async function bring(
    wanted: readonly WantedFile[],
    here: readonly [string, FileBytes][],
    call: CallWithInput,
    next: Parameters<SourceStage>[1],
  ): Promise<Answer> {
    const cached = wanted.flatMap(({ file, url }) => {
      const handOut = namingFile(file, 'url', () => source.cached(url, fileRequest(file, call)));
      return handOut ? [{ file, url, handOut }] : [];
    });
    if (cached.length < wanted.length) return download(wanted, here, call, next);
    const handedOut = cached.map(({ file, url, handOut }) => ({ file, url, brought: handOut() }));
    try {
      const came = handedOut.map(({ file, url, brought }): [string, FileBytes] => [
        file.field,
        namingFile(file, 'url', () => read(file, url, brought)),
      ]);
      return await next(filesFound([...here, ...came], came, call.state));
    } finally {
      for (const { brought } of handedOut) brought.release();
    }
  }

  async function download(
    wanted: readonly WantedFile[],
    here: readonly [string, FileBytes][],
    call: CallWithInput,
    next: Parameters<SourceStage>[1],
  ): Promise<Answer> {
    const { state, ticket } = call;
    // The first failure ends the other downloads.
    const others = new AbortController();
    const signal = AbortSignal.any([state.signal, others.signal]);
    // Once, and only where a file has to be downloaded.
    let reserved: Promise<void> | undefined;
    const expect = () => {
      reserved ??= ticket().reserve();
      return reserved;
    };
    const coming = wanted.map(({ file, url }) => {
      return {
        file,
        url,
        brought: source.bring(url, { ...fileRequest(file, call), signal, expect, trace: state.trace }),
      };
    });
    try {
      const came = await Promise.all(
        coming.map(async ({ file, url, brought }): Promise<[string, FileBytes]> => {
          try {
            return [file.field, read(file, url, await brought)];
          } catch (error) {
            throw signal.aborted ? error : aboutFile(file, 'url', error);
          }
        }),
      );
      return await next(filesFound([...here, ...came], came, state));
    } finally {
      others.abort();
      // One may have arrived while another failed.
      for (const { brought } of coming) brought.then(({ release }) => release()).catch(() => undefined);
    }
  }

  function read(file: FileField, url: CheckedUrl, { bytes, type, shared }: SourceFile): FileBytes {
    const name = nameIn(url);
    const came: FileBytes = {
      bytes,
      type: fileType(type, name),
      ...(name === undefined ? {} : { name }),
      ...(shared ? { shared } : {}),
    };
    checkFile(file, came, { way: 'url', limits });
    return came;
  }
}

function fileRequest({ types, kind, maxBytes }: FileField, { caller }: CallWithInput): FileRequest {
  const accept = types?.join(', ') ?? (kind === 'image' ? 'image/*' : '*/*');
  return { tenant: caller.tenant.id, accept, maxBytes };
}

/** All files; those from urls count as received bytes. */
function filesFound(
  all: readonly [string, FileBytes][],
  came: readonly [string, FileBytes][],
  state: CallWithInput['state'],
): SourceFound {
  for (const [, { bytes }] of came) state.bytesIn += bytes.byteLength;
  return { files: Object.fromEntries(all) };
}

/** Runs `work`, whose errors then name the file. */
function namingFile<T>(file: FileField, way: FileOrigin, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw aboutFile(file, way, error);
  }
}

/** The last part of a url's path, as the name of a file. */
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

/**
 * Checks a file against its field. Throws a `GatewayError`: for a picture's header, `too_large` for an upload past the field's own
 * limit (a download ends there), and `invalid_input` for another media type. A picture's type comes from its bytes, any other's from
 * its sender.
 */
function checkFile(
  field: FileField,
  file: FileBytes,
  { way, limits }: { way: FileOrigin; limits: ImageLimits },
): void {
  if (way === 'upload') requireSize(field, file);
  if (field.kind === 'image') file.header = checkHeader(file.bytes, limits);
  const type = file.header ? mediaTypes[file.header.format] : essenceOf(file.type);
  if (field.types && !field.types.some((allowed) => matchesType(type, allowed))) {
    throw inputError([typeProblem(field, { type, way })]);
  }
}

/** Errors of no file, or that name it already. */
const notAboutFile: ReadonlySet<string> = new Set([
  'invalid_input',
  'internal',
  'tenant_busy',
  'busy',
  'shutting_down',
]);

/** An error that names the file, where a helper takes several. */
function aboutFile({ parameter, field }: FileField, way: FileOrigin, thrown: unknown): unknown {
  const error = toGatewayError(thrown);
  const isOnly = field === sourceField.field && parameter === sourceField.parameter;
  if (isOnly || notAboutFile.has(error.code)) return thrown;
  const name = way === 'url' ? parameter : field;
  return new GatewayError(error.code, { message: `${name}: ${error.message}`, cause: error.cause ?? error });
}

function requireSize({ maxBytes }: FileField, { bytes }: FileBytes): void {
  if (maxBytes === undefined || bytes.byteLength <= maxBytes) return;
  throw new GatewayError('too_large', {
    message: `The file has ${bytes.byteLength} bytes; ${maxBytes} are accepted.`,
  });
}

function typeProblem(
  { field, parameter, types = [] }: FileField,
  { type, way }: { type: string; way: FileOrigin },
): FieldProblem {
  const allowed = types.length === 1 ? `allowed is ${types[0]}` : `allowed are ${types.join(', ')}`;
  const shown = type.slice(0, 100);
  return way === 'url'
    ? { field: parameter, problem: `leads to a file of the type ${shown}; ${allowed}` }
    : { field, problem: `is a file of the type ${shown}; ${allowed}` };
}

/** A media type without its parameters. */
function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function matchesType(type: string, allowed: string): boolean {
  const wanted = allowed.toLowerCase();
  return wanted.endsWith('/*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}
