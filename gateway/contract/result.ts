import type { Shape } from './value.js';

/** Bytes or text as an answer, in place of the JSON envelope. No other field may stand beside these. */
export interface Binary {
  /** A string is sent as UTF-8. */
  body: Uint8Array | string;
  /** Media type, e.g. `image/png`; text without a charset gets `charset=utf-8`. */
  type: string;
  /** More header fields of the answer, such as `content-disposition`. */
  headers?: Readonly<Record<string, string>>;
}

/** The `data` that a schema for the output describes. */
export type DataOf<Output> = Shape<Output, Output, 'sent'>;

/**
 * A JSON object becomes the envelope's `data`; a `Binary` is sent as it is. Anything else is a fault that the log tells of,
 * and so is what JSON would lose: functions, Maps, bytes, errors, promises and streams in the object.
 */
export type HelperResult<Data = Record<string, unknown>> = Binary | Data;
