import type { Position } from '../engine.js';
import type { Measure } from '../measure.js';
import type { Raster } from '../raster.js';

/** Where a mark goes, and how; every option has its value. */
export interface Placing {
  position: Position;
  /** 0 to 1. */
  opacity: number;
  margin: Measure | 'auto';
  /** Clockwise, from 0 up to 360. */
  degrees: number;
  /** Covers the picture, in place of one mark at its position. */
  tile?: { spacing: Measure | 'auto' } | undefined;
}

/** A text to be drawn. */
export interface TextMark {
  text: string;
  /** Pixels. */
  fontSize: number | 'auto';
  /** `#rrggbb`. */
  color: string;
  outline?: number | undefined;
  wrap?: { maxLines: number } | undefined;
}

/** A picture to be laid, of which the pixels are drawn when they are asked for. */
export interface LogoMark {
  pixels: () => Promise<Raster>;
  /** Its width as a fraction of the picture's. */
  scale: number;
}

/** A mark as a recipe has it: judged, with its defaults. */
export type Mark = Placing & ({ text: TextMark; logo?: undefined } | { logo: LogoMark; text?: undefined });
