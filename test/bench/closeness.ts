import sharp from 'sharp';

/**
 * Peak signal to noise, in dB, of a result's middle against the source's: no border and no watermark in a corner touches it. Infinite
 * where both are the same.
 */
export async function closeness(source: Uint8Array, result: Uint8Array): Promise<number> {
  const { width, height } = (await sharp(source).metadata()).autoOrient;
  const side = Math.min(800, Math.min(width, height) >> 1);
  const [before, after] = await Promise.all([middle(source, side), middle(result, side)]);
  let squares = 0;
  for (let i = 0; i < before.length; i++) squares += ((before[i] as number) - (after[i] as number)) ** 2;
  return squares === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10((255 * 255 * before.length) / squares);
}

/** `37.3 dB`, or that nothing was lost. */
export function decibels(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'exact' : `${value.toFixed(1)} dB`;
}

async function middle(bytes: Uint8Array, side: number): Promise<Buffer> {
  const { width, height } = (await sharp(bytes).metadata()).autoOrient;
  return sharp(bytes)
    .autoOrient()
    .removeAlpha()
    .toColourspace('srgb')
    .extract({ left: (width - side) >> 1, top: (height - side) >> 1, width: side, height: side })
    .raw()
    .toBuffer();
}
