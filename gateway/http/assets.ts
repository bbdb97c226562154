import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'koa';
import { contentType } from 'mime-types';

const sharedFolder = new URL('gateway/http/assets/', import.meta.resolve('helper-gateway/package.json'));

/** Files of the pages on both ports. */
export const sharedFiles = {
  'base.css': new URL('base.css', sharedFolder),
  'icon.svg': new URL('icon.svg', sharedFolder),
};

export type SharedFile = keyof typeof sharedFiles;

/** `version` is a hash of the content, part of the address, so that browsers may cache it for ever. */
export type Asset = ReturnType<typeof makeAsset>;

const encodings = {
  /** Quality 9 takes some 150 ms for a megabyte of script, the best seconds; the default window 20 ms for any page. */
  br(body: Buffer): Promise<Buffer> {
    const { BROTLI_MIN_WINDOW_BITS: least, BROTLI_DEFAULT_WINDOW: most } = constants;
    const windowBits = Math.min(most, Math.max(least, Math.ceil(Math.log2(body.length + 16))));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: windowBits };
    return promisify(brotliCompress)(body, { params });
  },
  gzip: (body: Buffer): Promise<Buffer> => promisify(gzip)(body, { level: 9 }),
};

const alreadyCompressed = /^image\/(?!svg)/;
const leastCompressedBytes = 1024;

export function readAsset(file: URL) {
  return makeAsset(readFileSync(file), contentType(extname(file.pathname)) || 'application/octet-stream');
}

export function makeAsset(body: Buffer, type: string) {
  const version = createHash('sha256').update(body).digest('hex').slice(0, 12);
  return { body, type, version, compressed: {} as { [name in keyof typeof encodings]?: Promise<Buffer> } };
}

/** For `cache-control`: the address changes with the content. */
export const cachedForever = 'public, max-age=31536000, immutable';

/** Answers with an asset and its ETag, compressed once per encoding; 304 where the client has it. */
export async function sendAsset(ctx: Context, asset: Asset, cacheControl: string): Promise<void> {
  const isPlain = asset.body.length < leastCompressedBytes || alreadyCompressed.test(asset.type);
  const chosen = isPlain ? false : ctx.acceptsEncodings('br', 'gzip', 'identity');
  const encoding = chosen === 'br' || chosen === 'gzip' ? chosen : undefined;
  ctx.set('cache-control', cacheControl);
  ctx.vary('accept-encoding');
  ctx.etag = encoding === undefined ? asset.version : `${asset.version}-${encoding}`;
  ctx.status = 200;
  ctx.type = asset.type;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.body = asset.body;
  if (encoding !== undefined) {
    ctx.set('content-encoding', encoding);
    asset.compressed[encoding] ??= encodings[encoding](asset.body);
    ctx.body = await asset.compressed[encoding];
  }
  ctx.state.sharedBody = true;
}
