import type { Raster } from '../raster.js';
import type { Overlay } from '../text/overlay.js';

/**
 * Draws the overlay over every frame of the raster, in place, with its top left corner at (`left`, `top`); what lies outside is
 * cut off. Only its own rectangle is touched, so the cost goes with the overlay and not with the picture.
 * `opacity` 0 to 1. Porter-Duff "over" on 8 bit values as they are, as browsers blend. Own code so that both engines give the
 * same pixels, and because sharp's composite goes over the whole picture.
 */
export function blendOverlay(
  raster: Raster,
  overlay: Overlay,
  left: number,
  top: number,
  opacity: number,
): void {
  if (opacity === 0) return;
  const blendRow = raster.channels === 3 ? blendOpaqueRow : blendAlphaRow;
  const first = Math.max(0, -left);
  const count = Math.min(overlay.width, raster.width - left) - first;
  const end = Math.min(overlay.height, raster.height - top);
  for (let frame = 0; frame < raster.frames; frame++) {
    for (let row = Math.max(0, -top); row < end; row++) {
      const at = ((frame * raster.height + top + row) * raster.width + left + first) * raster.channels;
      blendRow(raster.data, at, overlay.data, (row * overlay.width + first) * 4, count, opacity);
    }
  }
}

/** The overlay is premultiplied: over an opaque pixel that is one multiplication and one addition a channel. */
function blendOpaqueRow(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  from: number,
  count: number,
  opacity: number,
): void {
  for (let i = 0, t = at, s = from; i < count; i++, t += 3, s += 4) {
    const alpha = source[s + 3] as number;
    if (alpha === 0) continue;
    const rest = 1 - (alpha / 255) * opacity;
    target[t] = (source[s] as number) * opacity + (target[t] as number) * rest + 0.5;
    target[t + 1] = (source[s + 1] as number) * opacity + (target[t + 1] as number) * rest + 0.5;
    target[t + 2] = (source[s + 2] as number) * opacity + (target[t + 2] as number) * rest + 0.5;
  }
}

function blendAlphaRow(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  from: number,
  count: number,
  opacity: number,
): void {
  for (let i = 0, t = at, s = from; i < count; i++, t += 4, s += 4) {
    const over = ((source[s + 3] as number) / 255) * opacity;
    if (over === 0) continue;
    const under = ((target[t + 3] as number) / 255) * (1 - over);
    const alpha = over + under;
    for (let c = 0; c < 3; c++) {
      const mixed = (source[s + c] as number) * opacity + (target[t + c] as number) * under;
      target[t + c] = Math.min(255, mixed / alpha + 0.5);
    }
    target[t + 3] = alpha * 255 + 0.5;
  }
}
