import { codedError } from '../../coded-error.js';
import { ImageError } from '../engine.js';

/**
 * Turns what a sharp pipeline rejects with into what it means, for a `catch`. All but a timeout is the picture's
 * fault: the pipelines are fixed, the bytes are not.
 */
export function sharpFault(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  if (reason.includes('timeout:')) {
    throw codedError('helper_timeout', 'The image took too long to process.', { cause: error });
  }
  if (reason.includes('pixel limit')) {
    throw new ImageError('image_too_large', 'The image decodes to more pixels than its header says.', {
      cause: error,
    });
  }
  throw new ImageError('bad_image', 'The image cannot be decoded: its data is broken or cut off.', {
    cause: error,
  });
}
