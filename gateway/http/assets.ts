import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'koa';

/** They are served as they lie in the source tree; the compiler leaves them there. */
const sharedFolder = new URL('gateway/http/assets/', import.meta.resolve('helper-gateway/package.json'));

/** What the pages of both ports bring along: the look's foundation, and the icon. */
export const sharedFiles = {
  'base.css': new URL('base.css', sharedFolder),
  'icon.svg': new URL('icon.svg', sharedFolder),
};

export type SharedFile = keyof typeof sharedFiles;

/** A file as browsers get it; it is read once. */
export interface Asset {
  body: Buffer;
  /** Its media type. */
  type: string;
  /** Changes with its content: part of its address, so that browsers may keep what they have. */
  version: string;
}

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.gif': 'image/gif',
};

/**
 * Best first. Brotli's quality 9 is some 150 ms for a megabyte of script; its best takes seconds for a tenth less. Its tables are
 * made for the window: as large as it is by default they take a small page 20 ms, and anybody may ask for pages.
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

/** Pictures are, but for those that are text. */
const packed = /^image\/(?!svg)/;
/** Less is sent as it is. */
const worthCompressing = 1024;

/** Reads a file that pages refer to. */
export function readAsset(file: URL | string): Asset {
  const type = types[extname(typeof file === 'string' ? file : file.pathname)] ?? 'application/octet-stream';
  return makeAsset(readFileSync(file), type);
}

/** What has been made in this process, to be served as a file is. */
export function makeAsset(body: Buffer, type: string): Asset {
  return { body, type, version: createHash('sha256').update(body).digest('hex').slice(0, 12) };
}

/** For `cache-control`: the address changes with the content. */
export const keptForever = 'public, max-age=31536000, immutable';

const compressed = new WeakMap<Asset, Map<Encoding, Promise<Buffer>>>();

/**
 * Answers with an asset, with its ETag, compressed as the client can take it (once, and kept); 304 where the client has it.
 * Who may keep it for how long is said by `cacheControl`.
 */
export async function sendAsset(ctx: Context, asset: Asset, cacheControl: string): Promise<void> {
  const encoding = encodingFor(ctx, asset);
  ctx.set('cache-control', cacheControl);
  ctx.vary('accept-encoding');
  // As the content differs by its encoding, so does its tag.
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
  if (body.length < worthCompressing || packed.test(type)) return undefined;
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
