import type { IncomingHttpHeaders } from 'undici/types/header.js';

/**
 * What a download may bring besides the file, over all its redirects: interim responses, headers, chunk sizes and extensions,
 * trailers. Each piece of it costs main-thread time that no limit on the file's bytes sees: a chunk of one byte costs
 * as much as one of 64 KB.
 */
export interface Framing {
  /** Whether a hop that has sent `bytes` besides `fileBytes` of a file has gone too far. */
  exceeds(bytes: number, fileBytes: number): boolean;
  /** Takes what a hop has sent, from what later ones may send. */
  spend(bytes: number): void;
}

const maxBytes = 64 * 1024;
/** A file in chunks of 100 bytes, which is as small as servers make them, has six bytes of framing to each. */
const fileBytesPerByte = 16;

export function createFraming(): Framing {
  let spent = 0;
  return {
    exceeds: (bytes, fileBytes) => spent + bytes > maxBytes + fileBytes / fileBytesPerByte,
    spend(bytes) {
      spent += bytes;
    },
  };
}

/** Bytes of a response's head as it stood on the wire: what came with it may be body, which is not to be counted. */
export function headBytes(headers: IncomingHttpHeaders, statusText = ''): number {
  const lines = Object.entries(headers).flatMap(([name, values = '']) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`.length),
  );
  return lines.reduce((sum, line) => sum + line, `HTTP/1.1 200 ${statusText}\r\n\r\n`.length);
}
