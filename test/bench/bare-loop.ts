import sharp, { type Sharp } from 'sharp';
import { inParallel } from '../soak/client.js';
import { type Contender, ownCpuMs } from './measure.js';

export const formats = ['jpg', 'webp', 'png'] as const;
export type Format = (typeof formats)[number];

/** Tuned encoders: the cheapest settings that give about the bytes and the closeness of sharp's defaults. */
export const tuned: Record<Format, (image: Sharp) => Sharp> = {
  jpg: (image) => image.jpeg({ optimiseCoding: false }),
  webp: (image) => image.webp({ effort: 2 }),
  png: (image) => image.png({ compressionLevel: 1, adaptiveFiltering: true }),
};

/** The border that every contender draws. */
export const border = { width: 20, color: '#800080' };

/** Draws that border. */
export function withBorder(image: Sharp): Sharp {
  const { width, color } = border;
  return image.extend({ top: width, right: width, bottom: width, left: width, background: color });
}

/** The least that a server can cost: the work and nothing else, in this process, two pictures at a time as the gateway's threads do. */
export function loop(work: () => Promise<unknown>): Contender {
  // Threads within one picture cost more than they save where other pictures wait.
  sharp.concurrency(1);
  sharp.cache(false);
  return { cpuMs: ownCpuMs, work: (times) => inParallel({ at: 2, times, goesOn: () => true }, work) };
}
