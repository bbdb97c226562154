import { setTimeout as setTimer } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, errorTable, GatewayError } from '../../../errors.js';
import type { Meta } from '../../../http/envelope.js';

/** What a gateway answered. */
export interface ServerAnswer {
  status: number;
  headers: Headers;
  bytes: Uint8Array<ArrayBuffer>;
}

/** A gateway elsewhere. */
export interface ServerClient {
  /**
   * Sends a request, again where the gateway has no time now or cannot be reached: what is sent twice must be done once. Throws a
   * `GatewayError` where it cannot be reached at all.
   */
  send(
    path: string,
    request?: {
      method?: string;
      headers?: Record<string, string>;
      body?: () => BodyInit;
      /** Whether an answer is still waited for a moment when all is given up: it names what is to be called off. */
      lingers?: boolean;
      /** Not to be sent again where the connection breaks: it may have arrived. */
      once?: boolean;
    },
  ): Promise<ServerAnswer>;
  /** The same for a JSON answer: its data. Throws the error that the envelope holds. */
  data(...request: Parameters<ServerClient['send']>): Promise<Record<string, unknown>>;
  /** Deletes something, even where the calls were given up, if that is soon done. Never rejects. */
  cancel(path: string): Promise<void>;
}

export interface ServerClientOptions {
  /** Its address, with a path where it lies below one. */
  url: string;
  key: string | undefined;
  signal: AbortSignal;
}

/** Tries of one request. Two minutes of a gateway that restarts, or of a tenant's rate, must not end a thousand files' work. */
const mostTries = 12;
const longestWaitMs = 30_000;
const cancelMs = 2_000;
const lingerMs = 5_000;

/** Makes a client of a gateway's API. */
export function createServerClient({ url, key, signal }: ServerClientOptions): ServerClient {
  const base = url.endsWith('/') ? url.slice(0, -1) : url;
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };

  let hasAnswered = false;

  async function once(
    path: string,
    { method = 'GET', headers = {}, body, lingers }: Request,
    ended = lingers ? delayed(signal, lingerMs) : signal,
  ): Promise<ServerAnswer> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...authorization, ...headers },
      ...(body ? { body: body() } : {}),
      // Wherever it leads, the key is for this address.
      redirect: 'error',
      signal: ended,
    });
    return {
      status: response.status,
      headers: response.headers,
      bytes: new Uint8Array(await response.arrayBuffer()),
    };
  }

  async function send(path: string, request: Request = {}): Promise<ServerAnswer> {
    for (let tried = 1; ; tried += 1) {
      const answer = await once(path, request).catch((error) => {
        if (signal.aborted) throw signal.reason;
        // An address where nobody has answered yet is a mistake, and no outage.
        if (tried === mostTries || !hasAnswered || request.once) throw unreachable(base, error);
        return undefined;
      });
      hasAnswered ||= answer !== undefined;
      if (answer && (tried === mostTries || !isForLater(answer))) return answer;
      await sleep(waitMs(answer, tried), undefined, { signal });
    }
  }

  return {
    send,
    async data(path, request) {
      const answer = await send(path, request);
      const { body } = envelopeOf(answer, base);
      if (body.ok) return body.data as Record<string, unknown>;
      throw errorOf(body, answer.status);
    },
    async cancel(path) {
      await once(path, { method: 'DELETE' }, AbortSignal.timeout(cancelMs)).catch(() => undefined);
    },
  };
}

/** Aborted that much later. */
function delayed(signal: AbortSignal, ms: number): AbortSignal {
  const later = new AbortController();
  const abort = () => void setTimer(() => later.abort(signal.reason), ms).unref();
  if (signal.aborted) later.abort(signal.reason);
  else signal.addEventListener('abort', abort, { once: true });
  return later.signal;
}

type Request = NonNullable<Parameters<ServerClient['send']>[1]>;

/** Whether it is soon enough: a quota that is used up until next month is told at once. */
function isForLater({ status, headers }: ServerAnswer): boolean {
  if (status !== 429 && status !== 503) return false;
  const asked = headers.get('retry-after');
  // It may be a date, too.
  return asked !== null && !(Number(asked) * 1000 > mostTries * longestWaitMs);
}

function waitMs(answer: ServerAnswer | undefined, tried: number): number {
  const asked = Number(answer?.headers.get('retry-after')) * 1000;
  return Math.min(longestWaitMs, asked > 0 ? asked : 250 * 2 ** tried);
}

function unreachable(base: string, error: unknown): GatewayError {
  const { cause, message } = error as { cause?: Error; message: string };
  return new GatewayError('upstream_failed', {
    message: `No gateway can be reached at ${base}: ${cause?.message || message}`,
    cause: error,
  });
}

/** A JSON answer's envelope, with what it says of its call. */
export function envelopeOf(
  { bytes, status }: ServerAnswer,
  base: string,
): { body: { ok: boolean; data?: unknown; error?: RemoteError }; meta: Meta } {
  try {
    const body = JSON.parse(Buffer.from(bytes).toString());
    if (typeof body.ok === 'boolean' && body.meta) return { body, meta: body.meta };
  } catch {
    // Told below: whatever it is, no gateway has written it.
  }
  throw new GatewayError(status === 413 ? 'too_large' : 'upstream_failed', {
    message: `What answers at ${base} is no gateway, or stands before one: it says ${status}, and not in a gateway's words.`,
  });
}

interface RemoteError {
  code: string;
  message: string;
  details?: { field: string; problem: string }[];
}

/** The error of an envelope as an error of this process. */
export function errorOf({ error }: { error?: RemoteError }, status: number): GatewayError {
  const { code = '', message = `The gateway answered with status ${status}.`, details } = error ?? {};
  // The gateway's own words name what a url has, and here there is an option.
  if (code === 'key_missing') {
    return new GatewayError(code, {
      message: 'The gateway wants an API key: set HELPER_KEY, or give it as --key KEY.',
    });
  }
  const known: ErrorCode = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'upstream_failed';
  return new GatewayError(known, { message, ...(details ? { details } : {}) });
}
