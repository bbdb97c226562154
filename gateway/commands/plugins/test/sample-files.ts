import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FileBytes } from '../../../../pool/task.js';
import type { FileField } from '../../../../schemas/declared-helper.js';

/** The picture that a helper is tried with. Pictures are no code, so the build leaves it among the sources. */
export const samplePicture = fileURLToPath(
  new URL('plugins/media/example.jpg', import.meta.resolve('helper-gateway/package.json')),
);

/** One blue of 24 × 16 pixels, for who takes no JPEG. */
const smallPng =
  'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAAA1BMVEUwcMA3SmMMAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADklEQVQYlWNgGAWDCQAAAZAAAdjzlT8AAAAASUVORK5CYII=';

let picture: Uint8Array | undefined;

/** A file for a field: a picture, or a line of text of the first type that the field takes. Bytes of its own, for they are moved. */
export function sampleFile({ kind, types, maxBytes }: FileField): FileBytes {
  const type = types?.find((each) => !each.endsWith('/*'));
  if (kind === 'image' && type === 'image/png') {
    return { bytes: new Uint8Array(Buffer.from(smallPng, 'base64')), type, name: 'example.png' };
  }
  if (kind === 'image') {
    picture ??= readFileSync(samplePicture);
    return { bytes: new Uint8Array(picture), type: 'image/jpeg', name: 'example.jpg' };
  }
  const bytes = new TextEncoder().encode('name,size\none,1\n'.slice(0, maxBytes));
  return { bytes, type: type ?? 'text/plain', name: 'example.txt' };
}
