import { createHash } from 'node:crypto';
import { nameParts, type ResultStore, ResultStoreError } from '../result-store.js';
import type { S3Address } from './address.js';
import type { S3Answer, S3Client, S3Request } from './client.js';
import { S3Failure } from './failure.js';
import { escaped, firstTag, tags } from './xml.js';

/** Keeps files as objects of a bucket, below the prefix of its address. S3 lists and deletes up to 1,000 at a time (`pageSize`). */
export function createS3Store(
  { url, prefix }: Pick<S3Address, 'url' | 'prefix'>,
  client: S3Client,
  { pageSize = 1_000 } = {},
): ResultStore {
  const keyOf = (name: string) => prefix + nameParts(name).join('/');

  async function ask(
    request: S3Request,
    isFine: (answer: S3Answer) => boolean = () => false,
  ): Promise<S3Answer> {
    try {
      const answer = await client.send(request);
      if (answer.failure && !isFine(answer)) throw answer.failure;
      return answer;
    } catch (error) {
      throw new ResultStoreError(error);
    }
  }

  async function list(query: Record<string, string>): Promise<string> {
    const { body } = await ask({ method: 'GET', query: { 'list-type': '2', ...query } });
    return body.toString();
  }

  /** Up to a thousand, of which S3 names those that it could not delete. */
  async function deleteAll(keys: readonly string[]): Promise<void> {
    const objects = keys.map((key) => `<Object><Key>${escaped(key)}</Key></Object>`).join('');
    const body = Buffer.from(
      `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects}</Delete>`,
    );
    const headers = {
      'content-type': 'application/xml',
      // Asked for by S3, and no secret hangs on it.
      'content-md5': createHash('md5').update(body).digest('base64'),
    };
    const answer = (await ask({ method: 'POST', query: { delete: '' }, body, headers })).body.toString();
    const code = answer.includes('<Error>') && firstTag(answer, 'Code');
    if (code) throw new ResultStoreError(new S3Failure(200, code, 'not all objects could be deleted'));
  }

  return {
    id: async () => `${url}/${prefix}`,
    async put(name, bytes) {
      const headers = { 'content-type': 'application/octet-stream' };
      await ask({ method: 'PUT', key: keyOf(name), body: bytes, headers });
    },
    async get(name, range) {
      const isMissing = ({ status, failure }: S3Answer) => status === 404 && failure?.code !== 'NoSuchBucket';
      const isBeyond = ({ status }: S3Answer) => status === 416;
      const wanted = range && { headers: { range: `bytes=${range.start}-${range.end - 1}` } };
      const answer = await ask(
        { method: 'GET', key: keyOf(name), ...wanted },
        (answer) => isMissing(answer) || isBeyond(answer),
      );
      if (isBeyond(answer)) return Buffer.alloc(0);
      return answer.failure ? undefined : answer.body;
    },
    async removeAll(under) {
      const query = { prefix: `${keyOf(under)}/`, 'max-keys': String(pageSize) };
      // Each time from the beginning: what was listed is gone.
      for (;;) {
        const keys = tags(await list(query), 'Key');
        if (keys.length === 0) return;
        await deleteAll(keys);
      }
    },
    async *prefixes() {
      const query: Record<string, string> = { delimiter: '/', prefix, 'max-keys': String(pageSize) };
      for (;;) {
        const page = await list(query);
        for (const common of page.match(/<CommonPrefixes>.*?<\/CommonPrefixes>/gs) ?? []) {
          const name = firstTag(common, 'Prefix');
          if (name) yield name.slice(prefix.length, -1);
        }
        const next = firstTag(page, 'NextContinuationToken');
        if (next === undefined) return;
        query['continuation-token'] = next;
      }
    },
    close: () => client.close(),
  };
}
