import type { BodyAnswer } from '../../pool/body-answer.js';
import type { Shown } from '../pipeline/with-preview.js';

/** Bytes of a picture that is sent whole: clients end a result of more than 1 MiB, and base64 makes four of three. */
export const mostPictureBytes = 750_000;

/** Bytes of any other file that is sent whole. */
export const mostFileBytes = 256 * 1024;

const pictureType = /^image\/(?!svg)/i;
/** What the models behind the clients look at. */
const shownType = /^image\/(?:png|jpeg|webp|gif)\s*(?:;|$)/i;

/** Whether an answer is a picture of pixels. */
export function isPicture({ type }: BodyAnswer): boolean {
  return pictureType.test(type);
}

/** Whether it is of a type that is looked at, however large. */
export function isOfShownType({ type }: BodyAnswer): boolean {
  return shownType.test(type);
}

/** Whether it can be sent as it is. */
export function isShownWhole(answer: BodyAnswer): boolean {
  return isOfShownType(answer) && answer.bytes.byteLength <= mostPictureBytes;
}

/** A picture that cannot is shown by a smaller one, enough to judge it by and not so much as to fill a model's context. */
export function toBeShown(): Shown {
  return {
    needsPreview: (answer) => isPicture(answer) && !isShownWhole(answer),
    maxBytes: 256 * 1024,
  };
}
