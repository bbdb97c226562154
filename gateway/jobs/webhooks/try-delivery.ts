import { GatewayError } from '../../errors.js';
import type { DerivedSecrets } from '../../signing/derived-secrets.js';
import type { Post } from '../../source/post.js';
import type { ClaimedDelivery } from './delivery-store.js';
import { readRetryAfter } from './schedule.js';
import { type SecretVersion, secretsOf, sign } from './sign.js';

/** What became of a try. `reason` is for the log: it never has what a receiver has sent, but for its status. */
export type Outcome =
  | { ended: 'delivered' | 'gone'; status: number }
  | { ended: undefined; reason: string; retryAfterMs?: number | undefined };

export interface Sending {
  post: Post;
  secrets: DerivedSecrets;
  now: () => number;
}

/** Who asks to be left alone, and for how long may follow. */
const busyStatuses = [429, 503];

/** Sends a delivery once, signed anew: what is old or signed by a secret that has gone a receiver refuses. Rejects with `signal`'s reason. */
export async function tryDelivery(
  { post, secrets, now }: Sending,
  { id, tenant_id, url, payload }: ClaimedDelivery,
  version: SecretVersion,
  signal: AbortSignal,
): Promise<Outcome> {
  const at = now();
  const timestamp = Math.floor(at / 1000);
  const signatures = secretsOf(secrets, tenant_id, version, at).map((secret) =>
    sign({ id, timestamp, body: payload }, secret),
  );
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
  try {
    const answer = await post.send(post.check(url), { body: Buffer.from(payload), headers, signal });
    const { status } = answer;
    if (status >= 200 && status < 300) return { ended: 'delivered', status };
    if (status === 410) return { ended: 'gone', status };
    const asked = busyStatuses.includes(status) ? answer.headers['retry-after'] : undefined;
    return { ended: undefined, reason: `status ${status}`, retryAfterMs: readRetryAfter(asked, now()) };
  } catch (error) {
    if (signal.aborted || !(error instanceof GatewayError)) throw error;
    const { code, cause, message } = error;
    return { ended: undefined, reason: `${code}: ${cause instanceof Error ? cause.message : message}` };
  }
}
