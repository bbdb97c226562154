import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { createFormParts, type MultipartBody, type MultipartLimits, type Parts } from './form-parts.js';
import { parseHeaderValue } from './header-parameters.js';
import { malformedMultipart } from './malformed-multipart.js';
import { createMultipartParser } from './multipart-parser.js';
import { readInto, type Sink } from './read-into.js';

export {
  largestUpload,
  type MultipartBody,
  type MultipartLimits,
  type Parts,
  type UploadedFile,
  uploadTooLarge,
} from './form-parts.js';

export interface ReadMultipartOptions {
  /** The fields that may be files; a file in any other is counted and dropped. */
  fileFields: readonly string[];
  /** Ends the reading at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads a multipart/form-data body from `request`, bounded in every direction as the bytes come, and keeps it in memory, where a
 * fault can leave nothing behind on disk. Rejects with a `GatewayError`: `too_large` past the limits; `invalid_input` for what is
 * malformed or breaks off, for more than 100 text fields or a file too many; or with `signal`'s reason. `request` is never destroyed:
 * it is paused when the promise is rejected, with nothing kept of it, and what is left is the caller's to read and drop.
 */
export function readMultipart(
  request: PartedRequest,
  contentType: string,
  limits: MultipartLimits,
  { fileFields, signal }: ReadMultipartOptions,
): Promise<MultipartBody> {
  return readParts(request, contentType, {
    gather: (bodyBytes) => createFormParts(limits, { fileFields, bodyBytes }),
    signal,
  });
}

type PartedRequest = Readable & { headers?: IncomingHttpHeaders };

/** The same for parts that are gathered in another way; `gather` is told how long the body is, without what closes it. */
export function readParts<T>(
  request: PartedRequest,
  contentType: string,
  {
    gather,
    signal,
  }: { gather: (bodyBytes: number | undefined) => Parts<T>; signal?: AbortSignal | undefined },
): Promise<T> {
  const open = (): Sink<T> => {
    const boundary = readBoundary(contentType);
    const length = request.headers?.['content-length'];
    const parts = gather(length === undefined ? undefined : Number(length) - closingBytes(boundary));
    const parser = createMultipartParser(boundary, parts.listener);
    return {
      write: parser.write,
      end() {
        parser.end();
        return parts.take();
      },
      drop: parts.drop,
    };
  };
  return readInto(request, open, { signal, brokenOff });
}

function brokenOff(cause?: Error) {
  return malformedMultipart('it breaks off', cause);
}

/** Of the last boundary, with the line ends that clients write around it. */
function closingBytes(boundary: string): number {
  return `\r\n--${boundary}--\r\n`.length;
}

/** Of at most 70 printable characters (RFC 2046, 5.1.1), whatever they say: `json` is a boundary like any other. */
const printable = /^[\x20-\x7e]{0,69}[\x21-\x7e]$/;

function readBoundary(contentType: string): string {
  const type = parseHeaderValue(contentType);
  const boundary = type?.value === 'multipart/form-data' ? type.parameters.get('boundary') : undefined;
  if (boundary === undefined || !printable.test(boundary)) {
    throw malformedMultipart('its Content-Type must have a boundary of 1 to 70 characters');
  }
  return boundary;
}
