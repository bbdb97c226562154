import { createDeadlines } from './deadlines.js';
import type { WholeAnswer } from './exchange.js';
import type { CheckedUrl } from './fetch.js';
import { createFraming } from './framing.js';
import { createGuard, type GuardOptions } from './guard.js';
import { createHop } from './hop.js';
import { judgeUrl } from './judge-url.js';
import { createKept } from './kept.js';

export interface PostOptions extends GuardOptions {
  /** Milliseconds from the name's look-up to the head of the answer. */
  timeoutMs: number;
}

/** What is sent to a url. */
export interface Message {
  body: Uint8Array;
  headers: Readonly<Record<string, string>>;
  /** Ends it at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/** Sends bytes to a url that a stranger sent. */
export interface Post {
  /** Milliseconds that a message takes at most. */
  readonly timeoutMs: number;
  /** Judges a url as `Source.check` does. */
  check(raw: string, field?: string): CheckedUrl;
  /**
   * Sends a message once, to the url and nowhere else, and gives the head of the answer, whatever its status. Rejects with a
   * `GatewayError` as `Source.fetch` does; what the receiver has got by then, nobody knows.
   */
  send(checked: CheckedUrl, message: Message): Promise<Pick<WholeAnswer, 'status' | 'headers'>>;
  /** Ends all messages with `shutting_down`, and resolves when all have ended. */
  close(): Promise<void>;
}

/**
 * The guard of downloads before what goes out. A redirect is an answer like any other: to follow it would be to send somewhere that
 * nobody named. Of the answer's body nothing is waited for, so that no receiver can hold a message up by it.
 */
export function createPost({ timeoutMs, ...options }: PostOptions): Post {
  const { origins, judge, dial } = createGuard(options);
  const hop = createHop({ judge, dial, kept: createKept() });
  const deadlines = createDeadlines(timeoutMs);

  return {
    timeoutMs,
    check: (raw, field) => Object.freeze({ href: judgeUrl(raw, origins, field).url.href }),
    send: (checked, { body, headers, signal: caller }) =>
      deadlines.within(caller, async (signal) => {
        // Judged again: what dials must not depend on when it was checked, which may be a day ago.
        const target = judgeUrl(checked.href, origins);
        const wanted = { accept: '*/*', maxBytes: 0, headOnly: true, signal, framing: createFraming() };
        // For no tenant: a kept connection may break under a request, and this one must not be sent twice.
        const answer = await hop(target, undefined, { ...wanted, post: { body, headers } });
        // A head that is all that is taken leads nowhere.
        const { status, headers: received } = answer as WholeAnswer;
        return { status, headers: received };
      }),
    close: deadlines.close,
  };
}
