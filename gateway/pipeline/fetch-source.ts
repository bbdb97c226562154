import type { Answer } from '../../pool/answer.js';
import type { ImageLimits } from '../../pool/image/engine.js';
import type { FileBytes, TaskFiles } from '../../pool/task.js';
import type { FileField } from '../../schemas/declared-helper.js';
import { type Now, onSettled } from '../after.js';
import type { Helper } from '../helpers/registry.js';
import { fileType } from '../http/body/file-type.js';
import type { CheckedUrl } from '../source/fetch.js';
import type { FileWish, SourceFile, SourceFiles } from '../source/source-files.js';
import { aboutFile, judgeFile, type Way } from './judge-file.js';
import type { BodyInput } from './read-input.js';
import type { AdmittedCall } from './run-task.js';
import type { Stage } from './stage.js';
import type { Caller } from './state.js';

/** A call whose input is known, and with it the files that came. */
interface CallWithInput extends AdmittedCall {
  caller: Caller;
  input: Record<string, unknown>;
  uploads: BodyInput['uploads'];
}

/** The files by their fields; absent where none came, and in a dry run. */
export interface SourceFound {
  files: TaskFiles | undefined;
}

type SourceStage = Stage<CallWithInput, SourceFound>;

/** A url that stands for a file. */
interface Wanted {
  file: FileField;
  url: CheckedUrl;
}

/**
 * Brings the files that a helper takes, from uploads and urls, and reads the headers of pictures: what is none, or too large a
 * one, never reaches a worker. A dry run has its urls judged and nothing more.
 */
export function fetchSource(helper: Helper, source: SourceFiles, limits: ImageLimits): SourceStage {
  const { files } = helper.declaration;

  if (files.length === 0) return (_, next) => next({ files: undefined });
  return function fetchSource(call, next) {
    const { input, uploads } = call;
    const wanted = files.flatMap((file): Wanted[] => {
      const url = input[file.parameter];
      return typeof url === 'string'
        ? [{ file, url: about(file, 'url', () => source.check(url, file.parameter)) }]
        : [];
    });
    if (call.state.dryrun) return next({ files: undefined });
    const here = files.flatMap((file): [string, FileBytes][] => {
      const upload = uploads.get(file.field);
      if (upload) about(file, 'upload', () => judgeFile(file, upload, { way: 'upload', limits }));
      return upload ? [[file.field, upload]] : [];
    });
    if (wanted.length > 0) return bring(wanted, here, call, next);
    return next({ files: here.length > 0 ? Object.fromEntries(here) : undefined });
  };

  /** What need not be waited for goes on at once: to make signals for it would cost many times as much. */
  function bring(
    wanted: readonly Wanted[],
    here: readonly [string, FileBytes][],
    call: CallWithInput,
    next: Parameters<SourceStage>[1],
  ): Now<Answer> {
    const kept = wanted.flatMap(({ file, url }) => {
      const take = about(file, 'url', () => source.kept(url, wishOf(file, call)));
      return take ? [{ file, url, take }] : [];
    });
    if (kept.length < wanted.length) return download(wanted, here, call, next);
    const taken = kept.map(({ file, url, take }) => ({ file, url, brought: take() }));
    const release = () => {
      for (const { brought } of taken) brought.release();
    };
    const use = () => {
      const came = taken.map(({ file, url, brought }): [string, FileBytes] => [
        file.field,
        about(file, 'url', () => read(file, url, brought)),
      ]);
      return next(found([...here, ...came], came, call.state));
    };
    return onSettled(use, { done: release, failed: release });
  }

  async function download(
    wanted: readonly Wanted[],
    here: readonly [string, FileBytes][],
    call: CallWithInput,
    next: Parameters<SourceStage>[1],
  ): Promise<Answer> {
    const { state, turn } = call;
    // The first that fails ends the others: nobody waits for them any more.
    const others = new AbortController();
    const signal = AbortSignal.any([state.gone.signal, others.signal]);
    // Asked once, and only where a file is not there yet.
    let expected: Promise<void> | undefined;
    const expect = () => {
      expected ??= turn.expect();
      return expected;
    };
    const coming = wanted.map(({ file, url }) => {
      return {
        file,
        url,
        brought: source.bring(url, { ...wishOf(file, call), signal, expect, trace: state.trace }),
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
      return await next(found([...here, ...came], came, state));
    } finally {
      others.abort();
      // One may have come while another failed.
      for (const { brought } of coming) brought.then(({ release }) => release()).catch(() => undefined);
    }
  }

  /** Holds a file that has come against what its field takes. */
  function read(file: FileField, url: CheckedUrl, { bytes, type, shared }: SourceFile): FileBytes {
    const name = nameIn(url);
    const came: FileBytes = {
      bytes,
      type: fileType(type, name),
      ...(name === undefined ? {} : { name }),
      ...(shared ? { shared } : {}),
    };
    judgeFile(file, came, { way: 'url', limits });
    return came;
  }
}

function wishOf({ types, kind, maxBytes }: FileField, { caller }: CallWithInput): FileWish {
  const accept = types?.join(', ') ?? (kind === 'image' ? 'image/*' : '*/*');
  return { tenant: caller.tenant.id, accept, maxBytes };
}

/** All files, of which those that came by urls count as what came in. */
function found(
  all: readonly [string, FileBytes][],
  came: readonly [string, FileBytes][],
  state: CallWithInput['state'],
): SourceFound {
  for (const [, { bytes }] of came) state.bytesIn += bytes.byteLength;
  return { files: Object.fromEntries(all) };
}

/** Does what may throw of a file, whose error then names it. */
function about<T>(file: FileField, way: Way, work: () => T): T {
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
