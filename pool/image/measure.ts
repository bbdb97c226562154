/** A length in a picture: pixels, or per cent of a side. */
export type Measure = number | `${number}%`;

/** The measure in whole pixels, where 100 per cent are `whole`. */
export function inPixels(measure: Measure, whole: number): number {
  if (typeof measure === 'number') return measure;
  return Math.round((Number.parseFloat(measure) / 100) * whole);
}
