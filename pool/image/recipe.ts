import type { BorderPlan } from './border/plan-border.js';
import type { Rectangle } from './geometry/crop.js';
import type { Rotation } from './geometry/rotate.js';
import type { Mark } from './mark/mark.js';
import type { Raster } from './raster.js';

/** One step of a picture's recipe; its numbers are judged and its sizes worked out. */
export type Operation =
  | ({ kind: 'border' } & BorderPlan)
  | ({ kind: 'watermark' } & Mark)
  | { kind: 'resize'; width: number; height: number }
  | ({ kind: 'crop' } & Rectangle)
  | { kind: 'turn'; degrees: 90 | 180 | 270 }
  | ({ kind: 'rotate' } & Rotation)
  | { kind: 'composite'; overlay: () => Promise<Raster>; left: number; top: number };
