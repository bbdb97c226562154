import { firstTag } from './xml.js';

/** A store's refusal, for the log: its own code and words, which hold no secret. */
export class S3Failure extends Error {
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(`S3 answered ${status} ${code}: ${message}`);
    this.name = 'S3Failure';
    this.code = code;
  }
}

export function s3Failure(status: number, body: Buffer): S3Failure {
  const text = body.subarray(0, 4096).toString();
  return new S3Failure(
    status,
    firstTag(text, 'Code') ?? 'without a code',
    firstTag(text, 'Message') ?? 'no message',
  );
}
