import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'koa';
import { contentType } from 'mime-types';

/** Served from the source tree. */
const sharedFolder = new URL('gateway/http/assets/', import.meta.resolve('helper-gateway/package.json'));

/** Files of the pages on both ports. */
export const sharedFiles = {
  'base.css': new URL('base.css', sharedFolder),
  'icon.svg': new URL('icon.svg', sharedFolder),
};

export type SharedFile = keyof typeof sharedFiles;

export interface Asset {
  body: Buffer;
  /** The media type. */
  type: string;
  /** A hash of the content, part of the address, so that browsers may cache it for ever. */
  version: string;
}

/**
 * Brotli's quality 9 takes some 150 ms for a megabyte of script; its best takes seconds for a tenth less. The default window costs
 * 20 ms even for a small page, and anybody may ask for pages: so the window fits the body.
 */
const encodings = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 9,
        [constants.BROTLI_PARAM_LGWIN]: windowBits(body.length),
      },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body, { level: 9 }),
};

/** The smallest window that holds so many bytes. */
function windowBits(bytes: number): number {
  const { BROTLI_MIN_WINDOW_BITS: least, BROTLI_DEFAULT_WINDOW: most } = constants;
  return Math.min(most, Math.max(least, Math.ceil(Math.log2(bytes + 16))));
}

type Encoding = keyof typeof encodings;

const alreadyCompressed = /^image\/(?!svg)/;
const leastCompressedBytes = 1024;

export function readAsset(file: URL | string): Asset {
  const type = contentType(extname(typeof file === 'string' ? file : file.pathname));
  return makeAsset(readFileSync(file), type || 'application/octet-stream');
}

export function makeAsset(body: Buffer, type: string): Asset {
  return { body, type, version: createHash('sha256').update(body).digest('hex').slice(0, 12) };
}

/** For `cache-control`: the address changes with the content. */
export const cachedForever = 'public, max-age=31536000, immutable';

const compressed = new WeakMap<Asset, Map<Encoding, Promise<Buffer>>>();

/** Answers with an asset and its ETag, compressed as the client accepts it (once per encoding); 304 where the client has it. */
export async function sendAsset(ctx: Context, asset: Asset, cacheControl: string): Promise<void> {
  const encoding = encodingFor(ctx, asset);
  ctx.set('cache-control', cacheControl);
  ctx.vary('accept-encoding');
  ctx.etag = encoding === undefined ? asset.version : `${asset.version}-${encoding}`;
  ctx.status = 200;
  ctx.type = asset.type;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  if (encoding !== undefined) ctx.set('content-encoding', encoding);
  ctx.body = encoding === undefined ? asset.body : await compress(asset, encoding);
  ctx.state.sharedBody = true;
}

function encodingFor(ctx: Context, { body, type }: Asset): Encoding | undefined {
  if (body.length < leastCompressedBytes || alreadyCompressed.test(type)) return undefined;
  const chosen = ctx.acceptsEncodings('br', 'gzip', 'identity');
  return chosen === 'br' || chosen === 'gzip' ? chosen : undefined;
}

function compress(asset: Asset, encoding: Encoding): Promise<Buffer> {
  const done = compressed.get(asset) ?? new Map<Encoding, Promise<Buffer>>();
  compressed.set(asset, done);
  const made = done.get(encoding) ?? encodings[encoding](asset.body);
  done.set(encoding, made);
  return made;
}
