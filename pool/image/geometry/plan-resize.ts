import type { Fit, ResizeOptions } from '../engine.js';
import type { Rectangle } from './crop.js';

/** A change of size to exactly this, and what is then cut out of it. */
export interface ResizePlan {
  width: number;
  height: number;
  crop?: Rectangle;
}

/** What judged options mean for a picture of this size. Whole pixels, rounded to the nearest, at least one. */
export function planResize(
  size: { width: number; height: number },
  { width, height, fit }: ResizeOptions & { fit: Fit },
): ResizePlan {
  const across = width === undefined ? undefined : width / size.width;
  const down = height === undefined ? undefined : height / size.height;
  if (fit === 'fill' && width !== undefined && height !== undefined) return { width, height };
  const choose = fit === 'cover' ? Math.max : Math.min;
  const factor = choose(across ?? (down as number), down ?? (across as number));
  const scaled = { width: scale(size.width, factor), height: scale(size.height, factor) };
  if (fit !== 'cover' || width === undefined || height === undefined) return scaled;
  if (scaled.width === width && scaled.height === height) return scaled;
  const left = Math.floor((scaled.width - width) / 2);
  const top = Math.floor((scaled.height - height) / 2);
  return { ...scaled, crop: { left, top, width, height } };
}

function scale(side: number, factor: number): number {
  return Math.max(1, Math.round(side * factor));
}
