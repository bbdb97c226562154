import sharp from 'sharp';

/** Soft shapes under fine grain: as hard to compress as a photograph. */
export async function drawPhoto(width: number, height: number): Promise<Buffer> {
  const noise = (sigma: number) => ({ type: 'gaussian' as const, mean: 128, sigma });
  const layer = (w: number, h: number, sigma: number) =>
    sharp({ create: { width: w, height: h, channels: 3, background: '#888', noise: noise(sigma) } });
  const clouds = await layer(40, 28, 90).resize(width, height, { kernel: 'cubic' }).png().toBuffer();
  const detail = await layer(width >> 2, height >> 2, 40)
    .resize(width, height)
    .png()
    .toBuffer();
  const grain = await layer(width, height, 6).png().toBuffer();
  return sharp(clouds)
    .composite([
      { input: detail, blend: 'soft-light' },
      { input: grain, blend: 'soft-light' },
    ])
    .jpeg({ quality: 92 })
    .toBuffer();
}
