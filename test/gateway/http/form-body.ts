import { Readable } from 'node:stream';
import { type MultipartBody, readMultipart } from '../../../gateway/http/multipart.js';

export const limits = { maxFileBytes: 2_000_000, maxTextBytes: 10_000 };

/** Bytes that come in pieces of the given lengths, the last of which is repeated. */
export function pieces(bytes: Uint8Array, lengths: readonly number[] = [65_536]): Readable {
  let at = 0;
  let turn = 0;
  return new Readable({
    read() {
      if (at >= bytes.length) return void this.push(null);
      const length = Math.max(1, lengths[Math.min(turn, lengths.length - 1)] ?? 1);
      turn += 1;
      this.push(bytes.subarray(at, at + length));
      at += length;
    },
  });
}

/** A body whose boundary is `b`, one character a byte. */
export function read(
  body: string | Uint8Array,
  options: { fileFields?: readonly string[]; signal?: AbortSignal; type?: string; lengths?: number[] } = {},
): Promise<MultipartBody> {
  const { type = 'multipart/form-data; boundary=b', lengths, ...rest } = options;
  const request = pieces(typeof body === 'string' ? Buffer.from(body, 'latin1') : body, lengths);
  return readMultipart(request, type, limits, { fileFields: ['file'], ...rest });
}

/** A part with the boundary `b`; `more` goes on in its Content-Disposition, and after a line end as further headers. */
export function part(name: string, value: string, more = ''): string {
  return `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
}

export const close = '--b--\r\n';
