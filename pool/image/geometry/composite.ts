import type { Raster } from '../raster.js';

/**
 * Lays the first frame of `overlay` over every frame of `raster`, in place, its top left corner at (`left`, `top`); what lies
 * outside is cut off. Porter-Duff "over" on 8 bit values as they are, as browsers blend. Own code so that both engines give
 * the same pixels.
 */
export function compositeRaster(raster: Raster, overlay: Raster, left: number, top: number): void {
  const fromX = Math.max(0, -left);
  const fromY = Math.max(0, -top);
  const endX = Math.min(overlay.width, raster.width - left);
  const endY = Math.min(overlay.height, raster.height - top);
  if (fromX >= endX) return;
  const layRow = raster.channels === 3 ? layOnOpaque : layOnAlpha;
  for (let frame = 0; frame < raster.frames; frame++) {
    for (let y = fromY; y < endY; y++) {
      const to = ((frame * raster.height + top + y) * raster.width + left + fromX) * raster.channels;
      const from = (y * overlay.width + fromX) * overlay.channels;
      layRow(raster.data, to, overlay, from, endX - fromX);
    }
  }
}

function layOnOpaque(
  target: Uint8Array,
  to: number,
  { data, channels }: Raster,
  from: number,
  count: number,
) {
  for (let i = 0, t = to, s = from; i < count; i++, t += 3, s += channels) {
    const over = channels === 3 ? 1 : (data[s + 3] as number) / 255;
    for (let c = 0; c < 3; c++) {
      target[t + c] = (data[s + c] as number) * over + (target[t + c] as number) * (1 - over) + 0.5;
    }
  }
}

function layOnAlpha(target: Uint8Array, to: number, { data, channels }: Raster, from: number, count: number) {
  for (let i = 0, t = to, s = from; i < count; i++, t += 4, s += channels) {
    const over = channels === 3 ? 1 : (data[s + 3] as number) / 255;
    if (over === 0) continue;
    const under = ((target[t + 3] as number) / 255) * (1 - over);
    const alpha = over + under;
    for (let c = 0; c < 3; c++) {
      const mixed = (data[s + c] as number) * over + (target[t + c] as number) * under;
      target[t + c] = mixed / alpha + 0.5;
    }
    target[t + 3] = alpha * 255 + 0.5;
  }
}
